// Draws a call tree: callers above, each as wide as the time that it took.

const ROW = 1.5;
const ROWS = 14;

/** Draws the columns of a call tree into an element. */
export function draw(element, { names, function: functions, parent, total_nanos }) {
    const nodes = functions.map((number, node) => ({ name: node === 0 ? 'all' : names[number], time: total_nanos[node], children: [] }));
    nodes.forEach((node, n) => n > 0 && nodes[parent[n]].children.push(node));
    const [root] = nodes;
    // Not the time in which the page rested.
    root.time = root.children.reduce((sum, { time }) => sum + time, 0);
    element.replaceChildren();
    const add = (node, row, left, width) => {
        if (row >= ROWS || width < 0.002) return;
        const box = document.createElement('div');
        const share = ((100 * node.time) / root.time).toFixed(1);
        Object.assign(box.style, { top: `${row * ROW}em`, left: `${100 * left}%`, width: `${100 * width}%`, background: colour(node.name) });
        box.title = box.textContent = `${node.name} ${share} %`;
        element.append(box);
        for (const child of node.children) {
            const part = node.time > 0 ? (width * child.time) / node.time : 0;
            add(child, row + 1, left, part);
            left += part;
        }
    };
    add(root, 0, 0, 1);
}

function colour(name) {
    let hash = 0;
    for (const char of name) hash = (hash * 31 + char.codePointAt(0)) % 60;
    return `hsl(${hash} 80% 70%)`;
}
