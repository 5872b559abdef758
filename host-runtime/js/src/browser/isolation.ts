/** Detects cross-origin isolation, without which a page can't share memory with its workers. */

export function isIsolated(): boolean {
    return globalThis.crossOriginIsolated === true;
}

/** The hint for users whose page isn't isolated. */
export const ISOLATED = 'cross-origin isolated (headers Cross-Origin-Opener-Policy: same-origin, Cross-Origin-Embedder-Policy: require-corp)';
