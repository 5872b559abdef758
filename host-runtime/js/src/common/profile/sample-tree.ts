/** The tree of sampled paths. */

import type { WindowNode } from '../trace/window.js';

/** Some 20 MB. */
const MAX_NODES = 1 << 18;
/** More than the largest function id. */
const IDS = 2 ** 30;
/** The host's path. */
export const HOST = -1;

/** Holds a limited number of paths. Samples of others count for the known part of their path. */
export class SampleTree {
    /** Parents precede their children. */
    #nodes: WindowNode[] = [];
    readonly #children = new Map<number, number>();

    /** The path of a call of `func` from `parent`; `undefined` if there is no room for it. */
    child(parent: number, func: number): number | undefined {
        const key = (parent + 1) * IDS + func;
        const known = this.#children.get(key);
        if (known !== undefined) return known;
        // Outermost calls always fit: the number of functions is limited.
        if (this.#nodes.length >= MAX_NODES && parent !== HOST) return undefined;
        const node = this.#nodes.push({ parent, func, samples: 0, selfTicks: 0 }) - 1;
        this.#children.set(key, node);
        return node;
    }

    /** Adds a sample to a path, or only time. */
    add(node: number, ticks: number, samples = 1): void {
        const found = this.#nodes[node];
        if (!found) return;
        found.samples += samples;
        found.selfTicks += ticks;
    }

    /** Removes all nodes, and returns those of sampled paths and their callers. */
    take(): WindowNode[] {
        const nodes = this.#nodes;
        this.#nodes = [];
        this.#children.clear();
        const seen = nodes.map(({ samples }) => samples > 0);
        for (let index = nodes.length - 1; index >= 0; index--) {
            const { parent } = nodes[index]!;
            if (seen[index] && parent !== HOST) seen[parent] = true;
        }
        const places: number[] = [];
        const kept: WindowNode[] = [];
        nodes.forEach((node, index) => {
            if (!seen[index]) return;
            places[index] = kept.length;
            kept.push({ ...node, parent: node.parent === HOST ? HOST : places[node.parent]! });
        });
        return kept;
    }
}
