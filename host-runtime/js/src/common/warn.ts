/** Texts of warnings and errors. */

/** Prints each line once per thread, after `kperf: `. */
export function warner(print: (line: string) => void): (line: string) => void {
    const printed = new Set<string>();
    return (line) => {
        if (printed.has(line)) return;
        printed.add(line);
        print(`kperf: ${line}`);
    };
}

/** The first line of an error's message, without `kperf: `. */
export function reasonOf(error: unknown): string {
    const message = error instanceof Error ? error.message : String(error);
    return message.split('\n')[0]!.replace(/^kperf: /, '');
}
