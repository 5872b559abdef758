/** The tree of the paths that samples found. */

import type { WindowNode } from '../trace/window.js';

/** Some 20 MB. */
const MAX_NODES = 1 << 18;
/** Ids of functions are below this. */
const IDS = 2 ** 30;
/** Whose path the calls from the host go on from. */
export const HOST = -1;

/** Grows with the number of different paths, up to a limit: behind it, samples count for the part of a path that is known. */
export class SampleTree {
    /** Parents come before their children. */
    #nodes: WindowNode[] = [];
    readonly #children = new Map<number, number>();

    /** The path that goes on from another one into a function; `undefined` if there is no room for it. */
    child(parent: number, func: number): number | undefined {
        const key = (parent + 1) * IDS + func;
        const known = this.#children.get(key);
        if (known !== undefined) return known;
        // There are only so many functions: what the host calls always fits.
        if (this.#nodes.length >= MAX_NODES && parent !== HOST) return undefined;
        const node = this.#nodes.push({ parent, func, samples: 0, selfTicks: 0 }) - 1;
        this.#children.set(key, node);
        return node;
    }

    /** Counts a sample that found a path, or adds time to one that did. */
    add(node: number, ticks: number, samples = 1): void {
        const found = this.#nodes[node];
        if (!found) return;
        found.samples += samples;
        found.selfTicks += ticks;
    }

    /** Its nodes, but for paths that no sample found, nor any that goes on from them; it is empty after that. */
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
