/** What the user is told. */

/** Prints each line once in a thread, with the name of who says it. */
export function teller(print: (line: string) => void): (line: string) => void {
    const told = new Set<string>();
    return (line) => {
        if (told.has(line)) return;
        told.add(line);
        print(`kperf: ${line}`);
    };
}
