// How the potential and the training error fell with each split. A slider walks along the splits.

const CHART = { width: 320, height: 190, left: 34, right: 56, top: 10, bottom: 24 };

class Trajectory {
  constructor(state) {
    this.state = state;
    this.steps = state.tree.steps;
    this.isNumbers = state.tree.numbers; // their error is the potential, and is shown in units of the criterion
    this.word = this.isNumbers ? "impurity" : "potential";
    this.last = this.steps.potential.length - 1;
    this.top = Math.max(1e-12, this.steps.potential[0], this.steps.error[0]);
    this.build();
    this.moveTo(this.last);
    state.watch((what) => what === "node" && this.followNode());
  }

  build() {
    this.marker = drawn("g", { class: "bosc-marker" });
    const fall = (name) => `from ${formatNumber(this.steps[name][0])} to ${formatNumber(this.steps[name][this.last])}`;
    const error = this.isNumbers ? "" : `, training error ${fall("error")}`;
    const label = `In ${this.last} splits ${this.word} falls ${fall("potential")}${error}.`;
    this.chart = drawn("svg", {
      viewBox: `0 0 ${CHART.width} ${CHART.height}`,
      role: "img",
      "aria-label": label,
      class: "bosc-chart",
    });
    this.chart.append(
      ...this.axes(),
      ...this.curve("potential", this.word),
      ...(this.isNumbers ? [] : this.curve("error", "error")),
      this.marker,
    );
    this.slider = element("input", {
      type: "range",
      min: "0",
      max: String(this.last),
      value: String(this.last),
      className: "bosc-slider",
      "aria-label": "Number of splits",
    });
    this.slider.addEventListener("input", () => this.choose(Number(this.slider.value)));
    this.words = element("p", { className: "bosc-note" });
    const note = element(
      "p",
      { className: "bosc-note" },
      `${this.isNumbers ? "Impurity" : "Potential: impurity"} of the leaves, averaged by training weight.`,
    );
    this.element = panel("trajectory", "Growth", [], this.chart, this.slider, this.words, note);
  }

  x(step) {
    return CHART.left + ((CHART.width - CHART.left - CHART.right) * step) / this.last;
  }

  y(amount) {
    return CHART.height - CHART.bottom - (CHART.height - CHART.top - CHART.bottom) * (amount / this.top);
  }

  axes() {
    const parts = [];
    for (const amount of niceTicks(0, this.top, 4)) {
      parts.push(
        drawn("line", {
          x1: CHART.left,
          x2: CHART.width - CHART.right,
          y1: this.y(amount),
          y2: this.y(amount),
          class: "bosc-grid",
        }),
      );
      parts.push(
        drawn("text", { x: CHART.left - 6, y: this.y(amount) + 3.5, "text-anchor": "end" }, formatNumber(amount)),
      );
    }
    for (const step of niceTicks(0, this.last, 5).filter(Number.isInteger)) {
      parts.push(drawn("text", { x: this.x(step), y: CHART.height - 8, "text-anchor": "middle" }, formatCount(step)));
    }
    return parts;
  }

  curve(name, word) {
    const amounts = this.steps[name];
    const points = Array.from(amounts, (amount, step) => `${this.x(step).toFixed(1)},${this.y(amount).toFixed(1)}`);
    const end = { x: CHART.width - CHART.right + 6, y: this.labelPlace(name) };
    return [
      drawn("polyline", { points: points.join(" "), class: `bosc-curve bosc-${name}` }),
      drawn("text", { ...end, class: `bosc-${name}` }, word),
    ];
  }

  // The words at the ends of the curves keep clear of each other.
  labelPlace(name) {
    const [potential, error] = [this.y(this.steps.potential[this.last]), this.y(this.steps.error[this.last])];
    const middle = (potential + error) / 2;
    const apart = Math.max(14, Math.abs(potential - error)) / 2;
    const isUpper = (name === "potential") === potential <= error;
    return Math.min(middle, CHART.height - CHART.bottom - 8) + (isUpper ? -apart : apart) + 4;
  }

  choose(step) {
    this.moveTo(step);
    if (step > 0) this.state.chooseNode(this.steps.node[step]);
  }

  followNode() {
    const step = this.steps.node.indexOf(this.state.node);
    if (step > 0) this.moveTo(step);
  }

  moveTo(step) {
    this.slider.value = String(step);
    const [x, potential, error] = [this.x(step), this.steps.potential[step], this.steps.error[step]];
    this.marker.replaceChildren(
      drawn("line", { x1: x, x2: x, y1: CHART.top, y2: CHART.height - CHART.bottom }),
      drawn("circle", { cx: x, cy: this.y(potential), r: 4, class: "bosc-potential" }),
      ...(this.isNumbers ? [] : [drawn("circle", { cx: x, cy: this.y(error), r: 4, class: "bosc-error" })]),
    );
    const node = step > 0 ? ` (node ${formatCount(this.steps.node[step])})` : "";
    const count = `${formatCount(step)} ${step === 1 ? "split" : "splits"}`;
    const errorWords = this.isNumbers ? "" : `, training error ${formatNumber(error)}`;
    const amounts = `${this.word} ${formatNumber(potential)}${errorWords}`;
    this.words.textContent = `After ${count}${node}: ${amounts}.`;
    this.slider.setAttribute("aria-valuetext", this.words.textContent);
  }
}

// A few round numbers between two bounds.
function niceTicks(low, high, count) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const power = 10 ** Math.floor(Math.log10(span / count));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((width) => span / width <= count);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * span; i += 1)
    ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}
