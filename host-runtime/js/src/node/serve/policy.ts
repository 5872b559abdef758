/** Adds the recorder to Content-Security-Policies. */

import type { IncomingHttpHeaders } from 'node:http';

/** The directives that must allow the recorder, with their fallbacks. */
const LISTS: [name: string, fallbacks: string[]][] = [
    ['script-src', ['default-src']],
    ['script-src-elem', []],
    ['worker-src', ['child-src', 'script-src', 'default-src']],
    ['connect-src', ['default-src']],
];
/** This directive forbids workers that a script starts from a string. */
const TRUSTED_TYPES = 'require-trusted-types-for';

/**
 * The policies of a header that also allow scripts and requests of the sources `ours` (`localhost:8080/.kperf/`), and workers from there and
 * from blobs. All else is unchanged. A header may have several policies.
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
        // The first of two equal names counts.
        if (key !== undefined && key !== TRUSTED_TYPES && !directives.has(key)) directives.set(key, sources);
    }
    const added = LISTS.flatMap(([name, fallbacks]): [string, string[]][] => {
        const from = [name, ...fallbacks].find((name) => directives.has(name));
        // Without any, nothing is restricted.
        if (from === undefined) return [];
        const sources = directives.get(from)!.filter((source) => source.toLowerCase() !== "'none'");
        return [[name, [...sources, ours, ...(name === 'connect-src' ? [] : ['blob:'])]]];
    });
    for (const [name] of added) directives.delete(name);
    return [...directives, ...added].map(([name, sources]) => [name, ...sources].join(' ')).join('; ');
}

/** The nonce that a policy requires of scripts. Only characters that are safe in a tag are accepted. */
export function nonceOf(header: string): string | undefined {
    const word = header.split(/[;, \t]/).find((word) => word.startsWith("'nonce-") && word.endsWith("'"));
    return word && /^'nonce-([\w+/=-]*)'$/.exec(word)?.[1];
}

/** Allows the sources `ours` in an answer's policies. Returns the nonce that they require of scripts. */
export function makeRoom(headers: IncomingHttpHeaders, ours: string): string | undefined {
    // Node joins several headers by commas, with the same meaning.
    const policies = headers['content-security-policy'];
    if (policies === undefined) return undefined;
    const header = [policies].flat().join(', ');
    headers['content-security-policy'] = withRoom(header, ours);
    return nonceOf(header);
}
