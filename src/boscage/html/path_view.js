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
    const text = element("span", {}, "Leaf: ", element("strong", {}, this.tree.classes[argmax(proba)]));
    const reach = this.tree.soft
      ? [element("span", { className: "bosc-fact" }, `reached with ${formatNumber(this.state.found.reach[node])}`)]
      : [];
    return [text, mixtureBar(this.tree, proba), ...reach];
  }

  testWords(node, next) {
    const isRight = next === this.tree.children_right[node];
    if (this.tree.feature[node] >= 0) return [this.plainTest(node, isRight)];
    return this.linearTest(node, isRight);
  }

  plainTest(node, isRight) {
    const column = this.tree.feature[node];
    const name = element("span", { className: "bosc-name" }, this.tree.columns[column].name);
    const value = element("strong", {}, valueText(this.tree, column, this.state.x[column]));
    return element("span", {}, name, " ", value, " ", this.relation(node, column, isRight));
  }

  // How the value stands to the test.
  relation(node, column, isRight) {
    const x = this.state.x[column];
    const isCategory = this.tree.category_offset[node] >= 0;
    const isUnknown = isCategory ? categoryCode(x, categoryCount(this.tree, column)) < 0 : Number.isNaN(x);
    const side = isRight ? "no" : "yes";
    let relation = "";
    if (!isUnknown && !isCategory) relation = `${isRight ? ">" : "≤"} ${formatNumber(this.tree.threshold[node], 4)} `;
    return element("span", { className: "bosc-fact" }, `${relation}→ ${side}`);
  }

  linearTest(node, isRight) {
    const { tree } = this;
    const unit = linearUnit(tree, node);
    const score = linearScore(tree, node, this.state.found.row) / unit;
    const threshold = tree.threshold[node] / unit;
    const top = element("span", {}, "score ", element("strong", {}, formatNumber(score)), " ");
    if (tree.soft) {
      const right = softSides(tree, node, this.state.found.row)[1];
      const against = threshold === 0 ? "" : `against ${formatNumber(threshold)} `;
      top.append(element("span", { className: "bosc-fact" }, `${against}→ right with ${formatNumber(right)}`));
    } else {
      top.append(
        element(
          "span",
          { className: "bosc-fact" },
          `${isRight ? ">" : "≤"} ${formatNumber(threshold)} → ${isRight ? "no" : "yes"}`,
        ),
      );
    }
    return [top, this.parts(node)];
  }

  // The terms that made the score.
  parts(node) {
    const terms = linearTerms(this.tree, node, this.state.found.row).sort(
      (a, b) => Math.abs(b.part) - Math.abs(a.part),
    );
    const shown = terms
      .slice(0, TOP_PARTS)
      .map(({ name, part }) => `${name} ${part < 0 ? "−" : "+"}${formatNumber(Math.abs(part))}`);
    const rest = terms.length - shown.length;
    if (rest > 0) shown.push(`${rest} more`);
    return element("span", { className: "bosc-parts" }, shown.join(", "));
  }
}

// Only the direction of a hard test means something: it is shown with weight 1 at its largest term.
function linearUnit(tree, node) {
  if (tree.soft) return 1;
  const terms = storedTerms(tree, node).filter((term) => !term.isConstant);
  const largest = terms.reduce((best, term) => (term.size > best.size ? term : best), { size: -1, weight: 1 });
  return Math.abs(largest.weight);
}

// Every term of a linear test: its column, its weight in the user's units, what it adds to the score of the row.
function linearTerms(tree, node, row) {
  const unit = linearUnit(tree, node);
  return storedTerms(tree, node).map((term) => ({
    ...term,
    weight: term.weight / unit,
    part: (term.stored * row.seen[term.column]) / unit,
  }));
}

function storedTerms(tree, node) {
  const { weights, input_map: map } = tree;
  const i = tree.linear_row[node];
  const begin = weights.offsets ? weights.offsets[i] : i * weights.columns;
  const end = weights.offsets ? weights.offsets[i + 1] : begin + weights.columns;
  const terms = [];
  for (let k = begin; k < end; k += 1) {
    const column = weights.offsets ? weights.indices[k] : k - begin;
    const weight = weights.values[k];
    if (weight === 0) continue;
    const isConstant = column === tree.columns.length;
    const scale = map && map.scale && !isConstant ? map.scale[column] : 1;
    const spread = tree.spread && !isConstant ? tree.spread[column] * scale : 1;
    const name = isConstant ? "constant" : tree.columns[column].name;
    terms.push({
      column,
      name,
      isConstant,
      weight: weight * scale,
      size: Math.abs(weight) * spread,
      stored: weight,
    });
  }
  return terms;
}
