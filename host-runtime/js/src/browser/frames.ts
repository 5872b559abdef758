/** Records frames without a URL: `about:blank` and `srcdoc`. */

/**
 * Calls `hook` for the `WebAssembly` of a frame when the page first accesses the frame, which then uses the page's recorder. A `srcdoc` gets
 * `tag`, which loads this script, before its text, and has its own recorder.
 */
export function reachFrames(tag: string | undefined, hook: (realm: typeof WebAssembly) => void): void {
    const reached = new WeakSet<object>();
    const reach = (frame: { WebAssembly?: typeof WebAssembly } | null): void => {
        try {
            const realm = frame?.WebAssembly;
            // A frame with this script has its own recorder.
            if (!realm || reached.has(realm) || Object.hasOwn(frame!, 'kperf')) return;
            reached.add(realm);
            hook(realm);
        } catch {
            // It is of another origin.
        }
    };
    const { prototype } = HTMLIFrameElement;
    for (const name of ['contentWindow', 'contentDocument'] as const) {
        const { get, ...rest } = Object.getOwnPropertyDescriptor(prototype, name)!;
        Object.defineProperty(prototype, name, {
            ...rest,
            get(this: HTMLIFrameElement) {
                const content = get!.call(this) as Window | Document | null;
                reach((content && 'defaultView' in content ? content.defaultView : content) as { WebAssembly?: typeof WebAssembly } | null);
                return content;
            },
        });
    }
    if (!tag) return;
    const { get, set, ...rest } = Object.getOwnPropertyDescriptor(prototype, 'srcdoc')!;
    Object.defineProperty(prototype, 'srcdoc', {
        ...rest,
        get(this: HTMLIFrameElement) {
            const text = get!.call(this) as string;
            return text.startsWith(tag) ? text.slice(tag.length) : text;
        },
        set(this: HTMLIFrameElement, text: unknown) {
            set!.call(this, `${tag}${String(text)}`);
        },
    });
}
