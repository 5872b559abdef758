// Places a directed graph in layers, as Sugiyama does: callers above callees, few crossings.

/** `boxes`: [{width, height}], `links`: [{from, to}] by index. Answers `{places, paths, width, height}`: each box' middle, and for each link the points it passes. */
export function layered(boxes, links, { gapX = 28, gapY = 46 } = {}) {
  const forward = withoutCycles(boxes.length, links);
  const rank = ranks(boxes.length, forward);
  const { layers, chains, sizes } = withBends(boxes, forward, rank);
  order(layers, chains);
  const x = columns(layers, chains, sizes, gapX);
  const heights = layers.map((layer) => Math.max(...layer.map((n) => sizes[n].height), 0));
  const tops = [];
  heights.reduce((top, height, n) => (tops[n] = top) + height + gapY, 0);
  const yOf = (n, layer) => tops[layer] + heights[layer] / 2;
  const layerOf = [];
  layers.forEach((layer, n) => layer.forEach((node) => (layerOf[node] = n)));
  const left = Math.min(...x.map((at, n) => at - sizes[n].width / 2));
  const right = Math.max(...x.map((at, n) => at + sizes[n].width / 2));
  const places = boxes.map((_, n) => ({ x: x[n] - left, y: yOf(n, layerOf[n]) }));
  const paths = chains.map(({ nodes, reversed }) => {
    const points = nodes.map((n) => ({ x: x[n] - left, y: yOf(n, layerOf[n]) }));
    return reversed ? points.reverse() : points;
  });
  return { places, paths, width: right - left, height: tops.at(-1) + heights.at(-1) };
}

/** Links that close a cycle are turned around; a node's links to itself have no layer. */
function withoutCycles(count, links) {
  const outgoing = Array.from({ length: count }, () => []);
  links.forEach(({ from, to }, index) => from !== to && outgoing[from].push({ to, index }));
  const state = new Uint8Array(count);
  const back = new Set();
  for (let root = 0; root < count; root++) {
    if (state[root]) continue;
    const path = [{ node: root, next: 0 }];
    state[root] = 1;
    while (path.length > 0) {
      const top = path.at(-1);
      const link = outgoing[top.node][top.next++];
      if (!link) {
        state[top.node] = 2;
        path.pop();
      } else if (state[link.to] === 1) back.add(link.index);
      else if (state[link.to] === 0) {
        state[link.to] = 1;
        path.push({ node: link.to, next: 0 });
      }
    }
  }
  return links.map(({ from, to }, index) => (back.has(index) ? { from: to, to: from, reversed: true } : { from, to, reversed: false }));
}

/** The longest way from a node that nobody calls. */
function ranks(count, links) {
  const rank = new Array(count).fill(0);
  const waiting = new Array(count).fill(0);
  const outgoing = Array.from({ length: count }, () => []);
  for (const { from, to } of links) {
    if (from === to) continue;
    outgoing[from].push(to);
    waiting[to]++;
  }
  const ready = waiting.flatMap((waits, node) => (waits === 0 ? [node] : []));
  for (let n = 0; n < ready.length; n++) {
    for (const to of outgoing[ready[n]]) {
      rank[to] = Math.max(rank[to], rank[ready[n]] + 1);
      if (--waiting[to] === 0) ready.push(to);
    }
  }
  return rank;
}

/** Links over several layers get a bend in each, which takes its place like a narrow box. */
function withBends(boxes, links, rank) {
  const layers = Array.from({ length: Math.max(0, ...rank) + 1 }, () => []);
  boxes.forEach((_, n) => layers[rank[n]].push(n));
  const sizes = [...boxes];
  const chains = links.map(({ from, to, reversed }) => {
    const nodes = [from];
    for (let layer = rank[from] + 1; layer < rank[to]; layer++) {
      sizes.push({ width: 14, height: 0 });
      layers[layer].push(sizes.length - 1);
      nodes.push(sizes.length - 1);
    }
    return { nodes: [...nodes, to], reversed };
  });
  return { layers, chains, sizes };
}

function neighbours(chains) {
  const above = new Map();
  const below = new Map();
  const add = (map, key, value) => map.has(key) ? map.get(key).push(value) : map.set(key, [value]);
  for (const { nodes } of chains) {
    for (let n = 1; n < nodes.length; n++) {
      if (nodes[n - 1] === nodes[n]) continue;
      add(above, nodes[n], nodes[n - 1]);
      add(below, nodes[n - 1], nodes[n]);
    }
  }
  return { above, below };
}

/** Sweeps down and up: each node goes to the mean of its neighbours. */
function order(layers, chains) {
  const { above, below } = neighbours(chains);
  const place = [];
  const number = (layer) => layer.forEach((node, n) => (place[node] = n / Math.max(1, layer.length - 1)));
  layers.forEach(number);
  const mean = (node, map) => {
    const others = map.get(node);
    return others ? others.reduce((sum, other) => sum + place[other], 0) / others.length : place[node];
  };
  for (let sweep = 0; sweep < 12; sweep++) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const keys = new Map(layer.map((node) => [node, mean(node, down ? above : below)]));
      layer.sort((a, b) => keys.get(a) - keys.get(b));
      number(layer);
    }
  }
}

/** Moves nodes towards the middle of their neighbours as far as the others of the layer let them. */
function columns(layers, chains, sizes, gap) {
  const { above, below } = neighbours(chains);
  const x = new Array(sizes.length).fill(0);
  const apart = (a, b) => (sizes[a].width + sizes[b].width) / 2 + gap;
  for (const layer of layers) {
    layer.forEach((node, n) => (x[node] = n === 0 ? 0 : x[layer[n - 1]] + apart(layer[n - 1], node)));
    const middle = (x[layer[0]] + x[layer.at(-1)]) / 2;
    layer.forEach((node) => (x[node] -= middle));
  }
  for (let sweep = 0; sweep < 24; sweep++) {
    for (const layer of sweep % 2 === 0 ? layers : [...layers].reverse()) {
      const wanted = layer.map((node) => {
        const first = (sweep % 2 === 0 ? above : below).get(node) ?? (sweep % 2 === 0 ? below : above).get(node);
        return first ? first.reduce((sum, other) => sum + x[other], 0) / first.length : x[node];
      });
      // From both ends, and then the mean of both: neither side is favoured.
      const right = [...wanted];
      for (let n = 1; n < layer.length; n++) right[n] = Math.max(right[n], right[n - 1] + apart(layer[n - 1], layer[n]));
      const left = [...wanted];
      for (let n = layer.length - 2; n >= 0; n--) left[n] = Math.min(left[n], left[n + 1] - apart(layer[n], layer[n + 1]));
      layer.forEach((node, n) => (x[node] = (left[n] + right[n]) / 2));
    }
  }
  return x;
}
