// What Python embedded becomes typed arrays with the names they have in boscage.tree.Tree.

const LINEAR = -3; // in `feature`: the test is a row of `weights`; leaves have -1
const ARRAY_TYPES = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u1: Uint8Array };

function decodeArray(found) {
  if (!found) return null;
  const [[kind, text]] = Object.entries(found);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  return new ARRAY_TYPES[kind](bytes.buffer);
}

// {rows, columns, values} row by row, or with indices and offsets: only the stored entries of each row.
function decodeMatrix(found) {
  if (!found) return null;
  const matrix = { rows: found.rows, columns: found.columns, values: Float64Array.from(decodeArray(found.values)) };
  if (!found.offsets) return matrix;
  const stored = { ...matrix, indices: decodeArray(found.indices), offsets: decodeArray(found.offsets) };
  return found.full ? expandMatrix(stored) : stored;
}

function expandMatrix({ rows, columns, values, indices, offsets }) {
  const dense = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i += 1) {
    for (let k = offsets[i]; k < offsets[i + 1]; k += 1) dense[i * columns + indices[k]] = values[k];
  }
  return { rows, columns, values: dense };
}

function matrixRow({ columns, values }, i) {
  return values.subarray(i * columns, (i + 1) * columns);
}

function decodeInputMap(found) {
  if (!found) return null;
  const arrays = ["fill", "codes", "shift", "scale", "code_offset"].map((name) => [name, decodeArray(found[name])]);
  return { ...Object.fromEntries(arrays), constant: found.constant, unit_rows: found.unit_rows };
}

function decodeNodes(found) {
  const nodes = {};
  for (const [name, value] of Object.entries(found)) {
    nodes[name] = name === "value" || name === "leaf_value" ? decodeMatrix(value) : decodeArray(value);
  }
  return nodes;
}

// The arrays that prediction needs.
function decodeArrays(found) {
  const tree = { ...found, ...decodeNodes(found.nodes) };
  tree.weights = decodeMatrix(found.weights);
  tree.input_map = decodeInputMap(found.input_map);
  tree.leaf_models = found.leaf_models && {
    coef: decodeMatrix(found.leaf_models.coef),
    intercept: decodeArray(found.leaf_models.intercept),
    low: decodeArray(found.leaf_models.low),
    high: decodeArray(found.leaf_models.high),
  };
  return tree;
}

// Depth, parent, size below, number among the leaves and text of every node.
function deriveNodes(tree) {
  const n = tree.feature.length;
  Object.assign(tree, { size: n, soft: tree.routing !== "hard", width: (tree.leaf_value || tree.value).columns });
  tree.parent = new Int32Array(n).fill(-1);
  tree.depth = new Int32Array(n);
  tree.below = new Int32Array(n);
  tree.leaf_index = new Int32Array(n).fill(-1);
  tree.test_index = new Int32Array(n).fill(-1);
  let leaves = 0;
  for (let node = 0; node < n; node += 1) {
    if (isLeaf(tree, node)) {
      tree.leaf_index[node] = leaves++;
      continue;
    }
    tree.test_index[node] = node - leaves;
    for (const child of childrenOf(tree, node)) {
      tree.parent[child] = node;
      tree.depth[child] = tree.depth[node] + 1;
    }
  }
  for (let node = n - 1; node > 0; node -= 1) tree.below[tree.parent[node]] += tree.below[node] + 1;
  tree.leaves = leaves;
  tree.height = tree.depth.reduce((most, depth) => Math.max(most, depth), 0);
  return tree;
}

function isLeaf(tree, node) {
  return tree.children_left[node] < 0;
}

function childrenOf(tree, node) {
  return [tree.children_left[node], tree.children_right[node]];
}
