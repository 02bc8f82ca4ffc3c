// What each column contributed to the probability of a class: a bar to the right or to the left for each.

const MOST_BARS = 8;

class ContributionView {
  constructor(state) {
    this.state = state;
    this.tree = state.tree;
    this.target = -1; // the predicted class
    this.list = element("div", { className: "bosc-sum" });
    const words = ["the predicted class", ...this.tree.classes];
    const chooser = select("Class", words, 0, (i) => this.setTarget(i - 1));
    this.element = panel("contributions", "Contributions", [chooser], this.list);
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
    const k = this.target < 0 ? found.best : this.target;
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
      this.total(`share of ${this.tree.classes[k]} in training`, base[k]),
      ...shown.map(({ j, name, amount }) => this.line(name, valueText(this.tree, j, this.state.x[j]), amount, widest)),
      rest.length ? this.line(`${rest.length} other columns`, "", sum, Math.max(widest, Math.abs(sum))) : null,
      this.total(`probability of ${this.tree.classes[k]}`, found.proba[k]),
    ].filter(Boolean);
  }

  total(name, amount) {
    const number = element("span", { className: "bosc-number" }, amount.toFixed(3));
    return element("div", { className: "bosc-total" }, element("span", {}, name), number);
  }

  line(name, value, amount, widest) {
    const bar = element("span", { className: "bosc-push" });
    bar.style.setProperty("--bosc-share", String(Math.abs(amount) / widest / 2));
    bar.classList.toggle("bosc-against", amount < 0);
    const label = element("span", { className: "bosc-label", title: name }, element("span", {}, name));
    if (value) label.append(element("span", { className: "bosc-fact" }, ` = ${value}`));
    const number = element("span", { className: "bosc-number" }, signedNumber(amount));
    return element("div", { className: "bosc-sumline" }, label, bar, number);
  }
}

function signedNumber(amount) {
  return `${amount < 0 ? "−" : "+"}${Math.abs(amount).toFixed(3)}`;
}
