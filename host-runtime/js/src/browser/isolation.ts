/** Pages that are cross-origin isolated: only these share memory with their workers. */

export function isIsolated(): boolean {
    return globalThis.crossOriginIsolated === true;
}

/** What such a page is, for people who have another. */
export const ISOLATED = 'cross-origin isolated (headers Cross-Origin-Opener-Policy: same-origin, Cross-Origin-Embedder-Policy: require-corp)';
