// The tree itself: cards and flows, only those in sight are on the page. An ARIA tree: arrows move, Enter chooses.

const FIRST_LEAVES = 10;
const ONE_LINE = 26; // letters
const MARGIN = 20;
const BEYOND = 300; // pixels drawn outside of what is in sight
const WIDEST_FLOW = { diagram: 26, outline: 9 };

class TreeView {
  constructor(state) {
    this.state = state;
    this.tree = state.tree;
    this.open = openHeaviest(this.tree, FIRST_LEAVES);
    this.cards = new Map();
    this.active = 0; // the card that Tab reaches
    this.mode = null; // "diagram" or "outline"; null: what fits the width
    this.flow = this.tree.soft ? "row" : "training";
    this.lines = Math.max(1, ...this.tree.tests.map(cardLines));
    this.cardHeight = 32 + 16 * this.lines;
    this.build();
    state.watch((what) => this.follow(what));
  }

  build() {
    this.links = drawn("svg", { class: "bosc-links", "aria-hidden": "true" });
    this.field = element("div", { className: "bosc-field", role: "tree", "aria-label": "Decision tree" });
    this.field.addEventListener("keydown", (event) => this.onKey(event));
    this.sheet = element("div", { className: "bosc-sheet" }, this.links, this.field);
    this.scroller = element("div", { className: "bosc-scroller" }, this.sheet);
    this.scroller.addEventListener("scroll", () => this.drawSoon(), { passive: true });
    this.element = panel("tree", "Tree", [this.tools()], this.scroller, ...this.notes(), this.help());
    this.element.style.setProperty("--bosc-card-height", `${this.cardHeight}px`);
    this.element.style.setProperty("--bosc-subject-lines", String(this.tree.soft ? this.lines : Math.max(1, this.lines - 1)));
    this.element.classList.toggle("bosc-more-lines", this.lines > 1);
    new ResizeObserver(() => this.arrange()).observe(this.scroller);
  }

  tools() {
    const bar = element("div", { className: "bosc-tools", role: "toolbar", "aria-label": "Tree" });
    if (this.tree.soft) {
      const words = ["Flow of this row", "Flow of training weight"];
      bar.append(select("Width of the flows", words, 0, (i) => this.setFlow(i === 0 ? "row" : "training")));
    }
    this.modeButton = button("Outline", "Show as an outline", () => this.switchMode());
    bar.append(this.modeButton);
    if (this.tree.size > 1) {
      bar.append(button("Row's path", "Show only the path of the row", () => this.showPathOnly()));
      bar.append(button("Open all", "Open all branches", () => this.openAll(true)));
      bar.append(button("Close all", "Close all branches", () => this.openAll(false)));
    }
    return bar;
  }

  // What code(…) and z(…) in the tests stand for.
  notes() {
    const lines = this.tree.notes.map((text) => element("p", { className: "bosc-note" }, text));
    return lines.length ? [element("div", { className: "bosc-notes" }, ...lines)] : [];
  }

  help() {
    const keys = "Arrow keys move, → opens, ← closes, * opens everything below, Enter chooses a node.";
    return element("p", { className: "bosc-note" }, keys);
  }

  // Reaction to the rest of the page.
  follow(what) {
    if (what === "row") {
      this.reveal(this.state.found.leaf);
    } else if (what === "node") {
      this.reveal(this.state.node);
      this.setActive(this.state.node);
      this.scrollTo(this.state.node);
    }
    this.draw();
  }

  setFlow(flow) {
    this.flow = flow;
    this.draw();
  }

  switchMode() {
    this.mode = this.shownMode === "diagram" ? "outline" : "diagram";
    this.arrange();
    this.scrollTo(this.active);
  }

  openAll(isOpen) {
    for (let node = 0; node < this.tree.size; node += 1) this.open[node] = isOpen && !isLeaf(this.tree, node) ? 1 : 0;
    if (!isOpen) this.setActive(0);
    this.rearrange(this.active);
  }

  openBelow(node) {
    const last = [node];
    while (last.length) {
      const next = last.pop();
      if (isLeaf(this.tree, next)) continue;
      this.open[next] = 1;
      last.push(...childrenOf(this.tree, next));
    }
    this.rearrange(node);
  }

  showPathOnly() {
    this.open.fill(0);
    this.reveal(this.state.found.leaf);
    this.setActive(this.state.found.leaf);
    this.arrange();
    this.scrollTo(this.active);
  }

  // Opens every branch above a node.
  reveal(node) {
    let changed = false;
    for (let up = this.tree.parent[node]; up >= 0; up = this.tree.parent[up]) {
      changed = changed || !this.open[up];
      this.open[up] = 1;
    }
    if (changed) this.rearrange(this.active);
  }

  toggle(node) {
    this.open[node] = this.open[node] ? 0 : 1;
    for (let up = this.active; up >= 0; up = this.tree.parent[up]) {
      if (up === node) this.setActive(node); // the active card must not vanish with its branch
    }
    this.rearrange(node);
  }

  // Cards find new places while one of them stays where the reader sees it.
  rearrange(fixed) {
    const isShown = this.places && this.order.includes(fixed);
    const before = isShown ? this.places.place(fixed).y : 0;
    this.arrange();
    if (!isShown || !this.order.includes(fixed)) return;
    this.scroller.scrollTop += this.places.place(fixed).y - before;
    this.draw();
  }

  arrange() {
    const room = this.scroller.clientWidth - 2 * MARGIN;
    if (room <= 0) return;
    this.shownMode = this.mode || (room < 560 ? "outline" : "diagram");
    const isDiagram = this.shownMode === "diagram";
    this.modeButton.textContent = isDiagram ? "Outline" : "Diagram";
    setProperty(this.modeButton, "aria-label", isDiagram ? "Show as an outline" : "Show as a diagram");
    this.modeButton.title = this.modeButton.getAttribute("aria-label");
    this.element.dataset.mode = this.shownMode;
    this.order = visibleNodes(this.tree, this.open);
    this.places = isDiagram
      ? diagramPlaces(this.tree, this.open, this.order, this.cardHeight)
      : outlinePlaces(this.tree, this.order, this.cardHeight, room);
    this.sheet.style.width = `${this.places.width + 2 * MARGIN}px`;
    this.sheet.style.height = `${this.places.height + 2 * MARGIN}px`;
    this.draw();
  }

  drawSoon() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.waiting);
    this.waiting = 0;
    if (!this.places) return;
    const top = this.scroller.scrollTop - BEYOND;
    const bottom = this.scroller.scrollTop + this.scroller.clientHeight + BEYOND;
    const wanted = new Set([this.active]);
    for (const node of this.order) {
      const { y } = this.places.place(node);
      if (y + this.cardHeight + MARGIN >= top && y <= bottom) wanted.add(node);
    }
    for (const [node, card] of this.cards) if (!wanted.has(node)) this.drop(node, card);
    // From the last to the first: each card goes in front of the one that follows it, so that the page is read in
    // the order in which it is seen.
    let next = null;
    for (const node of this.order.filter((each) => wanted.has(each)).reverse()) next = this.drawCard(node, next);
    this.drawLinks(top, bottom);
  }

  drop(node, card) {
    card.remove();
    this.cards.delete(node);
  }

  drawCard(node, next) {
    const card = this.cards.get(node) || this.makeCard(node, next);
    const { x, y, width } = this.places.place(node);
    card.style.transform = `translate(${x + MARGIN}px, ${y + MARGIN}px)`;
    card.style.width = `${width}px`;
    card.tabIndex = node === this.active ? 0 : -1;
    card.setAttribute("aria-selected", String(node === this.state.node));
    card.classList.toggle("bosc-on-path", this.isOnPath(node));
    if (isLeaf(this.tree, node)) return card;
    card.setAttribute("aria-expanded", String(Boolean(this.open[node])));
    card.lastChild.textContent = this.open[node] ? "‹" : `+${formatCount(this.tree.below[node])}`;
    return card;
  }

  makeCard(node, next) {
    const { tree } = this;
    const kind = isLeaf(tree, node) ? "bosc-card bosc-leaf" : "bosc-card";
    const parent = tree.parent[node];
    const card = element("div", {
      className: kind,
      role: "treeitem",
      title: isLeaf(tree, node) ? "" : wholeTest(tree, node),
    });
    const place = {
      level: tree.depth[node] + 1,
      setsize: parent < 0 ? 1 : 2,
      posinset: sidePosition(tree, node),
      label: nodeWords(tree, node),
    };
    for (const [name, value] of Object.entries(place)) card.setAttribute(`aria-${name}`, value);
    card.append(this.cardText(node), this.cardShares(node));
    if (!isLeaf(tree, node)) card.append(this.opener(node));
    card.addEventListener("click", () => this.choose(node));
    card.addEventListener("dblclick", () => !isLeaf(tree, node) && this.toggle(node));
    this.cards.set(node, card);
    this.field.insertBefore(card, next);
    return card;
  }

  cardText(node) {
    const text = element("span", { className: "bosc-card-text" });
    if (isLeaf(this.tree, node)) {
      const mark = element("span", { className: "bosc-mark" });
      [mark.style.background] = shadeOf(this.tree, shownValues(this.tree, node));
      text.append(mark, element("span", { className: "bosc-subject" }, nodeTitle(this.tree, node)));
    } else {
      // A name may be cut; what it is compared with may not.
      const { card, if: relation } = testParts(this.tree, node);
      text.append(element("span", { className: "bosc-subject" }, card));
      if (relation) text.append(" ", element("span", { className: "bosc-relation" }, relation));
    }
    return text;
  }

  cardShares(node) {
    const { tree } = this;
    const side = sideWord(tree, node);
    // Every row can reach every node of a soft tree, so there its weight says more.
    const size = tree.soft ? formatNumber(tree.weighted_n_node_samples[node]) : formatCount(tree.n_node_samples[node]);
    const bar = mixtureBar(tree, shownValues(tree, node));
    const count = element("span", { className: "bosc-count" }, size);
    return element(
      "span",
      { className: "bosc-card-shares" },
      side && element("span", { className: "bosc-side" }, side),
      bar,
      count,
    );
  }

  // For the pointer alone: with the keyboard the card itself opens and closes.
  opener(node) {
    const turn = (event) => {
      event.stopPropagation();
      this.toggle(node);
    };
    return element("span", {
      className: "bosc-opener",
      "aria-hidden": "true",
      onclick: turn,
      ondblclick: (event) => event.stopPropagation(),
    });
  }

  isOnPath(node) {
    return this.state.found.onPath.has(node);
  }

  flowShare(node) {
    if (this.flow === "row") return this.state.found.reach[node];
    return this.tree.weighted_n_node_samples[node] / (this.tree.weighted_n_node_samples[0] || 1);
  }

  drawLinks(top, bottom) {
    const paths = [];
    for (const node of this.order) {
      if (!this.open[node]) continue;
      const from = this.places.place(node);
      for (const child of childrenOf(this.tree, node)) {
        const to = this.places.place(child);
        if (Math.max(from.y, to.y) + this.cardHeight < top || Math.min(from.y, to.y) > bottom) continue;
        paths.push(this.link(node, child, from, to));
      }
    }
    paths.sort((a, b) => a.classList.contains("bosc-on-path") - b.classList.contains("bosc-on-path"));
    this.links.replaceChildren(...paths);
  }

  link(node, child, from, to) {
    const widest = WIDEST_FLOW[this.shownMode];
    const share = this.flowShare(child);
    const width = Math.max(share * widest, share > 0 ? 1.25 : 0.75);
    const d = this.shownMode === "diagram" ? this.curve(node, child, from, to, widest) : this.elbow(from, to);
    const isSoft = this.tree.soft && this.flow === "row";
    const kind = isSoft || (!this.tree.soft && this.isOnPath(child)) ? "bosc-link bosc-on-path" : "bosc-link";
    const path = drawn("path", { d, class: kind, "stroke-width": width.toFixed(2) });
    if (isSoft) path.style.strokeOpacity = String(0.12 + 0.6 * Math.sqrt(share));
    return path;
  }

  // The two flows leave their parent side by side.
  curve(node, child, from, to, widest) {
    const [left, right] = childrenOf(this.tree, node).map((each) => this.flowShare(each) * widest);
    const shift = child === this.tree.children_left[node] ? -right / 2 : left / 2;
    const half = this.cardHeight / 2 + MARGIN;
    const [x1, y1, x2, y2] = [from.x + from.width + MARGIN, from.y + half + shift, to.x + MARGIN, to.y + half];
    const middle = (x1 + x2) / 2;
    return `M${x1},${y1}C${middle},${y1} ${middle},${y2} ${x2},${y2}`;
  }

  elbow(from, to) {
    const x = from.x + MARGIN + 6;
    const y = to.y + this.cardHeight / 2 + MARGIN;
    return `M${x},${from.y + this.cardHeight + MARGIN}V${y}H${to.x + MARGIN}`;
  }

  setActive(node) {
    this.active = node;
  }

  choose(node) {
    this.setActive(node);
    this.state.chooseNode(node);
    this.draw();
    this.cards.get(node).focus({ preventScroll: true });
  }

  scrollTo(node) {
    if (!this.places) return;
    const { x, y, width } = this.places.place(node);
    const { scrollTop, scrollLeft, clientHeight, clientWidth } = this.scroller;
    const bottom = y + this.cardHeight + 2 * MARGIN;
    const right = x + width + 2 * MARGIN;
    if (y < scrollTop || bottom > scrollTop + clientHeight) this.scroller.scrollTop = (y + bottom - clientHeight) / 2;
    if (x < scrollLeft || right > scrollLeft + clientWidth) this.scroller.scrollLeft = Math.max(0, right - clientWidth);
    this.draw();
  }

  moveTo(node) {
    this.setActive(node);
    this.scrollTo(node);
    this.draw();
    this.cards.get(node).focus({ preventScroll: true });
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = this.keyAction(event.key);
    if (!action) return;
    event.preventDefault();
    action();
  }

  keyAction(key) {
    const at = this.order.indexOf(this.active);
    const step = (to) => () => this.moveTo(this.order[Math.min(Math.max(to, 0), this.order.length - 1)]);
    const actions = {
      ArrowDown: step(at + 1),
      ArrowUp: step(at - 1),
      Home: step(0),
      End: step(this.order.length - 1),
      PageDown: step(at + 10),
      PageUp: step(at - 10),
      ArrowRight: () => this.inwards(),
      ArrowLeft: () => this.outwards(),
      Enter: () => this.choose(this.active),
      " ": () => this.choose(this.active),
      "*": () => this.openBelow(this.active),
    };
    return actions[key];
  }

  inwards() {
    if (isLeaf(this.tree, this.active)) return;
    if (this.open[this.active]) this.moveTo(this.tree.children_left[this.active]);
    else this.toggle(this.active);
  }

  outwards() {
    if (this.open[this.active]) this.toggle(this.active);
    else if (this.active > 0) this.moveTo(this.tree.parent[this.active]);
  }
}

// Lines of text on a card: the name or score on one or two, what it is compared with beside it or below.
function cardLines({ card, if: relation }) {
  if (card.length > ONE_LINE) return relation ? 3 : 2;
  return `${card} ${relation}`.length > ONE_LINE ? 2 : 1;
}

function sidePosition(tree, node) {
  const parent = tree.parent[node];
  return parent >= 0 && tree.children_right[parent] === node ? 2 : 1;
}
