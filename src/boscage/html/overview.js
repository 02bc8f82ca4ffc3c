// The whole tree in one strip: each node as wide as its training weight, in the colour of its class. Where the tree
// view shows a part, this shows where that part is. The pointer chooses nodes; the keyboard has the tree itself.

const OVERVIEW_HEIGHT = 84;

class Overview {
  constructor(state) {
    this.state = state;
    this.tree = state.tree;
    const label = `All ${formatCount(this.tree.size)} nodes, as wide as their training weight`;
    this.canvas = element("canvas", { className: "bosc-overview", role: "img", "aria-label": label, title: label });
    this.canvas.addEventListener("click", (event) => this.choose(event));
    this.element = this.canvas;
    this.spans = this.shareSpans();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    state.watch(() => this.draw());
  }

  // Where each node begins and ends, in shares of the whole width.
  shareSpans() {
    const { tree } = this;
    const begin = new Float64Array(tree.size);
    const end = new Float64Array(tree.size);
    end[0] = 1;
    for (let node = 0; node < tree.size; node += 1) {
      if (isLeaf(tree, node)) continue;
      const [left, right] = childrenOf(tree, node);
      const [a, b] = [tree.weighted_n_node_samples[left], tree.weighted_n_node_samples[right]];
      const middle = begin[node] + (end[node] - begin[node]) * (a + b > 0 ? a / (a + b) : 0.5);
      [begin[left], end[left], begin[right], end[right]] = [begin[node], middle, middle, end[node]];
    }
    return { begin, end };
  }

  get levelHeight() {
    return OVERVIEW_HEIGHT / (this.tree.height + 1);
  }

  draw() {
    const width = this.canvas.clientWidth;
    if (!width) return;
    const context = sharpen(this.canvas, width, OVERVIEW_HEIGHT);
    const gap = this.levelHeight > 4 ? 1 : 0;
    for (let node = 0; node < this.tree.size; node += 1) {
      const [x, y, w, h] = this.box(node, width, gap);
      const [color, strength] = shadeOf(this.tree, shownValues(this.tree, node));
      context.globalAlpha = 0.2 + 0.75 * strength;
      context.fillStyle = color;
      context.fillRect(x, y, w, h);
    }
    this.drawMarks(context, width, gap);
  }

  // A line down to the leaf of the row, a frame around the chosen node.
  drawMarks(context, width, gap) {
    const [left, , breadth] = this.box(this.state.found.leaf, width, gap);
    const [x, y, w, h] = this.box(this.state.node, width, gap);
    context.globalAlpha = 1;
    context.fillStyle = context.strokeStyle = themeColor(this.canvas, "ink");
    context.fillRect(Math.round(left + breadth / 2) - 1, 0, 2, OVERVIEW_HEIGHT);
    context.lineWidth = 1.5;
    context.strokeRect(x + 0.75, y + 0.75, Math.max(w - 1.5, 1), Math.max(h - 1.5, 1));
  }

  box(node, width, gap) {
    const [begin, end] = [this.spans.begin[node] * width, this.spans.end[node] * width];
    const room = end - begin > 3 ? gap : 0;
    // A leaf reaches down to the bottom, so the strip has no holes.
    const levels = isLeaf(this.tree, node) ? this.tree.height + 1 - this.tree.depth[node] : 1;
    const height = levels * this.levelHeight - gap;
    return [begin, this.tree.depth[node] * this.levelHeight, Math.max(end - begin - room, 0.5), height];
  }

  choose(event) {
    const share = event.offsetX / this.canvas.clientWidth;
    const level = Math.floor(event.offsetY / this.levelHeight);
    let node = 0;
    while (!isLeaf(this.tree, node) && this.tree.depth[node] < level) {
      const [left, right] = childrenOf(this.tree, node);
      node = share < this.spans.end[left] ? left : right;
    }
    this.state.chooseNode(node);
  }
}

// How far the leading class is ahead of an even mixture: 0 to 1.
function leadOf(values) {
  if (values.length === 1) return 1;
  const even = 1 / values.length;
  return Math.max(0, (values[argmax(values)] - even) / (1 - even));
}
