// Prediction, number for number as in the compiled core: the same order of additions, the same rules for missing
// values and unknown categories.

function categoryCode(x, count) {
  return x >= 0 && x < count && Number.isInteger(x) ? x : -1;
}

function categoryCount(tree, column) {
  const { categories } = tree.columns[column];
  return categories ? categories.length : 0;
}

// The row in the user's units: categories as numbers, missing values filled.
function plainRow(tree, x) {
  const map = tree.input_map;
  const plain = Float64Array.from(x);
  if (!map) return plain;
  for (let j = 0; j < plain.length; j += 1) {
    if (map.code_offset && map.code_offset[j] >= 0) {
      const code = categoryCode(plain[j], categoryCount(tree, j));
      plain[j] = code < 0 ? NaN : map.codes[map.code_offset[j] + code];
    }
    if (map.fill && Number.isNaN(plain[j])) plain[j] = map.fill[j];
  }
  return plain;
}

// What linear tests multiply: centred, scaled, with the constant, divided by its norm.
function seenRow(tree, plain) {
  const map = tree.input_map;
  if (!map) return plain;
  const hasConstant = map.constant !== null;
  const seen = new Float64Array(plain.length + (hasConstant ? 1 : 0));
  for (let j = 0; j < plain.length; j += 1) {
    let value = plain[j];
    if (map.shift) value -= map.shift[j];
    if (map.scale) value *= map.scale[j];
    seen[j] = value;
  }
  if (hasConstant) seen[plain.length] = map.constant;
  if (map.unit_rows) makeUnit(seen);
  return seen;
}

function makeUnit(row) {
  const square = laneDot(row, 0, row);
  if (Number.isNaN(square)) return;
  let divisor = Math.sqrt(square);
  if (!(square > 1e-200 && square < 1e200)) {
    const most = Number.MAX_VALUE;
    let largest = 0;
    for (let j = 0; j < row.length; j += 1) {
      row[j] = Math.min(Math.max(row[j], -most), most);
      largest = Math.max(largest, Math.abs(row[j]));
    }
    if (!(largest > 0)) return;
    for (let j = 0; j < row.length; j += 1) row[j] /= largest;
    divisor = Math.sqrt(laneDot(row, 0, row));
  }
  for (let j = 0; j < row.length; j += 1) row[j] /= divisor;
}

const lanes = new Float64Array(8);

function laneTotal() {
  return lanes[0] + lanes[1] + (lanes[2] + lanes[3]) + (lanes[4] + lanes[5] + (lanes[6] + lanes[7]));
}

// Eight running sums, column j always in sum j mod 8.
function laneDot(weights, start, row) {
  lanes.fill(0);
  for (let j = 0; j < row.length; j += 1) lanes[j & 7] += weights[start + j] * row[j];
  return laneTotal();
}

function laneDotStored({ indices, offsets, values }, i, row) {
  lanes.fill(0);
  for (let k = offsets[i]; k < offsets[i + 1]; k += 1) lanes[indices[k] & 7] += values[k] * row[indices[k]];
  return laneTotal();
}

function prepareRow(tree, x) {
  const plain = plainRow(tree, x);
  return { x, plain, seen: tree.weights ? seenRow(tree, plain) : plain };
}

function linearScore(tree, node, row) {
  const i = tree.linear_row[node];
  const { weights } = tree;
  return weights.offsets ? laneDotStored(weights, i, row.seen) : laneDot(weights.values, i * weights.columns, row.seen);
}

function goesRight(tree, node, row) {
  const column = tree.feature[node];
  if (column < 0) return linearScore(tree, node, row) > tree.threshold[node];
  const x = row.x[column];
  const offset = tree.category_offset[node];
  if (offset < 0) return Number.isNaN(x) ? !tree.missing_go_to_left[node] : x > tree.threshold[node];
  const code = categoryCode(x, categoryCount(tree, column));
  if (code < 0) return !tree.missing_go_to_left[node];
  return ((tree.category_bits[offset + (code >> 3)] >> (code & 7)) & 1) === 0;
}

// Probabilities of going left and right.
function softSides(tree, node, row) {
  const margin = linearScore(tree, node, row) - tree.threshold[node];
  if (tree.routing === "linear") {
    const clipped = Math.min(Math.max(margin, -1), 1);
    return [(1 - clipped) / 2, (1 + clipped) / 2];
  }
  const e = Math.exp(-Math.abs(margin));
  const small = e / (1 + e);
  const large = 1 / (1 + e);
  return margin > 0 ? [small, large] : [large, small];
}

function hardPath(tree, row) {
  const path = [0];
  for (let node = 0; !isLeaf(tree, node); path.push(node)) {
    node = goesRight(tree, node, row) ? tree.children_right[node] : tree.children_left[node];
  }
  return path;
}

// Probability of reaching each node: 0 or 1 in hard trees.
function reachOf(tree, row) {
  const reach = new Float64Array(tree.size);
  if (!tree.soft) {
    for (const node of hardPath(tree, row)) reach[node] = 1;
    return reach;
  }
  reach[0] = 1;
  for (let node = 0; node < tree.size; node += 1) {
    if (isLeaf(tree, node) || reach[node] === 0) continue;
    const [left, right] = softSides(tree, node, row);
    reach[tree.children_left[node]] = reach[node] * left;
    reach[tree.children_right[node]] = reach[node] * right;
  }
  return reach;
}

function softmax(scores) {
  const top = scores.reduce((most, score) => Math.max(most, score), -Infinity);
  let total = 0;
  for (let k = 0; k < scores.length; k += 1) total += scores[k] = Math.exp(scores[k] - top);
  for (let k = 0; k < scores.length; k += 1) scores[k] /= total;
  return scores;
}

// What a leaf says about a row.
function leafProba(tree, node, row) {
  const leaf = tree.leaf_index[node];
  if (!tree.leaf_models) return tree.leaf_value ? matrixRow(tree.leaf_value, leaf) : matrixRow(tree.value, node);
  const { coef, intercept, low, high } = tree.leaf_models;
  const scores = new Float64Array(tree.width);
  for (let k = 0; k < tree.width; k += 1) {
    const line = leaf * tree.width + k;
    scores[k] = laneDot(coef.values, line * coef.columns, row.plain) + intercept[line];
  }
  if (tree.target !== "numbers") return softmax(scores);
  const first = leaf * tree.width;
  return low ? scores.map((score, k) => Math.min(Math.max(score, low[first + k]), high[first + k])) : scores;
}

function addLeaf(tree, node, share, row, proba) {
  const values = leafProba(tree, node, row);
  for (let k = 0; k < proba.length; k += 1) proba[k] += share * values[k];
}

function probaFrom(tree, reach, row) {
  const proba = new Float64Array(tree.width);
  for (let node = 0; node < tree.size; node += 1) {
    if (isLeaf(tree, node) && reach[node] !== 0) addLeaf(tree, node, reach[node], row, proba);
  }
  return proba;
}

function predictProba(tree, x) {
  const row = prepareRow(tree, x);
  if (tree.soft) return probaFrom(tree, reachOf(tree, row), row);
  const proba = new Float64Array(tree.width);
  addLeaf(tree, hardPath(tree, row).at(-1), 1, row, proba);
  return proba;
}

// The first of the largest.
function argmax(values) {
  let best = 0;
  for (let k = 1; k < values.length; k += 1) if (values[k] > values[best]) best = k;
  return best;
}

// Everything the page shows of a row: reach of all nodes, probabilities, the leaf of largest reach and the way to it.
function explainRow(tree, x) {
  const row = prepareRow(tree, x);
  if (tree.needs_numbers && Array.from(x).some(Number.isNaN)) return unexplained(tree, row);
  const reach = reachOf(tree, row);
  const proba = probaFrom(tree, reach, row);
  let leaf = -1;
  for (let node = 0; node < tree.size; node += 1) {
    if (isLeaf(tree, node) && (leaf < 0 || reach[node] > reach[leaf])) leaf = node;
  }
  const path = [];
  for (let node = leaf; node >= 0; node = tree.parent[node]) path.unshift(node);
  return { row, reach, proba, best: argmax(proba), leaf, path, onPath: new Set(path), isComplete: true };
}

// A row with missing values in a tree that has nothing to put in their place.
function unexplained(tree, row) {
  const [reach, proba] = [new Float64Array(tree.size), new Float64Array(tree.width)];
  return { row, reach, proba, best: 0, leaf: 0, path: [], onPath: new Set(), isComplete: false };
}
