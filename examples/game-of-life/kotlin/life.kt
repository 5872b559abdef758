// Conway's Game of Life on a 20x20 board: `life [STEPS]`, 500 steps if not told.
//
// The call structure is the point, not the speed: every function below stays a
// function in the wasm, and one step makes 4,001 calls (see ../README.md).
@file:OptIn(ExperimentalWasmInterop::class, UnsafeWasmMemoryApi::class)

import kotlin.wasm.ExperimentalWasmInterop
import kotlin.wasm.WasmImport
import kotlin.wasm.unsafe.Pointer
import kotlin.wasm.unsafe.UnsafeWasmMemoryApi
import kotlin.wasm.unsafe.withScopedMemoryAllocator

const val SIZE = 20

/** One element a cell, row by row: in Kotlin/Wasm every array access is a call. */
typealias Board = BooleanArray

fun main() {
    val argument = firstArgument() ?: "500"
    val steps = argument.toIntOrNull()
    if (steps == null || steps < 0) {
        printError("usage: life [STEPS]\n")
        procExit(2)
        return
    }
    println("$steps steps, ${play(steps)} live cells")
}

/** Plays [steps] steps from the seeds and counts the cells that live at the end. */
fun play(steps: Int): Int {
    // Not top level properties: every function of the file would call their initialiser first.
    // The cells of a glider, as (row, column) from its upper left corner.
    val glider = listOf(0 to 1, 1 to 2, 2 to 0, 2 to 1, 2 to 2)
    // Where the gliders start. They collide, and the board comes to rest at step 592.
    val seeds = listOf(1 to 9, 4 to 15, 15 to 7, 15 to 17)

    var board = Board(SIZE * SIZE)
    var next = Board(SIZE * SIZE)
    for ((top, left) in seeds) {
        for ((row, col) in glider) board[(top + row) * SIZE + left + col] = true
    }
    repeat(steps) {
        step(board, next)
        board = next.also { next = board }
    }
    return board.count { it }
}

fun step(board: Board, next: Board) {
    for (row in 0 until SIZE) {
        for (col in 0 until SIZE) next[row * SIZE + col] = shouldBecomeLive(board, row, col)
    }
}

fun shouldBecomeLive(board: Board, row: Int, col: Int): Boolean {
    val live = nLiveNeighbors(board, row, col)
    return live == 3 || (live == 2 && board[row * SIZE + col])
}

fun nLiveNeighbors(board: Board, row: Int, col: Int): Int {
    var live = 0
    for (r in row - 1..row + 1) {
        for (c in col - 1..col + 1) {
            if (r == row && c == col) continue
            if (isValidPosition(r, c) && board[r * SIZE + c]) live++
        }
    }
    return live
}

/** The board ends at its edges: there is no wrapping around. */
fun isValidPosition(row: Int, col: Int): Boolean = row in 0 until SIZE && col in 0 until SIZE

// WASI, where Kotlin's library has nothing: the arguments, stderr and the exit code.

@WasmImport("wasi_snapshot_preview1", "args_sizes_get")
private external fun argsSizesGet(argc: Int, size: Int): Int

@WasmImport("wasi_snapshot_preview1", "args_get")
private external fun argsGet(argv: Int, buffer: Int): Int

@WasmImport("wasi_snapshot_preview1", "fd_write")
private external fun fdWrite(fd: Int, iovecs: Int, count: Int, written: Int): Int

@WasmImport("wasi_snapshot_preview1", "proc_exit")
private external fun procExit(code: Int)

private fun firstArgument(): String? = withScopedMemoryAllocator { memory ->
    val sizes = memory.allocate(8)
    argsSizesGet(sizes.address.toInt(), sizes.address.toInt() + 4)
    val argc = sizes.loadInt()
    if (argc < 2) return@withScopedMemoryAllocator null
    val argv = memory.allocate(4 * argc)
    argsGet(argv.address.toInt(), memory.allocate((sizes + 4).loadInt()).address.toInt())
    val start = Pointer((argv + 4).loadInt().toUInt())
    generateSequence(start) { it + 1 }.map { it.loadByte() }.takeWhile { it != 0.toByte() }
        .toList().toByteArray().decodeToString()
}

private fun printError(line: String) = withScopedMemoryAllocator { memory ->
    val bytes = line.encodeToByteArray()
    val text = memory.allocate(bytes.size)
    bytes.forEachIndexed { i, byte -> (text + i).storeByte(byte) }
    val iovec = memory.allocate(12)
    iovec.storeInt(text.address.toInt())
    (iovec + 4).storeInt(bytes.size)
    fdWrite(2, iovec.address.toInt(), 1, iovec.address.toInt() + 8)
}
