// Making elements. Text reaches the page only as text nodes and attributes, never as markup.

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) setProperty(made, name, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function setProperty(target, name, value) {
  if (name.startsWith("on")) target.addEventListener(name.slice(2), value);
  else if (name in target && name !== "role" && name !== "list") target[name] = value;
  else target.setAttribute(name, value);
}

function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

let elementNumber = 0;

function newId(word) {
  elementNumber += 1;
  return `bosc-${word}-${elementNumber}`;
}

// A part of the page with a heading; `tools` stand at the right of the heading.
function panel(word, heading, tools, ...children) {
  const id = newId(word);
  const title = element("h3", { id }, heading);
  const top = element("div", { className: "bosc-panel-top" }, title, ...tools);
  return element("section", { className: `bosc-panel bosc-${word}`, "aria-labelledby": id }, top, ...children);
}

function button(text, label, action) {
  return element(
    "button",
    { type: "button", className: "bosc-button", "aria-label": label, title: label, onclick: action },
    text,
  );
}

function select(label, options, chosen, action) {
  const made = element("select", { className: "bosc-select", "aria-label": label });
  options.forEach((text, i) => made.append(element("option", { value: String(i) }, text)));
  made.value = String(chosen);
  made.addEventListener("change", () => action(Number(made.value)));
  return made;
}

// A canvas as sharp as the screen; returns its context, which counts in CSS pixels.
function sharpen(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

function themeColor(host, name) {
  return getComputedStyle(host).getPropertyValue(`--bosc-${name}`).trim();
}
