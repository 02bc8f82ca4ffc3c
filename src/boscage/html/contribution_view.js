// What each column contributed to the probability of a class, or to a number: a bar to the right or to the left.

const MOST_BARS = 8;

class ContributionView {
  constructor(state) {
    this.state = state;
    this.tree = state.tree;
    this.target = -1; // the predicted class
    this.list = element("div", { className: "bosc-sum" });
    const words = this.tree.numbers ? this.tree.classes : ["the predicted class", ...this.tree.classes];
    const first = words.length - this.tree.classes.length;
    const chooser = select(this.tree.numbers ? "Output" : "Class", words, 0, (i) => this.setTarget(i - first));
    this.element = panel("contributions", "Contributions", words.length > 1 ? [chooser] : [], this.list);
    state.watch((what) => what === "row" && this.update());
    this.update();
  }

  setTarget(target) {
    this.target = target;
    this.update();
  }

  update() {
    const { found } = this.state;
    this.list.replaceChildren(...(found.isComplete ? this.lines(found) : []));
  }

  lines(found) {
    const k = this.target >= 0 ? this.target : this.tree.numbers ? 0 : found.best;
    const [before, after] = this.tree.numbers
      ? ["value of the root", "prediction"]
      : [`share of ${this.tree.classes[k]} in training`, `probability of ${this.tree.classes[k]}`];
    const { base, columns } = contributionsOf(this.tree, found);
    const moved = this.tree.columns.map(({ name }, j) => ({ j, name, amount: columns[j * base.length + k] }));
    const order = moved
      .filter(({ amount }) => amount !== 0)
      .sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount) || a.j - b.j);
    const shown = order.slice(0, MOST_BARS);
    const rest = order.slice(MOST_BARS);
    const widest = order.length ? Math.abs(order[0].amount) : 1;
    const sum = rest.reduce((total, { amount }) => total + amount, 0);
    return [
      this.total(before, base[k]),
      ...shown.map(({ j, name, amount }) => this.line(name, valueText(this.tree, j, this.state.x[j]), amount, widest)),
      rest.length ? this.line(`${rest.length} other columns`, "", sum, Math.max(widest, Math.abs(sum))) : null,
      this.total(after, found.proba[k]),
    ].filter(Boolean);
  }

  total(name, amount) {
    const text = this.tree.numbers ? formatNumber(amount, 5) : amount.toFixed(3);
    const number = element("span", { className: "bosc-number" }, text);
    return element("div", { className: "bosc-total" }, element("span", {}, name), number);
  }

  signed(amount) {
    const size = this.tree.numbers ? formatNumber(Math.abs(amount), 4) : Math.abs(amount).toFixed(3);
    return `${amount < 0 ? "−" : "+"}${size}`;
  }

  line(name, value, amount, widest) {
    const bar = element("span", { className: "bosc-push" });
    bar.style.setProperty("--bosc-share", String(Math.abs(amount) / widest / 2));
    bar.classList.toggle("bosc-against", amount < 0);
    const label = element("span", { className: "bosc-label", title: name }, element("span", {}, name));
    if (value) label.append(element("span", { className: "bosc-fact" }, ` = ${value}`));
    const number = element("span", { className: "bosc-number" }, this.signed(amount));
    return element("div", { className: "bosc-sumline" }, label, bar, number);
  }
}

