// The panel for changing the tree: what can be done to the chosen node, what was done, and what it changes.

class EditView {
  constructor(state, history) {
    this.state = state;
    this.tree = state.tree;
    this.history = history;
    this.controls = element("div", { className: "bosc-edit-controls" });
    this.element = panel("edit", "Edit", [], this.controls, this.effect(), this.tools());
    state.watch((what) => what === "node" && this.update());
    this.update();
  }

  update() {
    const { node } = this.state;
    const parts = isLeaf(this.tree, node) ? this.leafControls(node) : this.testControls(node);
    this.controls.replaceChildren(...parts);
  }

  testControls(node) {
    const prune = button("Prune here", `Make node ${node} a leaf`, () => this.change("prune", node));
    const threshold = shownThreshold(this.tree, node);
    return threshold === null ? [prune] : [this.thresholdControl(node, threshold), prune];
  }

  thresholdControl(node, threshold) {
    const set = (shown) => this.change("threshold", node, storedThreshold(this.tree, node, shown));
    return fieldRow("Threshold", numberField(`Threshold of node ${node}`, threshold, set));
  }

  leafControls(node) {
    const { classes, width } = this.tree;
    if (this.tree.numbers) return this.numberControls(node);
    const words = ["as it is", ...classes.map((name) => `always ${name}`)];
    const chooser = select(`Leaf ${node} predicts`, words, 0, (i) => {
      if (i > 0) this.change("leaf", node, voteFor(i - 1, width));
    });
    return [fieldRow("Predicts", chooser)];
  }

  // A field for each output.
  numberControls(node) {
    const values = Array.from(shownValues(this.tree, node));
    return values.map((value, k) => {
      const several = values.length > 1 ? ` of output ${this.tree.classes[k]}` : "";
      const set = (x) => this.change("leaf", node, values.map((other, i) => (i === k ? x : other)));
      return fieldRow(`Predicts${several}`, numberField(`Leaf ${node} predicts${several}`, value, set));
    });
  }

  change(kind, node, value) {
    this.history.add({ kind, node: this.tree.origin ? this.tree.origin[node] : node, value });
  }

  // What the changes do, in words.
  effect() {
    const { list, start } = this.history;
    const words = list.length ? effectWords(start, this.tree, collectChanges(start, list)) : [];
    const note = list.length
      ? `Changes (node numbers of the original tree): ${list.map(changeWords).join(", ")}.`
      : "Choose a node to prune it, to change its threshold or to set what it predicts. The training counts stay as they are.";
    const lines = [note, ...words].map((text) => element("p", { className: "bosc-note" }, text));
    return element("div", { className: "bosc-effect", "aria-live": "polite" }, ...lines);
  }

  tools() {
    const bar = element("div", { className: "bosc-tools" });
    if (!this.history.list.length) return bar;
    bar.append(
      button("Undo", "Undo the last change", () => this.history.undo(1)),
      button("Undo all", "Undo all changes", () => this.history.undo(this.history.list.length)),
    );
    if (this.tree.file) bar.append(button("Save model", "Save the edited model as a file", () => this.save()));
    return bar;
  }

  // The file that boscage.load reads.
  save() {
    const address = URL.createObjectURL(new Blob([modelBytes(this.tree)], { type: "application/octet-stream" }));
    const name = this.tree.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "model";
    element("a", { href: address, download: `${name}-edited.boscage` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }
}

// A field for a finite number; anything else is marked as wrong and changes nothing.
function numberField(label, value, set) {
  const input = element("input", {
    type: "text",
    inputMode: "decimal",
    autocomplete: "off",
    "aria-label": label,
    value: String(Number(value.toPrecision(12))),
  });
  input.addEventListener("change", () => {
    const shown = Number(input.value.trim().replace("−", "-"));
    const isGood = input.value.trim() !== "" && Number.isFinite(shown);
    input.setAttribute("aria-invalid", String(!isGood));
    if (isGood) set(shown);
  });
  return input;
}

function fieldRow(word, input) {
  input.id = newId("edit");
  return element("div", { className: "bosc-fieldrow" }, element("label", { htmlFor: input.id }, word), input);
}

function changeWords({ kind, node }) {
  return { prune: `node ${node} pruned`, threshold: `threshold of node ${node}`, leaf: `leaf ${node} set` }[kind];
}

function effectWords(before, after, changes) {
  const words = [`${formatCount(before.leaves)} → ${formatCount(after.leaves)} leaves.`];
  if (!changes.thresholds.size && !before.soft && !before.leaf_models && !before.numbers) {
    const [old, now] = [trainingAccuracy(before), trainingAccuracy(after)];
    words.push(`Training rows: accuracy ${old.toFixed(4)} → ${now.toFixed(4)}.`);
  }
  const [old, now] = [judgedRows(before), judgedRows(after)];
  if (!old) words.push("Without rows on the page, the effect on them cannot be shown.");
  else {
    const changed = old.best.filter((found, i) => String(found) !== String(now.best[i])).length;
    const [name, shown] = before.numbers
      ? ["RMSE", (x) => formatNumber(x, 5)]
      : ["accuracy", (x) => x.toFixed(4)];
    const quality = old.quality === null ? "" : `${name} ${shown(old.quality)} → ${shown(now.quality)}; `;
    const rows = `${formatCount(changed)} of ${formatCount(old.best.length)} rows change their ${before.numbers ? "value" : "class"}`;
    words.push(`Rows on this page: ${quality}${rows}.`);
  }
  return words;
}

// Changes so far; after each the views are made anew.
class History {
  constructor(start, list, show) {
    Object.assign(this, { start, list, show });
  }

  add(change) {
    this.show([...this.list, change]);
  }

  undo(count) {
    this.show(this.list.slice(0, this.list.length - count));
  }
}
