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
  const list = element("ul", { className: "bosc-legend", "aria-label": tree.numbers ? "Numbers" : "Classes" });
  if (tree.numbers) {
    for (const value of new Set(tree.range)) {
      const mark = element("span", { className: "bosc-mark" });
      const [color, strength] = shadeOf(tree, [value]);
      mark.style.background = color;
      mark.style.opacity = String(0.2 + 0.8 * strength);
      list.append(element("li", {}, mark, element("span", {}, formatNumber(value, 4))));
    }
    return list;
  }
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
  let theme = section.dataset.chosenTheme || "auto";
  const apply = () => {
    section.dataset.theme = theme === "auto" ? (system.matches ? "dark" : "light") : theme;
    made.textContent = `Theme: ${theme}`;
    made.title = `Colours: ${theme === "auto" ? "as the system" : theme}`;
    made.setAttribute("aria-label", made.title);
    if (section.boscage) section.boscage.state.tell("theme");
  };
  const made = button("", "", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    section.dataset.chosenTheme = theme;
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
  if (tree.numbers) return `Predicted ${numberWords(proba)}, at leaf ${leaf}.`;
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
  const first = decodeTree(JSON.parse(section.querySelector(".bosc-data").textContent));
  const kept = Array.from(section.childNodes);
  let shown = null; // the row and the node (by its first number) that are chosen
  const show = (list) => {
    if (section.boscage) shown = chosenOf(section.boscage.state);
    section.boscage = null;
    section.replaceChildren(...kept);
    const tree = list.length ? editedTree(first, collectChanges(first, list)) : first;
    build(section, tree, new History(first, list, show), shown);
  };
  show([]);
}

function chosenOf({ tree, node, number, x }) {
  return { node: tree.origin ? tree.origin[node] : node, number, x };
}

// The row and the node that were chosen before the tree changed; a node that is gone gives way to one above it.
function chooseAgain(state, first, { node, number, x }) {
  Object.assign(state, { number, x });
  state.found = explainRow(state.tree, x);
  const places = state.tree.origin || Array.from(first.parent.keys());
  for (let up = node; up >= 0 && state.node === 0; up = first.parent[up]) state.node = Math.max(places.indexOf(up), 0);
}

function build(section, tree, history, shown) {
  const state = new State(tree);
  if (shown) chooseAgain(state, history.start, shown);
  const view = new TreeView(state);
  const below = [new NodeView(state)];
  if (tree.size > 1 || history.list.length) below.push(new EditView(state, history));
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
    edit: (list) => history.show(list),
    modelBytes: () => modelBytes(tree),
  };
  section.append(header(tree, section), element("div", { className: "bosc-body" }, main, aside), announcer(state));
  state.watch((what) => what === "theme" && below.forEach((part) => part.start && part.start()));
  view.arrange();
  if (shown) {
    view.reveal(state.node);
    view.moveTo(state.node);
  } else view.scrollTo(0);
}

document.querySelectorAll("section.bosc").forEach(start);
