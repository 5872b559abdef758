"""Runs a WASI command in pywasm, an interpreter in plain Python, and prints what each function has executed.

    interpreter.py MODULE.wasm [ARGS..]

The interpreter names each instruction that it executes, for its own log: these are counted. Structure counts nothing, as it does for
`--clock instructions`. The output of the program goes to stderr. Printed are lines: index of the function, its calls, its
instructions."""

import collections
import os
import sys

import pywasm
import pywasm.wasi

STRUCTURE = {'nop', 'drop', 'block', 'loop', 'unreachable', 'return'}
STRUCTURAL = {code for code, name in pywasm.opcode.name.items() if name in STRUCTURE}
assert len(STRUCTURAL) == len(STRUCTURE), STRUCTURAL
# What copies or fills counts an eighth of its length, the last operand, more.
COPIES = {'memory.copy', 'memory.fill', 'memory.init', 'table.copy', 'table.fill', 'table.init'}
BULK = {code for code, name in pywasm.opcode.name.items() if name in COPIES}

runtime = pywasm.Runtime()
machine = runtime.machine
calls = collections.Counter()
executed = collections.Counter()
enter = machine.evaluate_call


def evaluate_call(address):
    enter(address)
    if isinstance(machine.store.func[address], pywasm.core.FuncInst):
        machine.stack.frame[-1].function = address
        calls[address] += 1


outermost = None


def log(*words):
    global outermost
    if words[0] == 'invocate':
        # The host calls this function.
        outermost = words[1]
        return
    instruction = words[-1]
    if len(words) != 2 or not isinstance(instruction, pywasm.core.Inst):
        return
    frame = machine.stack.frame[-1]
    if outermost is not None:
        frame.function = outermost
        calls[outermost] += 1
        outermost = None
    # Constant expressions have a frame of their own.
    function = getattr(frame, 'function', None)
    if function is not None and instruction.opcode not in STRUCTURAL:
        executed[function] += 1
        if instruction.opcode in BULK:
            executed[function] += machine.stack.value[-1].into_u32() // 8


machine.evaluate_call = evaluate_call
stdout = os.dup(1)
os.dup2(2, 1)
module = pywasm.core.ModuleDesc.from_reader(open(sys.argv[1], 'rb'))
wasi = pywasm.wasi.Preview1(['life', *sys.argv[2:]], {}, {})
wasi.bind(runtime)
pywasm.log.debugln = log
instance = runtime.instance(module)
status = wasi.main(runtime, instance)
sys.stderr.flush()
# Addresses are those of all functions that the interpreter knows, not the module's indices.
index_of = {address: index for index, address in enumerate(instance.func)}
with os.fdopen(stdout, 'w') as out:
    for address in sorted(calls, key=index_of.get):
        print(index_of[address], calls[address], executed[address], file=out)
sys.exit(status)
