// The way of the row: each test it met, with its numbers.

const TOP_PARTS = 3;

class PathView {
  constructor(state) {
    this.state = state;
    this.tree = state.tree;
    this.list = element("ol", { className: "bosc-path" });
    this.note = element("p", { className: "bosc-note" });
    this.element = panel("way", "Path", [], this.note, this.list);
    state.watch((what) => what === "row" && this.update());
    this.update();
  }

  update() {
    const { found } = this.state;
    this.note.hidden = !this.tree.soft && found.isComplete;
    if (!found.isComplete) this.note.textContent = "A value is missing.";
    else this.note.textContent = this.tree.soft ? this.softNote() : "";
    this.list.replaceChildren(...found.path.map((node, i) => this.step(node, found.path[i + 1])));
  }

  softNote() {
    const { reach, leaf } = this.state.found;
    const leaves = Array.from(reach.keys()).filter((node) => isLeaf(this.tree, node));
    leaves.sort((a, b) => reach[b] - reach[a]);
    let total = 0;
    const needed = leaves.findIndex((node) => (total += reach[node]) >= 0.9) + 1;
    const most = `The most likely leaf is reached with probability ${formatNumber(reach[leaf])}`;
    return `${most}; ${needed === 1 ? "it alone holds" : `${needed} leaves together hold`} 90 %.`;
  }

  step(node, next) {
    const choose = () => this.state.chooseNode(node);
    const inside = next === undefined ? this.leafWords(node) : this.testWords(node, next);
    return element("li", {}, element("button", { type: "button", className: "bosc-step", onclick: choose }, ...inside));
  }

  leafWords(node) {
    const { proba } = { proba: leafProba(this.tree, node, this.state.found.row) };
    const text = element("span", {}, "Leaf: ", element("strong", {}, answerWords(this.tree, proba)));
    const reach = this.tree.soft
      ? [element("span", { className: "bosc-fact" }, `reached with ${formatNumber(this.state.found.reach[node])}`)]
      : [];
    return [text, mixtureBar(this.tree, proba), ...reach];
  }

  testWords(node, next) {
    const { found } = this.state;
    // A soft test is long; it is in the panel of its node.
    const sentence = this.tree.soft
      ? sideSentence(this.tree, node, next, found.reach)
      : stepSentence(this.tree, node, next, found);
    const side = this.tree.soft ? [] : [" ", element("span", { className: "bosc-fact" }, `→ ${sideWord(this.tree, next)}`)];
    const line = element("span", {}, sentence, ...side);
    return testParts(this.tree, node).column >= 0 ? [line] : [line, this.parts(node)];
  }

  // The terms that made the score.
  parts(node) {
    const terms = shownTerms(this.tree, node, this.state.found.row).sort((a, b) => Math.abs(b.part) - Math.abs(a.part));
    const shown = terms
      .slice(0, TOP_PARTS)
      .map(({ name, part }) => `${name} ${part < 0 ? "−" : "+"}${formatNumber(Math.abs(part))}`);
    const rest = terms.length - shown.length;
    if (rest > 0) shown.push(`${rest} more`);
    return element("span", { className: "bosc-parts" }, shown.join(", "));
  }
}
