#!/usr/bin/env python3
"""How far shares of self time are from the truth, and how often the truth is inside of ±.

usage: truth.py KPERF-WASM [RUNS] [--node]

`--node` measures the npm package's `run` instead, built in host-runtime/js by `npm ci` and `npm run build`.

The truth is known for known.wat (60 : 30 : 10). For the Game of Life it is the mean of samples of the program without probes
(`--repeat 1`, each in a process of its own, whose start is cold) on this machine while it is idle; of repeated runs the mean of all. Conditions: idle; four busy processes; one processor.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
KPERF = sys.argv[1]
RUNS = next((int(word) for word in sys.argv[2:] if word.isdigit()), 40)
IS_NODE = "--node" in sys.argv
JS = HERE.parent.parent / "host-runtime/js"
# Profiles need Node.js 22 or newer.
RUN = [JS / "node_modules/node-24/bin/node", JS / "dist/node/cli/main.js"] if IS_NODE else [KPERF]
LIFE = HERE.parent.parent / "examples/game-of-life/rust/life.wasm"
KNOWN = HERE / "known.wat"
CONDITIONS = {"idle": (0, []), "4 busy processes": (4, []), "one processor": (0, ["taskset", "-c", "0"])}


def shares(command, prefix):
    """The shares of self time and their errors, in points, by function."""
    record = [] if "--record" in command or "--repeat" in command else ["--record", "profile"]
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "t.kperf"
        run = [*RUN, "run", "-q", "--trace", trace, *record, *command]
        subprocess.run(prefix + run, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        report = subprocess.run([KPERF, "report", trace, "--format", "json"], check=True, capture_output=True)
    functions = json.loads(report.stdout)["functions"]
    return {f["name"]: (100 * f["share"], 100 * (f.get("share_error") or 0)) for f in functions}


def means(runs):
    """The mean shares of the functions above 5 %."""
    names = [name for name, (share, _) in runs[0].items() if share > 5]
    return {name: statistics.fmean(run.get(name, (0, 0))[0] for run in runs) for name in names}


def measure(program, command, truth, condition):
    busy, prefix = CONDITIONS[condition]
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        runs = [shares(command, prefix) for _ in range(RUNS)]
    finally:
        for other in others:
            other.kill()
            other.wait()
    top = max(truth, key=truth.get)
    errors = sorted(abs(run.get(top, (0, 0))[0] - truth[top]) for run in runs)
    widths = [run.get(top, (0, 100))[1] for run in runs]
    inside = [abs(run[name][0] - share) <= run[name][1] for run in runs for name, share in truth.items() if name in run]
    print(
        f"| {program} | {condition} | {statistics.median(errors):.1f} / {errors[-1]:.1f} | {statistics.median(widths):.1f} "
        f"| {100 * sum(inside) / max(len(inside), 1):.0f} % of {len(inside)} |",
        flush=True,
    )


def main():
    known = {"f": 60.0, "g": 30.0, "h": 10.0}
    with tempfile.TemporaryDirectory() as folder:
        module = binary(KNOWN, Path(folder)) if IS_NODE else KNOWN
        life, repeated = ({}, {}) if IS_NODE else truths_of_life()
        print(f"{RUNS} runs each, load {os.getloadavg()[0]:.1f}\n")
        print("| program | condition | error of the largest share, median / worst | ± median | truth inside ± |")
        print("|---|---|--:|--:|--:|")
        for condition in CONDITIONS:
            for length, rounds in (("10 ms", 4000), ("100 ms", 40000), ("2 s", 800000)):
                measure(f"known.wat, {length}", [module, "--", str(rounds)], known, condition)
            measure("known.wat, 100 ms, `--record trace`", ["--record", "trace", module, "--", "40000"], known, condition)
            if not IS_NODE:
                measure("Game of Life", [LIFE, "500"], life, condition)
                measure("Game of Life, `--repeat 10`", ["--repeat", "10", LIFE, "500"], repeated, condition)


def binary(text, folder):
    """The module of a .wat file: npm's `run` takes no text."""
    module = folder / text.with_suffix(".wasm").name
    script = """
        const { parseWat } = await (await import('wabt')).default();
        const [from, to] = process.argv.slice(1);
        const { readFileSync, writeFileSync } = await import('node:fs');
        writeFileSync(to, parseWat(from, readFileSync(from, 'utf8')).toBinary({ write_debug_names: true }).buffer);
    """
    command = ["node", "--input-type=module", "-e", script, text.resolve(), module]
    subprocess.run(command, check=True, cwd=JS)
    return module


def truths_of_life():
    """What single and repeated runs say of the Game of Life on this machine while it is idle."""
    single = means([shares(["--repeat", "1", LIFE, "500"], []) for _ in range(RUNS)])
    return single, means([shares(["--repeat", "10", LIFE, "500"], []) for _ in range(RUNS)])


main()
