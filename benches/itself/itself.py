#!/usr/bin/env python3
"""itself.py KPERF-WASM [REPETITIONS]: what a call costs in a module that records itself (`rewrite --probe self`), by host.

Processor time of whole processes at two lengths of the Game of Life, the least of some repetitions: their difference has no start-up. Prints
nanoseconds a call of the plain module, what the recorder adds, and the shares of self time, which should differ little between hosts.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KPERF = os.path.abspath(sys.argv[1])
REPETITIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
STEPS = (500, 5000)


def hosts(folder):
    """The command of each host that is here."""
    yield "wasmtime", lambda module: [KPERF, "run", "--plain", "--dir", ".::/", module, "--"]
    if shutil.which("node"):
        yield "node", lambda module: ["node", "--no-warnings", f"{ROOT}/tests/itself/wasi.mjs", module, "."]
    if shutil.which("go"):
        program = f"{folder}/wazero"
        subprocess.run(["go", "build", "-o", program], cwd=f"{ROOT}/tests/itself/wazero", check=True)
        yield "wazero", lambda module: [program, module, "."]


def seconds(command, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


with tempfile.TemporaryDirectory() as folder:
    shutil.copy(f"{ROOT}/examples/game-of-life/rust/life.wasm", f"{folder}/plain.wasm")
    rewrite = [KPERF, "rewrite", "--probe", "self", "--trace", "life.kperf", "plain.wasm", "-o", "recorded.wasm"]
    subprocess.run(rewrite, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    for name, command in hosts(folder):
        best = {}
        calls = {}
        for _ in range(REPETITIONS):
            for module in ("plain", "recorded"):
                for steps in STEPS:
                    took = seconds(command(f"{module}.wasm") + [str(steps)], folder)
                    best[module, steps] = min(took, best.get((module, steps), took))
                    if module == "recorded":
                        report = [KPERF, "report", "life.kperf", "--format", "json", "--limit", "0"]
                        shown = json.loads(subprocess.run(report, cwd=folder, check=True, capture_output=True).stdout)
                        calls[steps] = shown["calls"]
        made = calls[STEPS[1]] - calls[STEPS[0]]
        plain, recorded = ((best[m, STEPS[1]] - best[m, STEPS[0]]) / made * 1e9 for m in ("plain", "recorded"))
        top = sorted(shown["functions"], key=lambda function: -function["share"])[:4]
        shares = ", ".join(f"{function['name']} {100 * function['share']:.1f} %" for function in top)
        print(f"{name:9} plain {plain:5.2f} ns a call, recorder +{recorded - plain:.2f} ns; {shares}", flush=True)
