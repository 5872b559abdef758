/** The first line of an error's message, without `kperf: `. */
export function reasonOf(error: unknown): string {
    const message = error instanceof Error ? error.message : String(error);
    return message.split('\n')[0]!.replace(/^kperf: /, '');
}
