/** Warnings. */

/** Prints each line once per thread, after `kperf: `. */
export function warner(print: (line: string) => void): (line: string) => void {
    const printed = new Set<string>();
    return (line) => {
        if (printed.has(line)) return;
        printed.add(line);
        print(`kperf: ${line}`);
    };
}
