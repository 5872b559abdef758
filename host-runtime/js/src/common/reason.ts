/** Why something failed, on one line, as it is told after `kperf: `. */
export function reasonOf(error: unknown): string {
    const message = error instanceof Error ? error.message : String(error);
    return message.split('\n')[0]!.replace(/^kperf: /, '');
}
