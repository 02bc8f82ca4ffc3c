// What is chosen on the page: a row and a node. Views watch and redraw what changed.

class State {
  constructor(tree) {
    this.tree = tree;
    this.watchers = [];
    this.node = 0;
    this.number = tree.rows ? 0 : -1;
    this.x = tree.rows ? Float64Array.from(matrixRow(tree.rows.values, 0)) : typicalRow(tree);
    this.found = explainRow(tree, this.x);
  }

  watch(watcher) {
    this.watchers.push(watcher);
  }

  tell(what) {
    for (const watcher of this.watchers) watcher(what);
  }

  chooseNode(node) {
    if (node === this.node) return;
    this.node = node;
    this.tell("node");
  }

  // One of the embedded rows.
  chooseRow(number) {
    this.number = number;
    this.x = Float64Array.from(matrixRow(this.tree.rows.values, number));
    this.settle();
  }

  // A row of the reader's own, made by changing some values of the present one.
  change(values) {
    this.x = Float64Array.from(this.x);
    for (const [column, value] of values) this.x[column] = value;
    this.number = -1;
    this.settle();
  }

  settle() {
    this.found = explainRow(this.tree, this.x);
    this.tell("row");
  }

  get label() {
    const { rows } = this.tree;
    return this.number >= 0 && rows.labels ? rows.labels[this.number] : null;
  }
}

function typicalRow(tree) {
  return Float64Array.from(tree.columns, (column) => (tree.float32 ? Math.fround(column.typical) : column.typical));
}
