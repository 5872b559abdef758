/** Detects the browser's name, version and operating system. */

const BROWSERS: [name: string, pattern: RegExp][] = [
    ['edge', /Edg\/([\d.]+)/],
    ['chromium', /(?:Headless)?Chrom(?:e|ium)\/([\d.]+)/],
    ['firefox', /Firefox\/([\d.]+)/],
    ['safari', /Version\/([\d.]+).*Safari/],
];

/** Name and version of the browser. */
export function browserOf(agent: string): { name: string; version: string } {
    for (const [name, pattern] of BROWSERS) {
        const version = pattern.exec(agent)?.[1];
        if (version !== undefined) return { name, version };
    }
    return { name: 'browser', version: '' };
}

/** The operating system. */
export function systemOf(agent: string): string {
    const system = /Android|Windows|iPhone|iPad|Mac OS|Linux|CrOS/.exec(agent)?.[0];
    return system?.toLowerCase() ?? '';
}
