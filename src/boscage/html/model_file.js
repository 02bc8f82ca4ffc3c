// An edited tree as a model file, which boscage.load reads: safetensors, with the metadata that Python wrote.

const ITEM_TYPES = { F64: Float64Array, I64: BigInt64Array, I32: Int32Array, U8: Uint8Array, BOOL: Uint8Array };
const ITEM_SIZES = { F64: 8, I64: 8, I32: 4, U8: 1, BOOL: 1 };

function modelBytes(tree) {
  const { before, after, layouts, tensors } = tree.file;
  const own = tree.leaf_value ? "own" : "node";
  const some = tree.weights && tree.weights.rows ? "some" : "no";
  const text = before + layouts[`${own} values, ${some} weights`] + after;
  const parts = nodeTensors(tree);
  for (const [name, { dtype, shape, bytes }] of Object.entries(tensors)) {
    const content = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
    parts.push({ name, dtype, shape, content });
  }
  return safetensors(parts, { boscage: text });
}

function tensor(name, dtype, values, shape = [values.length]) {
  const make = { I64: (x) => BigInt(x), F64: (x) => x + 0 }[dtype] || ((x) => x); // + 0: no negative zero
  const made = ITEM_TYPES[dtype].from(values, make);
  return { name, dtype, shape, content: new Uint8Array(made.buffer) };
}

function nodeTensors(tree) {
  const { value, width, leaves, leaf_value: own, leaf_models: models } = tree;
  const found = [
    ...["children_left", "children_right", "feature"].map((name) => tensor(name, "I32", tree[name])),
    ...["threshold", "weighted_n_node_samples", "impurity"].map((name) => tensor(name, "F64", tree[name])),
    tensor("n_node_samples", "I64", tree.n_node_samples),
    tensor("value", "F64", value.values, [value.rows, value.columns]),
  ];
  if (tree.missing_go_to_left.some(Boolean)) found.push(tensor("missing_go_to_left", "BOOL", tree.missing_go_to_left));
  if (tree.category_offset.some((offset) => offset >= 0)) {
    found.push(tensor("category_offset", "I64", tree.category_offset), tensor("category_bits", "U8", tree.category_bits));
  }
  if (tree.linear_row.some((row) => row >= 0)) found.push(tensor("linear_row", "I32", tree.linear_row));
  found.push(...weightTensors(tree));
  if (own) found.push(tensor("leaf_value", "F64", own.values, [leaves, width]));
  if (models) {
    found.push(tensor("leaf_models.coef", "F64", models.coef.values, [leaves, width, models.coef.columns]));
    for (const name of ["intercept", "low", "high"]) {
      if (models[name]) found.push(tensor(`leaf_models.${name}`, "F64", models[name], [leaves, width]));
    }
  }
  return found;
}

function weightTensors({ weights, file }) {
  if (file.sparse) {
    const none = { values: [], indices: [], offsets: [0] };
    const { values, indices, offsets } = weights || none;
    return [
      tensor("weights.data", "F64", values),
      tensor("weights.indices", "I64", indices),
      tensor("weights.indptr", "I64", offsets),
    ];
  }
  return weights && weights.rows ? [tensor("weights", "F64", weights.values, [weights.rows, weights.columns])] : [];
}

// Larger items first, so that all of them are aligned.
function safetensors(parts, metadata) {
  const order = [...parts].sort((a, b) => ITEM_SIZES[b.dtype] - ITEM_SIZES[a.dtype] || (a.name < b.name ? -1 : 1));
  const header = { __metadata__: metadata };
  let end = 0;
  for (const { name, dtype, shape, content } of order) {
    header[name] = { dtype, shape, data_offsets: [end, end + content.length] };
    end += content.length;
  }
  let text = new TextEncoder().encode(JSON.stringify(header));
  const padded = new Uint8Array(Math.ceil(text.length / 8) * 8).fill(32);
  padded.set(text);
  text = padded;
  const bytes = new Uint8Array(8 + text.length + end);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  for (const { name, content } of order) bytes.set(content, 8 + text.length + header[name].data_offsets[0]);
  return bytes;
}
