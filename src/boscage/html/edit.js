// Changes to a tree, with the meaning that boscage.edit.TreeEdit has for a tree without rows: prune a node, change a
// threshold, set a leaf. Node numbers of changes are always those of the tree that the page began with.

const IMPOSSIBLE = -1000; // intercept of a class that cannot occur

function noChanges() {
  return { pruned: new Set(), thresholds: new Map(), values: new Map() };
}

// All changes of a list, [{kind, node, value}], in order.
function collectChanges(start, list) {
  const found = noChanges();
  for (const { kind, node, value } of list) {
    if (kind === "threshold") found.thresholds.set(node, value);
    if (kind === "leaf") found.values.set(node, value);
    if (kind === "prune") {
      found.pruned.add(node);
      for (const leaf of found.values.keys()) if (isBelow(start, leaf, node)) found.values.delete(leaf);
    }
  }
  return found;
}

function isBelow(tree, node, top) {
  for (let up = tree.parent[node]; up >= 0; up = tree.parent[up]) if (up === top) return true;
  return false;
}

// Nodes that are left, in their new order: as if the tree had been grown without the others.
function survivingNodes(tree, pruned) {
  if (!pruned.size) return Array.from(tree.parent.keys());
  const inner = Array.from(tree.parent.keys()).filter((node) => !isLeaf(tree, node));
  inner.sort((a, b) => tree.children_left[a] - tree.children_left[b]);
  const isAlive = new Uint8Array(tree.size);
  isAlive[0] = 1;
  const order = [0];
  for (const node of inner) {
    if (!isAlive[node] || pruned.has(node)) continue;
    for (const child of childrenOf(tree, node)) {
      isAlive[child] = 1;
      order.push(child);
    }
  }
  return order;
}

function rowsOf(matrix, rows) {
  if (!matrix.offsets) {
    const values = new Float64Array(rows.length * matrix.columns);
    rows.forEach((row, i) => values.set(matrixRow(matrix, row), i * matrix.columns));
    return { rows: rows.length, columns: matrix.columns, values };
  }
  const offsets = Int32Array.from([0, ...rows]);
  rows.forEach((row, i) => (offsets[i + 1] = offsets[i] + matrix.offsets[row + 1] - matrix.offsets[row]));
  const values = new Float64Array(offsets[rows.length]);
  const indices = new Int32Array(offsets[rows.length]);
  rows.forEach((row, i) => {
    values.set(matrix.values.subarray(matrix.offsets[row], matrix.offsets[row + 1]), offsets[i]);
    indices.set(matrix.indices.subarray(matrix.offsets[row], matrix.offsets[row + 1]), offsets[i]);
  });
  return { rows: rows.length, columns: matrix.columns, values, indices, offsets };
}

// The tree after some changes; `origin` has the number that each node had before.
function editedTree(start, changes) {
  const order = survivingNodes(start, changes.pruned);
  const number = new Int32Array(start.size).fill(-1);
  order.forEach((old, i) => (number[old] = i));
  const isSplit = (old) => !isLeaf(start, old) && !changes.pruned.has(old);
  const atSplits = (array, otherwise) => array.constructor.from(order, (old) => (isSplit(old) ? array[old] : otherwise));
  const atAll = (array) => array.constructor.from(order, (old) => array[old]);
  const tree = { ...start, origin: Int32Array.from(order), isEdited: true };
  for (const side of ["children_left", "children_right"]) {
    tree[side] = Int32Array.from(order, (old) => (isSplit(old) ? number[start[side][old]] : -1));
  }
  const thresholds = Float64Array.from(start.threshold, (t, old) => changes.thresholds.get(old) ?? t);
  tree.threshold = atSplits(thresholds, 0);
  tree.feature = atSplits(start.feature, -1);
  tree.missing_go_to_left = atSplits(start.missing_go_to_left, 0);
  for (const name of ["n_node_samples", "weighted_n_node_samples", "impurity"]) tree[name] = atAll(start[name]);
  tree.value = rowsOf(start.value, order);
  for (const name of ["quantiles", "histogram"]) if (start[name]) tree[name] = rowsOf(start[name], order);
  tree.residuals = null; // those of the tree before
  keepTests(tree, start, order.map((old) => (isSplit(old) ? old : -1)), changes);
  tree.steps = { node: [0], potential: [0], error: [0] }; // how the tree grew is another tree's story
  deriveNodes(tree);
  setLeaves(tree, start, changes);
  return tree;
}

// Linear tests, category sets and texts of the nodes that are still tests (old numbers, -1 for leaves).
function keepTests(tree, start, splits, changes) {
  tree.tests = splits.filter((old) => old >= 0).map((old) => changedText(start, old, changes.thresholds.get(old)));
  if (!changes.pruned.size) return;
  const linear = splits.filter((old) => old >= 0 && start.linear_row[old] >= 0);
  let row = 0;
  tree.linear_row = Int32Array.from(splits, (old) => (old >= 0 && start.linear_row[old] >= 0 ? row++ : -1));
  if (start.weights) tree.weights = rowsOf(start.weights, linear.map((old) => start.linear_row[old]));
  const bits = [];
  tree.category_offset = Int32Array.from(splits, (old) => {
    const begin = old >= 0 ? start.category_offset[old] : -1;
    if (begin < 0) return -1;
    const place = bits.length;
    const bytes = (categoryCount(start, start.feature[old]) + 7) >> 3;
    bits.push(...start.category_bits.subarray(begin, begin + bytes));
    return place;
  });
  tree.category_bits = Uint8Array.from(bits);
}

// What leaves predict: what they did, or the fractions of a node that was pruned, or what was set.
function setLeaves(tree, start, { values }) {
  const leaves = Array.from(tree.origin.keys()).filter((node) => isLeaf(tree, node));
  if (!start.leaf_value && !start.leaf_models && !values.size) return;
  const isMajority = !start.numbers && isVoting(start);
  const own = { rows: leaves.length, columns: start.width, values: new Float64Array(leaves.length * start.width) };
  leaves.forEach((node, i) => {
    const old = tree.origin[node];
    let proba = values.get(old) || (isLeaf(start, old) ? shownValues(start, old) : matrixRow(start.value, old));
    if (isMajority && !values.has(old) && !isLeaf(start, old)) proba = voteFor(argmax(proba), start.width);
    own.values.set(proba, i * start.width);
  });
  tree.leaf_value = own;
  if (!start.leaf_models) return;
  tree.leaf_models = keptModels(tree, start, leaves, values);
  if (start.models) tree.models = leaves.map((node, i) => keptWords(tree, start, values, i));
}

// The words of a leaf's model, or of the numbers that took its place.
function keptWords(tree, start, values, leaf) {
  const old = tree.origin[tree.leaf_index.indexOf(leaf)];
  const isKept = isLeaf(start, old) && !values.has(old);
  return isKept ? start.models[start.leaf_index[old]] : numberWords(matrixRow(tree.leaf_value, leaf));
}

function isVoting({ leaf_value: own, leaf_models: models, leaves }) {
  if (!own || models) return false;
  return Array.from({ length: leaves }, (_, leaf) => Math.max(...matrixRow(own, leaf))).every((most) => most === 1);
}

function voteFor(k, width) {
  const votes = new Float64Array(width);
  votes[k] = 1;
  return votes;
}

function keptModels(tree, start, leaves, values) {
  const { coef, low, high } = start.leaf_models;
  const { width } = start;
  const constant = (share) => (start.numbers ? share : share > 0 ? Math.log(share) : IMPOSSIBLE);
  const made = {
    coef: { rows: leaves.length * width, columns: coef.columns, values: new Float64Array(leaves.length * width * coef.columns) },
    intercept: new Float64Array(leaves.length * width),
    low: low && new Float64Array(leaves.length * width),
    high: high && new Float64Array(leaves.length * width),
  };
  leaves.forEach((node, i) => {
    const old = tree.origin[node];
    const leaf = start.leaf_index[old];
    const isKept = leaf >= 0 && !values.has(old);
    for (let k = 0; k < width; k += 1) {
      const share = tree.leaf_value.values[i * width + k];
      const line = leaf * width + k;
      made.intercept[i * width + k] = isKept ? start.leaf_models.intercept[line] : constant(share);
      if (low) made.low[i * width + k] = isKept ? low[line] : share;
      if (high) made.high[i * width + k] = isKept ? high[line] : share;
      if (isKept) made.coef.values.set(matrixRow(coef, line), (i * width + k) * coef.columns);
    }
  });
  return made;
}

// The threshold of a test in the units in which it is shown; null where there is none to change.
function shownThreshold(tree, node) {
  const test = testParts(tree, node);
  const stored = tree.threshold[node];
  if (tree.soft || !/^[≤≥]/.test(test.if) || !Number.isFinite(stored)) return null;
  return tree.linear_row[node] < 0 ? stored : stored / test.unit - test.constant;
}

function storedThreshold(tree, node, shown) {
  const { unit, constant } = testParts(tree, node);
  return tree.linear_row[node] < 0 ? shown : shown * unit + constant * unit;
}

// The words of a test with another threshold.
function changedText(start, node, stored) {
  const test = testParts(start, node);
  if (stored === undefined) return test;
  const shown = start.linear_row[node] < 0 ? stored : stored / test.unit - test.constant;
  const text = String(Number(shown.toPrecision(12))).replace("-", "−");
  const written = (words) => words && words.replace(/^([≤≥<>]) \S+/, `$1 ${text}`);
  return { ...test, if: written(test.if), left: written(test.left), right: written(test.right) };
}

// What rows on the page are said to be, and how right that is: the classes and the share of right ones; of numbers the
// numbers and the root of their mean squared error.
function judgedRows(tree) {
  const { rows } = tree;
  if (!rows) return null;
  const best = [];
  for (let i = 0; i < rows.values.rows; i += 1) {
    const x = Float64Array.from(matrixRow(rows.values, i));
    if (tree.needs_numbers && x.some(Number.isNaN)) best.push(-1);
    else best.push(tree.numbers ? Array.from(predictProba(tree, x)) : argmax(predictProba(tree, x)));
  }
  if (!rows.labels) return { best, quality: null };
  if (tree.numbers) return { best, quality: rootOfSquares(best, rows.labels) };
  return { best, quality: best.filter((k, i) => tree.classes[k] === rows.labels[i]).length / best.length };
}

function rootOfSquares(predicted, labels) {
  let [sum, count] = [0, 0];
  predicted.forEach((values, i) => {
    if (values === -1) return;
    labelNumbers(labels[i]).forEach((truth, k) => (sum += (values[k] - truth) ** 2));
    count += values.length;
  });
  return Math.sqrt(sum / count);
}

// Accuracy on the training rows, by the counts of the leaves: of hard trees with constant leaves whose tests are as
// they were.
function trainingAccuracy(tree) {
  let right = 0;
  for (let node = 0; node < tree.size; node += 1) {
    if (!isLeaf(tree, node)) continue;
    right += tree.weighted_n_node_samples[node] * matrixRow(tree.value, node)[argmax(shownValues(tree, node))];
  }
  return right / (tree.weighted_n_node_samples[0] || 1);
}
