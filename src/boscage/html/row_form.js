// The row: choose an embedded one or type values; and what the tree predicts for it.

const FIRST_FIELDS = 12; // of more than MOST_FIELDS columns
const MOST_FIELDS = 16;
const MOST_COLUMNS = 300; // of one list on the page
const MOST_CLASSES = 8;

class RowForm {
  constructor(state) {
    this.state = state;
    this.tree = state.tree;
    this.fields = new Map();
    this.order = fieldOrder(this.tree);
    this.build();
    state.watch((what) => what === "row" && this.update());
    this.update();
  }

  build() {
    this.answer = element("div", { className: "bosc-answer" });
    this.grid = element("div", { className: "bosc-fields" });
    const isLong = this.order.length > MOST_FIELDS;
    this.addFields(isLong ? FIRST_FIELDS : MOST_FIELDS);
    this.element = panel("row", "Row", [], this.picker(), this.answer);
    this.values = panel("values", "Values", [], this.grid, isLong ? this.moreButton() : null);
  }

  picker() {
    const { rows } = this.tree;
    if (!rows)
      return element(
        "p",
        { className: "bosc-note" },
        "Type the values of a row below. An empty field is a missing value.",
      );
    const words = Array.from(
      rows.numbers,
      (number, i) => `Row ${formatCount(number)}${rows.labels ? ` · ${labelWords(this.tree, rows.labels[i])}` : ""}`,
    );
    this.list = select("Row", [...words, "Your own row"], 0, (i) => i < words.length && this.state.chooseRow(i));
    const step = (by) => () =>
      this.state.chooseRow((Math.max(this.state.number, 0) + by + words.length) % words.length);
    const bar = element(
      "div",
      { className: "bosc-picker" },
      button("‹", "Previous row", step(-1)),
      this.list,
      button("›", "Next row", step(1)),
    );
    const some =
      words.length < rows.total ? `${formatCount(words.length)} of ${formatCount(rows.total)} rows are on this page. ` : "";
    const note = element("p", { className: "bosc-note" }, `${some}Change a value to predict a row of your own.`);
    return element("div", {}, bar, note);
  }

  moreButton() {
    const all = this.order.length;
    const more = button(`More of ${formatCount(all)} columns`, "Show more columns", () => {
      this.addFields(this.fields.size + MOST_COLUMNS);
      this.update();
      if (this.fields.size === all) more.remove();
    });
    return more;
  }

  addFields(count) {
    for (const column of this.order.slice(this.fields.size, count)) this.grid.append(this.field(column));
  }

  field(column) {
    const { name, categories, importance } = this.tree.columns[column];
    const input = categories ? this.chooser(column, categories) : this.typer(column);
    input.id = newId("field");
    this.fields.set(column, input);
    const share = element("span", { className: "bosc-importance", title: `importance ${formatShare(importance)}` });
    share.style.setProperty("--bosc-share", String(importance));
    return element(
      "div",
      { className: "bosc-fieldrow" },
      element("label", { htmlFor: input.id, title: name }, name),
      input,
      share,
    );
  }

  typer(column) {
    const input = element("input", {
      type: "text",
      inputMode: "decimal",
      autocomplete: "off",
      spellcheck: false,
      placeholder: "missing",
    });
    input.addEventListener("change", () => {
      const value = readTyped(this.tree, input.value);
      const isGood = Number.isFinite(value) || input.value.trim() === "";
      input.setAttribute("aria-invalid", String(!isGood));
      if (isGood) this.state.change([[column, value]]);
    });
    return input;
  }

  chooser(column, categories) {
    const change = (i) => this.state.change([[column, i === categories.length ? NaN : i]]);
    return select(this.tree.columns[column].name, [...categories, "missing"], 0, change);
  }

  update() {
    for (const [column, input] of this.fields) {
      const x = this.state.x[column];
      const count = categoryCount(this.tree, column);
      if (count) input.value = String(categoryCode(x, count) < 0 ? count : x);
      else input.value = typedText(this.tree, x);
      input.removeAttribute("aria-invalid");
    }
    if (this.list) this.list.value = String(this.state.number < 0 ? this.tree.rows.numbers.length : this.state.number);
    this.answer.replaceChildren(...this.answerParts());
  }

  answerParts() {
    const { found, label } = this.state;
    if (!found.isComplete) {
      return [
        element(
          "p",
          { className: "bosc-warning" },
          "This tree needs a number in every field: it has nothing to put in place of missing values.",
        ),
      ];
    }
    const word = element("strong", { className: "bosc-predicted" }, answerWords(this.tree, found.proba));
    const mark = element("span", { className: "bosc-mark" });
    [mark.style.background] = shadeOf(this.tree, found.proba);
    const heading = element("p", { className: "bosc-prediction" }, mark, word);
    if (this.tree.numbers) return this.numberParts(heading, found, label);
    if (label !== null) heading.append(truthMark(label, this.tree.classes[found.best]));
    return [heading, ...mixture(found.proba, MOST_CLASSES).map(([k, share]) => this.classLine(k, share))];
  }

  numberParts(heading, found, label) {
    if (label !== null) {
      heading.append(element("span", { className: "bosc-right" }, `observed ${labelWords(this.tree, label)}`));
    }
    const around = quantileWords(this.tree, found.leaf);
    const note = around && element("p", { className: "bosc-note" }, around);
    return [heading, note].filter(Boolean);
  }

  classLine(k, share) {
    const bar = element("span", { className: "bosc-bar" });
    bar.style.setProperty("--bosc-share", String(share));
    bar.style.setProperty("--bosc-color", k < 0 ? "var(--bosc-muted)" : this.tree.colors[k]);
    const name = element(
      "span",
      { className: "bosc-class", title: k < 0 ? "" : this.tree.classes[k] },
      k < 0 ? "others" : this.tree.classes[k],
    );
    return element(
      "div",
      { className: "bosc-classline" },
      name,
      bar,
      element("span", { className: "bosc-number" }, share.toFixed(3)),
    );
  }
}

// Between which numbers the middle 90 % of y lie in a node, where the page knows them.
function quantileWords(tree, node) {
  if (!tree.quantiles) return "";
  const [low, , , , high] = matrixRow(tree.quantiles, node);
  if (Number.isNaN(low)) return "";
  return `90 % of the rows in leaf ${node} lie between ${formatNumber(low, 5)} and ${formatNumber(high, 5)}.`;
}

function truthMark(label, predicted) {
  const isRight = label === predicted;
  const text = isRight ? "✓ as labelled" : `✗ labelled ${label}`;
  return element("span", { className: isRight ? "bosc-right" : "bosc-wrong" }, text);
}

// Columns the tree uses most come first.
function fieldOrder(tree) {
  const order = tree.columns.map((column, j) => j);
  return order.sort((a, b) => tree.columns[b].importance - tree.columns[a].importance || a - b);
}
