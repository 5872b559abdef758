"""Runs a module under wasmtime's own profiler: `guest_profiler.py MODULE EXPORT SIZE COUNT ARGUMENT ANSWER`.

The profiler is a part of wasmtime's C interface that its package for Python doesn't wrap: it is called as it is. A thread
ends an epoch every millisecond, and the guest's stack is sampled then.
"""

import ctypes
import json
import sys
import threading
import time

import wasmtime
from wasmtime import _ffi as ffi

PERIOD = 1e-3


class Name(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.POINTER(ctypes.c_char))]


class Module(ctypes.Structure):
    _fields_ = [("name", ctypes.POINTER(Name)), ("module", ctypes.c_void_p)]


def address(thing):
    return ctypes.cast(thing.ptr(), ctypes.c_void_p).value


def main():
    path, export = sys.argv[1:3]
    size, count, argument, answer = map(int, sys.argv[3:])
    config = wasmtime.Config()
    config.epoch_interruption = True
    config.wasm_gc = True
    config.wasm_function_references = True
    config.wasm_exceptions = True
    engine = wasmtime.Engine(config)
    module = wasmtime.Module.from_file(engine, path)
    store = wasmtime.Store(engine)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    store.set_wasi(wasmtime.WasiConfig())

    library = ffi.dll
    for name, result, parameters in [
        (
            "new",
            ctypes.c_void_p,
            [ctypes.c_void_p, ctypes.POINTER(Name), ctypes.c_uint64, ctypes.POINTER(Module), ctypes.c_size_t],
        ),
        ("sample", None, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64]),
        ("finish", ctypes.c_void_p, [ctypes.c_void_p, ctypes.POINTER(Name)]),
    ]:
        function = getattr(library, f"wasmtime_guestprofiler_{name}")
        function.restype, function.argtypes = result, parameters
    text = ctypes.create_string_buffer(b"guest")
    name = Name(5, ctypes.cast(text, ctypes.POINTER(ctypes.c_char)))
    modules = (Module * 1)(Module(ctypes.pointer(name), address(module)))
    period = int(PERIOD * 1e9)
    profiler = library.wasmtime_guestprofiler_new(address(engine), ctypes.byref(name), period, modules, 1)

    samples = [0, time.monotonic_ns()]
    callback_type = ctypes.CFUNCTYPE(
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint8)
    )

    def sample(_context, _data, delta, kind):
        now = time.monotonic_ns()
        library.wasmtime_guestprofiler_sample(profiler, address(store), now - samples[1])
        samples[0], samples[1] = samples[0] + 1, now
        delta[0], kind[0] = 1, 0
        return None

    callback = callback_type(sample)
    set_callback = library.wasmtime_store_epoch_deadline_callback
    set_callback.restype, set_callback.argtypes = None, [ctypes.c_void_p] * 4
    set_callback(address(store), ctypes.cast(callback, ctypes.c_void_p), None, None)
    store.set_epoch_deadline(1)

    ended = threading.Event()

    def tick():
        while not ended.wait(PERIOD):
            engine.increment_epoch()

    thread = threading.Thread(target=tick)
    thread.start()
    run = linker.instantiate(store, module).exports(store)[export]
    batches = []
    for _ in range(count):
        begun = time.perf_counter_ns()
        answered = run(store, size, argument) & 0xFFFFFFFF
        batches.append(time.perf_counter_ns() - begun)
        assert answered == answer, f"{answered} where {answer} is right"
    ended.set()
    thread.join()
    profile = Name()
    assert not library.wasmtime_guestprofiler_finish(profiler, ctypes.byref(profile)), "no profile"
    assert samples[0] > 0 or sum(batches) < 20 * PERIOD * 1e9, "nothing was sampled"
    print(json.dumps([{"batches": batches, "whole_nanos": sum(batches), "bytes": profile.size}]))


main()
