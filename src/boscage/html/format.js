// Numbers, shares and mixtures in a reader's words.

function formatNumber(x, digits = 3) {
  if (Number.isNaN(x)) return "missing";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const size = Math.abs(x);
  let text;
  if (x === 0) text = "0";
  else if (size >= 1e9 || size < 1e-4) text = x.toExponential(digits - 1);
  else
    text = String(
      Number(x.toFixed(Math.max(0, digits - Math.max(0, Math.ceil(Math.log10(size)))))) ||
        Number(x.toPrecision(digits)),
    );
  return text.replace("-", "−");
}

function formatShare(share) {
  if (share > 0 && share < 0.005) return "< 1 %";
  if (share < 1 && share > 0.995) return "> 99 %";
  return `${Math.round(100 * share)} %`;
}

function formatCount(count) {
  return count.toLocaleString("en-US");
}

// A number as someone would type it: the fewest digits that give the same number back.
function typedText(tree, x) {
  if (Number.isNaN(x)) return "";
  if (!tree.float32 || Math.fround(x) !== x) return String(x);
  for (let digits = 1; digits < 10; digits += 1) {
    const text = Number(x.toPrecision(digits));
    if (Math.fround(text) === x) return String(text);
  }
  return String(x);
}

function readTyped(tree, text) {
  const trimmed = text.trim();
  const x = trimmed === "" ? NaN : Number(trimmed);
  return tree.float32 ? Math.fround(x) : x;
}

function valueText(tree, column, x) {
  const { categories } = tree.columns[column];
  if (!categories) return Number.isNaN(x) ? "missing" : String(Number(x.toPrecision(6))).replace("-", "−");
  const code = categoryCode(x, categories.length);
  return code < 0 ? "missing" : categories[code];
}

// Classes by falling share: [class, share] of the largest few, then [-1, what is left].
function mixture(values, most) {
  const order = Array.from(values.keys()).filter((k) => values[k] > 0);
  order.sort((a, b) => values[b] - values[a] || a - b);
  const parts = order.slice(0, most).map((k) => [k, values[k]]);
  const left = order.slice(most).reduce((sum, k) => sum + values[k], 0);
  return left > 0 ? [...parts, [-1, left]] : parts;
}

// Numbers, of trees that predict them: one alone, several in brackets.
function numberWords(values) {
  const texts = Array.from(values, (value) => formatNumber(value, 5));
  return texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
}

// The numbers in the label of a row: one, or several in brackets.
function labelNumbers(label) {
  return label.match(/-?\d[\d.]*(e[-+]?\d+)?/g).map(Number);
}

function labelWords(tree, label) {
  return tree.numbers ? numberWords(labelNumbers(label)) : label;
}

// What a node or a row gets: its class, or its number.
function answerWords(tree, values) {
  return tree.numbers ? numberWords(values) : tree.classes[argmax(values)];
}

// The colour of values and its strength from 0 to 1: the leading class and its lead, or the place of a number between
// the smallest and the largest of all nodes.
function shadeOf(tree, values) {
  if (!tree.numbers) return [tree.colors[argmax(values)], leadOf(values)];
  const [low, high] = tree.range;
  const share = high > low ? (values[0] / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
  return [tree.colors[0], Math.min(Math.max(share, 0), 1)];
}

function mixtureWords(tree, values) {
  if (tree.numbers) return numberWords(values);
  return mixture(values, 3)
    .map(([k, share]) => `${k < 0 ? "others" : tree.classes[k]} ${formatShare(share)}`)
    .join(", ");
}

// A bar of class shares, in the order of the classes so that bars can be compared; of a number its place in the range.
function mixtureBar(tree, values) {
  const bar = element("span", { className: "bosc-mixture", role: "img", "aria-label": mixtureWords(tree, values) });
  if (tree.numbers) {
    const [color, strength] = shadeOf(tree, values);
    const pieces = [element("span", { title: numberWords(values) }), element("span", {})];
    pieces[0].style.flexGrow = String(strength);
    pieces[0].style.background = color;
    pieces[1].style.flexGrow = String(1 - strength);
    bar.append(...pieces);
    return bar;
  }
  const parts = mixture(values, 12).sort((a, b) => (a[0] < 0) - (b[0] < 0) || a[0] - b[0]);
  for (const [k, share] of parts) {
    const piece = element("span", { title: `${k < 0 ? "others" : tree.classes[k]} ${formatShare(share)}` });
    piece.style.flexGrow = String(share);
    piece.style.background = k < 0 ? "var(--bosc-muted)" : tree.colors[k];
    bar.append(piece);
  }
  return bar;
}

// Class shares or numbers that a node shows: those of the training rows, and at a leaf what it predicts.
function shownValues(tree, node) {
  const leaf = tree.leaf_index[node];
  return leaf >= 0 && tree.leaf_value ? matrixRow(tree.leaf_value, leaf) : matrixRow(tree.value, node);
}

function className(tree, node) {
  return answerWords(tree, shownValues(tree, node));
}

function testParts(tree, node) {
  return tree.tests[tree.test_index[node]];
}

function testText(tree, node) {
  const { card, if: relation } = testParts(tree, node);
  return `${card} ${relation}`.trimEnd();
}

function wholeTest(tree, node) {
  const { card, test, if: relation } = testParts(tree, node);
  return `${test || card} ${relation}`.trimEnd();
}

function nodeTitle(tree, node) {
  if (!isLeaf(tree, node)) return testText(tree, node);
  return tree.leaf_models ? "linear model" : className(tree, node);
}

function sideWord(tree, node) {
  const parent = tree.parent[node];
  if (parent < 0) return "";
  const isLeft = tree.children_left[parent] === node;
  if (tree.soft) return isLeft ? "left" : "right";
  return isLeft ? "yes" : "no";
}

function nodeWords(tree, node) {
  const side = sideWord(tree, node);
  const what = isLeaf(tree, node) ? `leaf, ${nodeTitle(tree, node)}` : `test ${testText(tree, node)}`;
  const rows = `${formatCount(tree.n_node_samples[node])} rows`;
  return `${side ? `${side}: ` : ""}${what}. ${rows}: ${mixtureWords(tree, shownValues(tree, node))}.`;
}
