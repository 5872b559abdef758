/** Reaches frames of a page that load no page of their own: `about:blank` and `srcdoc`. */

/**
 * Calls `hook` for the `WebAssembly` of a frame when the page comes to it; the recorder is then the page's. A frame with a text gets
 * `tag`, which loads this script, in front of it; its recorder is its own.
 */
export function reachFrames(tag: string | undefined, hook: (realm: typeof WebAssembly) => void): void {
    const reached = new WeakSet<object>();
    const reach = (frame: { WebAssembly?: typeof WebAssembly } | null): void => {
        try {
            const realm = frame?.WebAssembly;
            // One with this script has its own recorder.
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
