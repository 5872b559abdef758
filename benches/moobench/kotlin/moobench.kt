// The same as in rust/src/lib.rs.

@OptIn(kotlin.wasm.ExperimentalWasmInterop::class)
@WasmExport
fun run(calls: Int, depth: Int): Int {
    var sum = 0
    for (call in 0..<calls) sum += monitored(depth)
    return sum
}

@OptIn(kotlin.wasm.ExperimentalWasmInterop::class)
@WasmExport
fun run_fib(calls: Int, n: Int): Int {
    var sum = 0
    for (call in 0..<calls) sum += fib(n)
    return sum
}

fun monitored(depth: Int): Int = if (depth > 1) monitored(depth - 1).rotateLeft(1) xor depth else depth

fun fib(n: Int): Int = if (n < 2) n else fib(n - 1) + fib(n - 2)
