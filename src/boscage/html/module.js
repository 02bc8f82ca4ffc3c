// The functions of an exported model.

export const featureNames = MODEL.features;
export const classes = MODEL.classes;

const codes = MODEL.categories.map((labels) => labels && new Map(labels.map((label, code) => [label, code])));
const trees = MODEL.trees.map((found) => {
  const columns = MODEL.counts.map((count) => ({ categories: count ? { length: count } : null }));
  return deriveNodes({ ...decodeArrays(found), columns });
});

// A number as the trees see it: the code of a category, NaN for what is missing or unknown.
function seenNumber(value, column) {
  if (value === null || value === undefined) return NaN;
  if (codes[column]) {
    const code = codes[column].get(typeof value === "boolean" && !codes[column].has(value) ? Number(value) : value);
    return code === undefined ? NaN : code;
  }
  if (typeof value !== "number" && typeof value !== "boolean") {
    throw new TypeError(`${featureNames[column]} must be a number, null or undefined, got ${JSON.stringify(value)}`);
  }
  return MODEL.float32 ? Math.fround(value) : Number(value);
}

function numbersOf(row) {
  const isList = Array.isArray(row) || ArrayBuffer.isView(row);
  if (isList && row.length !== featureNames.length) {
    throw new RangeError(`a row has ${featureNames.length} columns, got ${row.length}`);
  }
  const at = (name, j) => (isList ? row[j] : Object.hasOwn(row, name) ? row[name] : undefined);
  const x = Float64Array.from(featureNames, (name, j) => seenNumber(at(name, j), j));
  if (MODEL.needs_numbers && x.some(Number.isNaN)) {
    throw new RangeError("this model was fitted without missing values and needs a number in every column");
  }
  return x;
}

// Mean of what the trees say.
function answerOf(row) {
  const x = numbersOf(row);
  const mean = new Float64Array(MODEL.width);
  for (const tree of trees) predictProba(tree, x).forEach((value, k) => (mean[k] += value));
  const found = Array.from(mean, (value) => value / trees.length);
  if (MODEL.exponent === 1 && !MODEL.geometric) return found;
  const top = Math.max(...found); // of logarithms, where the mean is geometric
  const raised = found.map((value) => {
    if (MODEL.geometric) return Math.exp(MODEL.exponent * (value - top));
    return value > 0 ? value ** MODEL.exponent : 0;
  });
  const total = raised.reduce((sum, value) => sum + value, 0);
  return raised.map((value) => value / total);
}
