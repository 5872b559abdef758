/** Content-Security-Policies with room for the recorder. */

import type { IncomingHttpHeaders } from 'node:http';

/** The lists of sources that the recorder needs a place in, and what they fall back to. */
const LISTS: [name: string, fallbacks: string[]][] = [
    ['script-src', ['default-src']],
    ['script-src-elem', []],
    ['worker-src', ['child-src', 'script-src', 'default-src']],
    ['connect-src', ['default-src']],
];
/** With this, a script may start no worker from an address. */
const TRUSTED_TYPES = 'require-trusted-types-for';

/**
 * The policies of a header with what the recorder needs: scripts and requests from the addresses `ours` (`localhost:8080/.kperf/`), and
 * workers that begin there or as blobs. All else stays as it is. A header may have several policies.
 *
 *     default-src 'self'; img-src data:
 *     default-src 'self'; img-src data:; script-src 'self' H/ blob:; worker-src 'self' H/ blob:; connect-src 'self' H/
 */
export function withRoom(header: string, ours: string): string {
    return header.split(',').map((policy) => withRoomInOne(policy, ours)).join(', ');
}

function withRoomInOne(policy: string, ours: string): string {
    const directives = new Map<string, string[]>();
    for (const directive of policy.split(';')) {
        const [name, ...sources] = directive.split(/[\t\n\f\r ]+/).filter((word) => word !== '');
        const key = name?.toLowerCase();
        // Of two of a name the first counts.
        if (key !== undefined && key !== TRUSTED_TYPES && !directives.has(key)) directives.set(key, sources);
    }
    const added = LISTS.flatMap(([name, fallbacks]): [string, string[]][] => {
        const from = [name, ...fallbacks].find((name) => directives.has(name));
        // Otherwise nothing of that kind is restricted.
        if (from === undefined) return [];
        const sources = directives.get(from)!.filter((source) => source.toLowerCase() !== "'none'");
        return [[name, [...sources, ours, ...(name === 'connect-src' ? [] : ['blob:'])]]];
    });
    for (const [name] of added) directives.delete(name);
    return [...directives, ...added].map(([name, sources]) => [name, ...sources].join(' ')).join('; ');
}

/** The nonce of the page's scripts, if a policy demands one. It goes into a tag, so one with other characters is none. */
export function nonceOf(header: string): string | undefined {
    const word = header.split(/[;, \t]/).find((word) => word.startsWith("'nonce-") && word.endsWith("'"));
    return word && /^'nonce-([\w+/=-]*)'$/.exec(word)?.[1];
}

/** Makes room for the addresses `ours` in an answer's policies. Returns the nonce of the page's scripts, if they demand one. */
export function makeRoom(headers: IncomingHttpHeaders, ours: string): string | undefined {
    // Node has joined several by commas, which is what they mean.
    const policies = headers['content-security-policy'];
    if (policies === undefined) return undefined;
    const header = [policies].flat().join(', ');
    headers['content-security-policy'] = withRoom(header, ours);
    return nonceOf(header);
}
