// Three calls that are suspended and resumed in turn, and others meanwhile. For node and for pages.
export async function suspend(bytes, WebAssembly) {
    const waiting = [];
    const settled = (value) => new Promise((resolve, reject) => waiting.push({ resolve, reject, value }));
    const wait = new WebAssembly.Suspending((n) => (n === 9 ? n : settled(n)));
    const { instance } = await WebAssembly.instantiate(bytes, { host: { wait } });
    const { leaf } = instance.exports;
    const slow = WebAssembly.promising(instance.exports.slow);
    const results = [slow(1), slow(2), slow(9)];
    leaf();
    // Both go on in the same turn, and between them is something else that calls the guest.
    const [first, second] = waiting.splice(0);
    first.resolve(first.value + 1);
    Promise.resolve().then(leaf).then(leaf);
    second.resolve(second.value + 1);
    Promise.resolve().then(leaf);
    await new Promise((resolve) => setTimeout(resolve, 0));
    leaf();
    const [third, fourth] = waiting.splice(0);
    third.resolve(30);
    fourth.reject(new Error('no'));
    const outcome = await Promise.allSettled(results);
    leaf();
    return outcome.map(({ value, reason }) => value ?? reason.message);
}

/** What is recorded of that, by stack. */
export const EXPECTED = {
    0: [...Array(6).fill('leaf();')],
    1: ['slow() {', '  leaf();', '  once();', '  once();', '  leaf();', '} /* slow */'],
    2: ['slow() {', '  leaf();', '  once();', '  once(); /* host error */', '} /* slow: host error */'],
    3: ['slow() {', '  leaf();', '  once();', '  once();', '  leaf();', '} /* slow */'],
};
