// Turns every section.bosc on the page into a tree to look at.

const THEMES = ["auto", "light", "dark"];

function header(tree, section) {
  const nodes = `${formatCount(tree.size)} ${tree.size === 1 ? "node" : "nodes"}`;
  const leaves = `${formatCount(tree.leaves)} ${tree.leaves === 1 ? "leaf" : "leaves"}`;
  const kind = { hard: "", linear: "stochastic tests", logistic: "logistic tests" }[tree.routing];
  const facts = [nodes, leaves, `depth ${tree.height}`, `${formatCount(tree.columns.length)} columns`, kind].filter(
    Boolean,
  );
  const words = element(
    "div",
    {},
    element("h2", {}, tree.title),
    element("p", { className: "bosc-note" }, facts.join(" · ")),
  );
  return element("header", { className: "bosc-header" }, words, legend(tree), themeButton(section));
}

function legend(tree) {
  const list = element("ul", { className: "bosc-legend", "aria-label": "Classes" });
  const most = 12;
  tree.classes.slice(0, most).forEach((name, k) => {
    const mark = element("span", { className: "bosc-mark" });
    mark.style.background = tree.colors[k];
    list.append(element("li", { title: name }, mark, element("span", {}, name)));
  });
  if (tree.classes.length > most) list.append(element("li", {}, `and ${formatCount(tree.classes.length - most)} more`));
  return list;
}

// Light, dark, or as the system says.
function themeButton(section) {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  let theme = "auto";
  const apply = () => {
    section.dataset.theme = theme === "auto" ? (system.matches ? "dark" : "light") : theme;
    made.textContent = `Theme: ${theme}`;
    made.title = `Colours: ${theme === "auto" ? "as the system" : theme}`;
    made.setAttribute("aria-label", made.title);
    if (section.boscage) section.boscage.state.tell("theme");
  };
  const made = button("", "", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    apply();
  });
  made.classList.add("bosc-theme");
  system.addEventListener("change", apply);
  apply();
  return made;
}

// One quiet voice for screen readers.
function announcer(state) {
  const voice = element("div", { className: "bosc-voice", role: "status", "aria-live": "polite" });
  state.watch((what) => {
    const { tree, found, node } = state;
    if (what === "node") voice.textContent = `Chosen: ${nodeWords(tree, node)}`;
    if (what === "row") voice.textContent = found.isComplete ? predictionWords(tree, found) : "A value is missing.";
  });
  return voice;
}

function predictionWords(tree, { best, proba, leaf }) {
  return `Predicted ${tree.classes[best]}, probability ${proba[best].toFixed(3)}, at leaf ${leaf}.`;
}

// Base, contributions by column and class, and the sentences of a row's path.
function explanation(tree, x) {
  const found = explainRow(tree, x);
  const { base, columns } = contributionsOf(tree, found);
  const steps = found.path.slice(0, -1);
  const sentences = steps.map((node, i) => stepSentence(tree, node, found.path[i + 1], found));
  return { base: Array.from(base), contributions: Array.from(columns), sentences };
}

function start(section) {
  const tree = decodeTree(JSON.parse(section.querySelector(".bosc-data").textContent));
  const state = new State(tree);
  const view = new TreeView(state);
  const below = [new NodeView(state)];
  if (tree.steps.node.length > 1) below.push(new Trajectory(state));
  if (tree.columns.length > 1) below.push(new Regions(state));
  const main = element(
    "div",
    { className: "bosc-main" },
    view.element,
    element("div", { className: "bosc-below" }, ...below.map((part) => part.element)),
  );
  const form = new RowForm(state);
  const path = new PathView(state);
  const why = [path.element, new ContributionView(state).element];
  const order = tree.rows ? [form.element, ...why, form.values] : [form.element, form.values, ...why];
  const aside = element("div", { className: "bosc-aside" }, ...order);
  if (tree.size > 15) view.element.querySelector(".bosc-scroller").before(new Overview(state).element);
  // For tests and for pages that embed trees.
  section.boscage = {
    tree,
    state,
    view,
    predictProba: (x) => Array.from(predictProba(tree, x)),
    reach: (x) => Array.from(reachOf(tree, prepareRow(tree, x))),
    explain: (x) => explanation(tree, x),
  };
  section.append(header(tree, section), element("div", { className: "bosc-body" }, main, aside), announcer(state));
  state.watch((what) => what === "theme" && below.forEach((part) => part.start && part.start()));
  view.arrange();
  view.scrollTo(0);
}

document.querySelectorAll("section.bosc").forEach(start);
