// Why the tree answers as it does: the path in sentences and what each column contributed, as in boscage.explain.

// Every term of a linear test: its column, its weight in the user's units, its size over the training rows.
function storedTerms(tree, node) {
  const { weights, input_map: map } = tree;
  const i = tree.linear_row[node];
  const begin = weights.offsets ? weights.offsets[i] : i * weights.columns;
  const end = weights.offsets ? weights.offsets[i + 1] : begin + weights.columns;
  const terms = [];
  for (let k = begin; k < end; k += 1) {
    const column = weights.offsets ? weights.indices[k] : k - begin;
    const stored = weights.values[k];
    if (stored === 0 || column === tree.columns.length) continue;
    const scale = map && map.scale ? map.scale[column] : 1;
    const spread = tree.spread ? tree.spread[column] * scale : 1;
    const { name } = tree.columns[column];
    terms.push({ column, name, stored, weight: stored * scale, size: Math.abs(stored) * spread });
  }
  return terms;
}

// The terms in the unit in which the test is shown, with what each adds to the score of the row.
function shownTerms(tree, node, row) {
  const { unit } = testParts(tree, node);
  return storedTerms(tree, node).map((term) => {
    const { column, weight, stored } = term;
    if (!tree.standard) return { ...term, weight: weight / unit, part: (stored * row.seen[column]) / unit };
    const part = (weight * (row.plain[column] - tree.means[column])) / unit;
    return { ...term, weight: (weight * tree.spread[column]) / unit, part };
  });
}

function shownScore(tree, node, row) {
  const { unit, constant } = testParts(tree, node);
  return linearScore(tree, node, row) / unit - constant;
}

// What happened to the row at a test that it left for `next`.
function stepSentence(tree, node, next, { row, reach }) {
  const test = testParts(tree, node);
  const isRight = next === tree.children_right[node];
  const relation = isRight ? test.right : test.left;
  if (test.column >= 0) return columnSentence(tree, test.column, row.x[test.column], relation);
  const subject = test.test || test.card;
  if (!tree.soft) return `${subject} = ${formatNumber(shownScore(tree, node, row))} ${relation}`;
  return `${sideSentence(tree, node, next, reach)}: ${subject}`;
}

// Where a row went at a soft test, without the test.
function sideSentence(tree, node, next, reach) {
  return `${sideWord(tree, next)} with probability ${(reach[next] / reach[node]).toFixed(2)}`;
}

function columnSentence(tree, column, x, relation) {
  const { name } = tree.columns[column];
  const value = valueText(tree, column, x);
  if (relation === "is missing" || relation === "is not missing") {
    return value === "missing" && relation === "is missing" ? `${name} is missing` : `${name} = ${value}`;
  }
  if (value === "missing") return `${name} is missing, which goes with values ${relation}`;
  return relation.includes("in {") ? `${name} = ${value}, ${relation}` : `${name} = ${value} ${relation}`;
}

// Shares that sum to 1, in proportion to `parts`, or to `otherwise` where these are all 0; null if those are too.
function normalised(parts, otherwise) {
  for (const some of [parts, otherwise]) {
    const total = some.reduce((sum, part) => sum + part, 0);
    if (total > 0 && Number.isFinite(total)) return some.map((part) => part / total);
  }
  return null;
}

// How far the row is from the mean of a column; 0 where it has no number.
function away(tree, column, row) {
  const distance = row.plain[column] - tree.means[column];
  return Number.isNaN(distance) ? 0 : distance;
}

// Columns that pushed the row to a side share the step there.
function testShares(tree, node, row, towards) {
  const terms = storedTerms(tree, node);
  const sizes = terms.map(({ size }) => size);
  const pushes = tree.means
    ? terms.map(({ column, weight }) => Math.max(towards * weight * away(tree, column, row), 0))
    : sizes;
  const shares = normalised(pushes, sizes);
  return shares && shares.map((share, i) => [terms[i].column, share]);
}

// Shares of the columns in what the linear model of a leaf changes.
function leafShares(tree, node, row) {
  const { values, columns } = tree.leaf_models.coef;
  const classes = tree.classes.length;
  const first = tree.leaf_index[node] * classes;
  const effects = Array.from({ length: columns }, (_, j) => {
    const weights = Array.from({ length: classes }, (__, k) => values[(first + k) * columns + j]);
    const mean = tree.numbers ? 0 : weights.reduce((sum, weight) => sum + weight, 0) / classes;
    return weights.reduce((sum, weight) => sum + Math.abs(weight - mean), 0);
  });
  let sizes = tree.spread ? effects.map((effect, j) => effect * tree.spread[j]) : effects;
  if (!sizes.some((size) => size > 0)) sizes = effects;
  const parts = tree.means ? effects.map((effect, j) => effect * Math.abs(away(tree, j, row))) : sizes;
  const shares = normalised(parts, sizes);
  return shares && shares.map((share, j) => [j, share]);
}

// {base: by class, columns: by column and class}: together they are the prediction.
function contributionsOf(tree, { row, reach }) {
  const classes = tree.classes.length;
  const columns = new Float64Array(tree.columns.length * classes);
  const ends = new Map();
  // Leaves that are fitted together may cancel out: what they say beyond the means of their rows is shared as a whole.
  const isFittedTogether = tree.soft && tree.leaf_value && !tree.leaf_models;
  const end = (node) =>
    ends.get(node) || (isFittedTogether ? matrixRow(tree.value, node) : shownValues(tree, node));
  const unclaimed = new Float64Array(classes);
  const add = (shares, from, to, weight) => {
    for (let k = 0; k < classes; k += 1) {
      const change = weight * (to[k] - from[k]);
      if (!shares) unclaimed[k] += change;
      else for (const [column, share] of shares) columns[column * classes + k] += share * change;
    }
  };
  for (let node = 0; node < tree.size; node += 1) {
    if (!tree.leaf_models || !isLeaf(tree, node) || reach[node] === 0) continue;
    const shares = leafShares(tree, node, row);
    if (shares) add(shares, shownValues(tree, node), leafProba(tree, node, row), reach[node]);
    else ends.set(node, leafProba(tree, node, row));
  }
  for (let node = 0; node < tree.size; node += 1) {
    if (isLeaf(tree, node) || reach[node] === 0) continue;
    childrenOf(tree, node).forEach((child, side) => {
      if (reach[child] === 0) return;
      const isLinear = tree.linear_row[node] >= 0;
      const shares = isLinear ? testShares(tree, node, row, 2 * side - 1) : [[tree.feature[node], 1]];
      add(shares, end(node), end(child), reach[child]);
    });
  }
  const base = end(0).map((value, k) => value + unclaimed[k]);
  if (isFittedTogether) shareRest(tree, reach, base, columns);
  return { base, columns };
}

// Shares what is missing to the prediction in proportion to what the columns have.
function shareRest(tree, reach, base, columns) {
  const width = base.length;
  base.forEach((start, k) => {
    let missed = -start;
    for (let node = 0; node < tree.size; node += 1) {
      if (isLeaf(tree, node)) missed += reach[node] * shownValues(tree, node)[k];
    }
    const sizes = tree.columns.map((_, j) => Math.abs(columns[j * width + k]));
    tree.columns.forEach((_, j) => {
      missed -= columns[j * width + k];
    });
    const shares = normalised(sizes, sizes);
    if (shares) shares.forEach((share, j) => (columns[j * width + k] += share * missed));
    else base[k] += missed;
  });
}
