// Where nodes stand. Two ways: a diagram from left to right with one line for each open leaf, and an outline with one
// line for each node, for narrow screens.

const DIAGRAM = { card: 196, step: 252, gap: 12 };
const OUTLINE = { step: 14, gap: 8, most: 18 };

// Nodes that show, parents before children, top to bottom.
function visibleNodes(tree, open) {
  const order = [];
  const stack = [0];
  while (stack.length) {
    const node = stack.pop();
    order.push(node);
    if (open[node]) stack.push(tree.children_right[node], tree.children_left[node]);
  }
  return order;
}

function diagramPlaces(tree, open, order, cardHeight) {
  const line = cardHeight + DIAGRAM.gap;
  const y = new Map();
  let lines = 0;
  for (const node of order) if (!open[node]) y.set(node, lines++ * line);
  for (const node of [...order].reverse()) {
    if (open[node]) y.set(node, (y.get(tree.children_left[node]) + y.get(tree.children_right[node])) / 2);
  }
  const deepest = order.reduce((most, node) => Math.max(most, tree.depth[node]), 0);
  return {
    width: deepest * DIAGRAM.step + DIAGRAM.card,
    height: lines * line,
    place: (node) => ({ x: tree.depth[node] * DIAGRAM.step, y: y.get(node), width: DIAGRAM.card }),
  };
}

function outlinePlaces(tree, order, cardHeight, room) {
  const line = cardHeight + OUTLINE.gap;
  const index = new Map(order.map((node, i) => [node, i]));
  const indent = (node) => Math.min(tree.depth[node], OUTLINE.most) * OUTLINE.step;
  const width = Math.max(room, OUTLINE.most * OUTLINE.step * (tree.height > OUTLINE.most ? 1 : 0) + 200);
  return {
    width,
    height: order.length * line,
    place: (node) => ({ x: indent(node), y: index.get(node) * line, width: width - indent(node) }),
  };
}

// A few branches to begin with: the heaviest nodes are opened until so many leaves show.
function openHeaviest(tree, leaves) {
  const open = new Uint8Array(tree.size);
  const ready = isLeaf(tree, 0) ? [] : [0];
  for (let shown = 1; shown < leaves && ready.length; shown += 1) {
    ready.sort((a, b) => tree.weighted_n_node_samples[a] - tree.weighted_n_node_samples[b]);
    const node = ready.pop();
    open[node] = 1;
    ready.push(...childrenOf(tree, node).filter((child) => !isLeaf(tree, child)));
  }
  return open;
}
