// Decision regions of two columns, the other values those of the row. Drawn coarsely at once, then finely in pieces
// so that the page never waits.

const REGION = { height: 300, left: 52, right: 10, top: 10, bottom: 30, coarse: 24, fine: 150 };
const MILLISECONDS = { coarse: 60, fine: 4000, slice: 8 };

class Regions {
  constructor(state) {
    this.state = state;
    this.tree = state.tree;
    [this.across, this.up] = fieldOrder(this.tree);
    this.job = 0;
    this.parts = new Map();
    this.build();
    state.watch((what) => what === "row" && this.start());
  }

  build() {
    const listed = fieldOrder(this.tree)
      .slice(0, MOST_COLUMNS)
      .sort((a, b) => a - b);
    const names = listed.map((column) => this.tree.columns[column].name);
    const pick = (axis, label) =>
      select(label, names, listed.indexOf(this[axis]), (i) => this.setAxis(axis, listed[i]));
    const bar = element(
      "div",
      { className: "bosc-axes" },
      pick("across", "Column across"),
      element("span", {}, "×"),
      pick("up", "Column upwards"),
    );
    this.canvas = element("canvas", { className: "bosc-regions-canvas", role: "img" });
    this.canvas.addEventListener("click", (event) => this.choose(event));
    const note = "The other columns keep the values of the row. Click to move the row.";
    this.element = panel("regions", "Regions", [], bar, this.canvas, element("p", { className: "bosc-note" }, note));
    new ResizeObserver(() => this.start()).observe(this.canvas);
  }

  setAxis(axis, column) {
    this[axis] = column;
    this.start();
  }

  // Bounds of a column, with the row inside.
  bounds(column) {
    const { categories, low, high } = this.tree.columns[column];
    if (categories) return [-0.5, categories.length - 0.5];
    const x = this.state.x[column];
    const [least, most] = Number.isNaN(x) ? [low, high] : [Math.min(low, x), Math.max(high, x)];
    const pad = 0.04 * (most - least) || 0.5;
    return [least - pad, most + pad];
  }

  start() {
    const width = this.canvas.clientWidth;
    if (!width) return;
    cancelAnimationFrame(this.job);
    this.width = width;
    this.context = sharpen(this.canvas, width, REGION.height);
    this.spans = [this.bounds(this.across), this.bounds(this.up)];
    this.paper = rgbOf(themeColor(this.canvas, "panel"));
    this.canvas.setAttribute(
      "aria-label",
      `Predicted ${this.tree.numbers ? "numbers" : "classes"} over ${this.tree.columns[this.across].name} and ` +
        this.tree.columns[this.up].name,
    );
    this.grids = this.affordable().map(emptyGrid);
    this.paint(this.grids[0], 0, this.grids[0].size);
    this.draw(0);
    this.job = requestAnimationFrame(() => this.refine(0));
  }

  // Sizes of the two grids: smaller where a prediction takes long, as with very many columns.
  affordable() {
    let cost = Infinity; // of one prediction; the first few are slow because they are new to the browser
    for (let i = 0; i < 5; i += 1) {
      const begin = performance.now();
      predictProba(this.tree, this.state.x);
      cost = Math.min(cost, Math.max(performance.now() - begin, 1e-3));
    }
    const size = (name) => Math.max(4, Math.min(REGION[name], Math.floor(Math.sqrt(MILLISECONDS[name] / cost))));
    return [size("coarse"), size("fine")];
  }

  refine(line) {
    const until = performance.now() + MILLISECONDS.slice;
    const [, { size }] = this.grids;
    while (line < size && performance.now() < until) {
      this.paint(this.grids[1], line, line + 1);
      line += 1;
    }
    this.draw(line);
    if (line < size) this.job = requestAnimationFrame(() => this.refine(line));
  }

  get area() {
    return {
      x: REGION.left,
      y: REGION.top,
      width: this.width - REGION.left - REGION.right,
      height: REGION.height - REGION.top - REGION.bottom,
    };
  }

  // Lines first to last of a grid: one pixel for each prediction.
  paint({ size, context }, first, last) {
    const x = Float64Array.from(this.state.x);
    const image = context.createImageData(size, last - first);
    for (let i = first; i < last; i += 1) {
      x[this.up] = this.valueAt(1, 1 - (i + 0.5) / size);
      for (let j = 0; j < size; j += 1) {
        x[this.across] = this.valueAt(0, (j + 0.5) / size);
        image.data.set(this.colorOf(predictProba(this.tree, x)), 4 * ((i - first) * size + j));
      }
    }
    context.putImageData(image, 0, first);
  }

  // The coarse grid, over it the lines of the fine one that are ready.
  draw(lines) {
    const { area, context } = this;
    const [coarse, fine] = this.grids;
    context.clearRect(0, 0, this.width, REGION.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(coarse.canvas, area.x, area.y, area.width, area.height);
    const height = (area.height * lines) / fine.size;
    if (lines) context.drawImage(fine.canvas, 0, 0, fine.size, lines, area.x, area.y, area.width, height);
    this.drawFrame();
  }

  valueAt(axis, share) {
    const [low, high] = this.spans[axis];
    const value = low + share * (high - low);
    const column = axis === 0 ? this.across : this.up;
    if (categoryCount(this.tree, column)) return Math.round(value);
    return this.tree.float32 ? Math.fround(value) : value;
  }

  colorOf(proba) {
    if (Number.isNaN(proba[0])) return [...this.paper, 255];
    const [color, lead] = shadeOf(this.tree, proba);
    const strength = 0.14 + 0.66 * lead;
    return [...this.rgb(color).map((part, i) => part * strength + this.paper[i] * (1 - strength)), 255];
  }

  // Parts of a colour, remembered: there is one prediction for each pixel.
  rgb(color) {
    if (!this.parts.has(color)) this.parts.set(color, rgbOf(color));
    return this.parts.get(color);
  }

  // The colour of an embedded row: that of its class, or by its number.
  rowColor(label) {
    const { numbers, classes, colors } = this.tree;
    if (label === null) return themeColor(this.canvas, "muted");
    if (!numbers) return classes.includes(label) ? colors[classes.indexOf(label)] : themeColor(this.canvas, "muted");
    const [color, share] = shadeOf(this.tree, [Number(label)]);
    const parts = this.rgb(color).map((part, i) => Math.round(part * share + this.paper[i] * (1 - share)));
    return `rgb(${parts.join(" ")})`;
  }

  place(x, y) {
    const { area, spans } = this;
    const share = (value, [low, high]) => (value - low) / (high - low);
    return [area.x + share(x, spans[0]) * area.width, area.y + (1 - share(y, spans[1])) * area.height];
  }

  drawFrame() {
    this.drawAxis(0, this.across);
    this.drawAxis(1, this.up);
    if (this.tree.rows) this.drawRows();
    this.drawCross();
  }

  drawAxis(axis, column) {
    const { context, area } = this;
    const { categories } = this.tree.columns[column];
    const ticks = categories
      ? categoryTicks(categories)
      : niceTicks(...this.spans[axis], 5).map((value) => [value, formatNumber(value)]);
    context.fillStyle = themeColor(this.canvas, "muted");
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = axis === 0 ? "top" : "middle";
    context.textAlign = axis === 0 ? "center" : "right";
    for (const [value, text] of ticks) {
      const [x, y] = axis === 0 ? this.place(value, this.spans[1][0]) : this.place(this.spans[0][0], value);
      context.fillText(shorten(text, 7), axis === 0 ? x : area.x - 6, axis === 0 ? area.y + area.height + 6 : y);
    }
  }

  drawRows() {
    const { rows } = this.tree;
    const { context } = this;
    for (let i = 0; i < rows.numbers.length; i += 1) {
      const row = matrixRow(rows.values, i);
      const [x, y] = this.place(row[this.across], row[this.up]);
      if (Number.isNaN(x + y)) continue;
      context.beginPath();
      context.arc(x, y, 2.6, 0, 2 * Math.PI);
      context.fillStyle = this.rowColor(rows.labels ? rows.labels[i] : null);
      context.fill();
      context.lineWidth = 1;
      context.strokeStyle = themeColor(this.canvas, "panel");
      context.stroke();
    }
  }

  drawCross() {
    const [x, y] = this.place(this.state.x[this.across], this.state.x[this.up]);
    if (Number.isNaN(x + y)) return;
    const { context } = this;
    for (const [color, width] of [
      ["panel", 4],
      ["ink", 2],
    ]) {
      context.beginPath();
      context.arc(x, y, 7, 0, 2 * Math.PI);
      context.strokeStyle = themeColor(this.canvas, color);
      context.lineWidth = width;
      context.stroke();
    }
  }

  choose(event) {
    const { area } = this;
    const across = (event.offsetX - area.x) / area.width;
    const up = 1 - (event.offsetY - area.y) / area.height;
    if (across < 0 || across > 1 || up < 0 || up > 1) return;
    this.state.change([
      [this.across, tidy(this.valueAt(0, across), this.spans[0])],
      [this.up, tidy(this.valueAt(1, up), this.spans[1])],
    ]);
  }
}

function emptyGrid(size) {
  const canvas = element("canvas", { width: size, height: size });
  return { size, canvas, context: canvas.getContext("2d") };
}

// A clicked value with no more digits than the pointer can tell apart.
function tidy(value, [low, high]) {
  const digits = Math.max(0, 3 - Math.floor(Math.log10(high - low)));
  return Number(value.toFixed(Math.min(digits, 100)));
}

function categoryTicks(categories) {
  const every = Math.ceil(categories.length / 8);
  return categories.map((name, code) => [code, name]).filter(([code]) => code % every === 0);
}

function shorten(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function rgbOf(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}
