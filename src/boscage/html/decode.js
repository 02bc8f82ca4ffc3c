// The tree of a page: arrays, columns, rows and steps.

function decodeColumns({ names, categories, ...arrays }) {
  const facts = Object.entries(arrays).map(([name, array]) => [name, decodeArray(array)]);
  return names.map((name, j) => {
    const column = { name, categories: categories[j] };
    for (const [fact, values] of facts) column[fact] = values[j];
    return column;
  });
}

function decodeRows(found) {
  return found && { ...found, numbers: decodeArray(found.numbers), values: decodeMatrix(found.values) };
}

function decodeTree(found) {
  const tree = decodeArrays(found);
  tree.columns = decodeColumns(found.columns);
  tree.spread = decodeArray(found.spread);
  tree.means = decodeArray(found.means);
  tree.rows = decodeRows(found.rows);
  for (const name of ["quantiles", "histogram", "residuals"]) tree[name] = decodeMatrix(found[name]);
  tree.steps = Object.fromEntries(Object.entries(found.trajectory).map(([name, value]) => [name, decodeArray(value)]));
  return deriveNodes(tree);
}
