// The measured configurations, for node and pages. `start` runs a module and returns its milliseconds.

/** Runs by name: promises of milliseconds until the guest returned, and until the trace was complete. */
export function configurations({ plain, probed, inlined, profile, counting, start, record }) {
    const empty = { enter: (_id) => 1, leave: (_token) => {}, unwind: (_token) => {}, depth: () => 0, close: (_reason, _depth) => {} };
    const guest = (module, kperf) => async () => ({ guest: start(module, (imports) => ({ ...imports, ...(kperf && { kperf }) })) });
    const recorded = (module, clock, isOn = true) => async (calls) => {
        const kperf = await record(clock);
        kperf.setRecording(isOn);
        const guest = start(module, (imports) => kperf.imports(imports, module), (instance) => kperf.attach(instance));
        const begin = performance.now();
        const { events, dropped_events } = await kperf.finish();
        const whole = guest + performance.now() - begin;
        if (events !== (isOn ? 2 * calls : 0) || dropped_events !== 0) throw new Error(`${events} events of ${calls} calls, ${dropped_events} lost`);
        return { guest, whole };
    };
    const profiled = (module) => async (calls) => {
        const kperf = await record('precise', 'profile');
        let counts;
        const guest = start(module, (imports) => kperf.imports(imports, module), (instance) => {
            const { 'kperf.memory': memory, 'kperf.state.functions': functions } = instance.exports;
            counts = new Uint32Array(memory.buffer, 1 << 20, 2 * functions.value);
            return kperf.attach(instance);
        });
        const counted = counts.reduce((sum, count) => sum + count, 0);
        const begin = performance.now();
        await kperf.finish();
        const whole = guest + performance.now() - begin;
        if (counted !== calls) throw new Error(`${counted} calls counted of ${calls}`);
        return { guest, whole };
    };
    return {
        calls() {
            const counts = [0, 0];
            const count = { enter: () => ++counts[0], leave: () => void counts[1]++, unwind() {}, depth: () => 0, close() {} };
            start(probed, (imports) => ({ ...imports, kperf: count }));
            if (counts[0] < 2_000_500 || counts[0] !== counts[1]) throw new Error(`${counts} events: are the probes gone?`);
            return counts[0];
        },
        runs: {
            plain: guest(plain),
            'empty functions (F_noop)': guest(probed, empty),
            'recorder, ticker 2 us': recorded(probed, 'ticker'),
            'recorder, precise': recorded(probed, 'precise'),
            'recorder, switched off': recorded(probed, 'ticker', false),
            'recorder, precise, off': recorded(probed, 'precise', false),
            ...(inlined && {
                'recorder inside, ticker 2 us': recorded(inlined, 'ticker'),
                'recorder inside, precise': recorded(inlined, 'precise'),
                'recorder inside, switched off': recorded(inlined, 'ticker', false),
                'profile': profiled(profile),
                'profile, --span-min off': profiled(counting),
            }),
        },
    };
}

/** Measures nanoseconds per call. */
export async function measure({ calls, runs }, rounds) {
    const count = calls();
    const times = Object.fromEntries(Object.keys(runs).map((name) => [name, []]));
    const clocks = [];
    for (let round = 0; round < rounds; round++) {
        for (const [name, run] of Object.entries(runs)) {
            times[name].push(await run(count));
            // Until the threads of this run have ended and freed their memory.
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
        clocks.push(twoReadings());
    }
    const perCall = (name, field) => times[name].map((time) => (time[field] * 1e6) / count).sort((a, b) => a - b);
    const rows = Object.keys(runs).map((name) => {
        const guest = perCall(name, 'guest');
        return { name, least: guest[0], median: guest[guest.length >> 1], whole: perCall(name, 'whole')[0] };
    });
    return { calls: count, rows, clock: Math.min(...clocks) };
}

function twoReadings() {
    const READINGS = 200_000;
    let sum = 0;
    // The floor excludes the global's getter, which costs as much as the reading.
    const { performance } = globalThis;
    const begin = performance.now();
    for (let n = 0; n < READINGS; n++) sum += performance.now();
    const nanos = (performance.now() - begin) * 1e6;
    return sum > 0 ? (2 * nanos) / READINGS : 0;
}
