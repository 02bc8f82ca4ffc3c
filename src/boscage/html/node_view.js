// The chosen node: its test in full, its classes, its numbers.

const MOST_TERMS = 12;

class NodeView {
  constructor(state) {
    this.state = state;
    this.tree = state.tree;
    this.body = element("div", {});
    this.element = panel("node", "Node", [], this.body);
    state.watch(() => this.update());
    this.update();
  }

  update() {
    const { node } = this.state;
    this.element.querySelector("h3").textContent = this.heading(node);
    this.body.replaceChildren(...this.parts(node));
  }

  heading(node) {
    if (node === 0) return isLeaf(this.tree, 0) ? "Node 0, the only one" : "Node 0, the root";
    return `Node ${formatCount(node)}, ${isLeaf(this.tree, node) ? "a leaf" : `depth ${this.tree.depth[node]}`}`;
  }

  parts(node) {
    const { tree } = this;
    const parts = [];
    if (!isLeaf(tree, node)) parts.push(element("p", { className: "bosc-formula" }, wholeTest(tree, node)));
    else if (tree.leaf_models)
      parts.push(
        element(
          "p",
          { className: "bosc-formula" },
          tree.numbers
            ? this.modelWords(node)
            : "A linear model predicts here; the shares are those of the training rows.",
        ),
      );
    parts.push(this.facts(node), tree.numbers ? this.numberTable(node) : this.classTable(node));
    if (tree.histogram && !Number.isNaN(matrixRow(tree.histogram, node)[0])) parts.push(this.histogram(node));
    if (tree.linear_row[node] >= 0) parts.push(this.termTable(node));
    return parts;
  }

  facts(node) {
    const { tree } = this;
    const facts = [
      ["training rows", formatCount(tree.n_node_samples[node])],
      ["weight", formatNumber(tree.weighted_n_node_samples[node], 4)],
      ["impurity", formatNumber(tree.impurity[node])],
    ];
    if (tree.soft) facts.push(["reach of the row", formatNumber(this.state.found.reach[node])]);
    if (!isLeaf(tree, node)) facts.push(["nodes below", formatCount(tree.below[node])]);
    const list = element("dl", { className: "bosc-facts" });
    for (const [name, value] of facts)
      list.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
    return list;
  }

  // The largest terms of a leaf's model, as the words of Python say them.
  modelWords(node) {
    return `A linear model predicts here: ${this.tree.models[this.tree.leaf_index[node]]}`;
  }

  // The number of each output, and how y is spread over the rows that the page was made with.
  numberTable(node) {
    const { tree } = this;
    const values = shownValues(tree, node);
    const word = isLeaf(tree, node) && !tree.leaf_models ? "predicted" : "value";
    const lines = Array.from(values, (value, k) => [values.length === 1 ? word : tree.classes[k], value]);
    if (tree.quantiles && !Number.isNaN(matrixRow(tree.quantiles, node)[0])) {
      const names = ["5 % of y below", "25 % below", "median of y", "75 % below", "95 % below"];
      matrixRow(tree.quantiles, node).forEach((value, i) => lines.push([names[i], value]));
      if (tree.residuals) {
        const [mean, rmse, most] = matrixRow(tree.residuals, node);
        lines.push(["mean residual", Math.abs(mean) > 1e-12 * rmse ? mean : 0]);
        lines.push(["RMSE", rmse], ["90 % of |residuals| ≤", most]);
      }
    }
    const body = element(
      "tbody",
      {},
      ...lines.map(([name, value]) =>
        element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, formatNumber(value, 5))),
      ),
    );
    const table = { className: "bosc-table bosc-numbers" };
    return element("table", table, element("caption", {}, "Numbers here"), body);
  }

  // Shares of the rows in equal bins of y.
  histogram(node) {
    const shares = Array.from(matrixRow(this.tree.histogram, node));
    const most = Math.max(...shares);
    const [low, high] = this.tree.bins;
    const step = high / shares.length - low / shares.length;
    const bars = shares.map((share, i) => {
      const text = `${formatNumber(low + i * step)} to ${formatNumber(low + (i + 1) * step)}: ${formatShare(share)}`;
      const bar = element("span", { title: text });
      bar.style.height = `${(100 * share) / most}%`;
      return bar;
    });
    const [from, to] = [formatNumber(low), formatNumber(high)];
    const label = `Histogram of y from ${from} to ${to}`;
    const ends = ["y", from, to].map((text) => element("span", {}, text));
    return element(
      "div",
      {},
      element("div", { className: "bosc-histogram", role: "img", ariaLabel: label }, ...bars),
      element("div", { className: "bosc-ends" }, ends[1], ends[0], ends[2]),
    );
  }

  classTable(node) {
    const table = element(
      "table",
      { className: "bosc-table" },
      element("caption", {}, isLeaf(this.tree, node) && !this.tree.leaf_models ? "Predicted here" : "Classes here"),
    );
    const body = element("tbody", {});
    for (const [k, share] of mixture(shownValues(this.tree, node), MOST_CLASSES)) {
      const mark = element("span", { className: "bosc-mark" });
      mark.style.background = k < 0 ? "var(--bosc-muted)" : this.tree.colors[k];
      const name = element("th", { scope: "row" }, mark, k < 0 ? "others" : this.tree.classes[k]);
      body.append(
        element("tr", {}, name, element("td", {}, formatShare(share)), element("td", {}, formatNumber(share))),
      );
    }
    table.append(body);
    return table;
  }

  // Largest terms first, by how much they move the score over the training rows.
  termTable(node) {
    const terms = shownTerms(this.tree, node, this.state.found.row);
    terms.sort((a, b) => b.size - a.size || a.column - b.column);
    const shown = terms.slice(0, MOST_TERMS);
    const left = terms.length - shown.length;
    const caption = `Terms of the score, largest first${left ? `; ${left} more left out` : ""}`;
    const head = element(
      "tr",
      {},
      ...["column", "weight", "the row", "adds"].map((text) => element("th", { scope: "col" }, text)),
    );
    const body = element("tbody", {}, ...shown.map((term) => this.termLine(term, terms[0].size)));
    return element(
      "table",
      { className: "bosc-table bosc-terms" },
      element("caption", {}, caption),
      element("thead", {}, head),
      body,
    );
  }

  termLine({ column, name, weight, size, part }, largest) {
    const cell = element("th", { scope: "row", title: name }, name);
    cell.style.setProperty("--bosc-share", String(largest > 0 ? size / largest : 0));
    const x = this.state.x[column];
    const value = this.tree.columns[column].categories ? valueText(this.tree, column, x) : formatNumber(x);
    return element(
      "tr",
      {},
      cell,
      ...[formatNumber(weight), value, formatNumber(part)].map((text) => element("td", {}, text)),
    );
  }
}
