// Conway's Game of Life on a 20x20 board: `life [STEPS]`, 500 steps if not told.
//
// The call structure is the point, not the speed: every function below stays a
// function in the wasm, and one step makes 4,001 calls (see ../README.md).

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "args_sizes_get")
declare function args_sizes_get(argc: usize, size: usize): i32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "args_get")
declare function args_get(argv: usize, buffer: usize): i32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: i32, iovecs: usize, count: i32, written: usize): i32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "proc_exit")
declare function proc_exit(code: i32): void;

const SIZE = 20;

type Board = StaticArray<bool>;

// The cells of a glider, as [row, column] from its upper left corner.
const glider: StaticArray<StaticArray<i32>> = [[0, 1], [1, 2], [2, 0], [2, 1], [2, 2]];

// Where the gliders start. They collide, and the board comes to rest at step 592.
const seeds: StaticArray<StaticArray<i32>> = [[1, 9], [4, 15], [15, 7], [15, 17]];

export { main as _start };

function main(): void {
  const steps = stepsFromArguments();
  if (steps < 0) {
    print(2, "usage: life [STEPS]\n");
    proc_exit(2);
  }
  print(1, steps.toString() + " steps, " + play(steps).toString() + " live cells\n");
}

/** Plays some steps from the seeds and counts the cells that live at the end. */
function play(steps: i32): i32 {
  let board = new StaticArray<bool>(SIZE * SIZE);
  let next = new StaticArray<bool>(SIZE * SIZE);
  for (let i = 0; i < seeds.length; i++) {
    for (let j = 0; j < glider.length; j++) {
      board[(seeds[i][0] + glider[j][0]) * SIZE + seeds[i][1] + glider[j][1]] = true;
    }
  }
  for (let i = 0; i < steps; i++) {
    step(board, next);
    const swapped = board;
    board = next;
    next = swapped;
  }
  let live = 0;
  for (let i = 0; i < board.length; i++) live += i32(board[i]);
  return live;
}

function step(board: Board, next: Board): void {
  for (let row = 0; row < SIZE; row++) {
    for (let col = 0; col < SIZE; col++) {
      unchecked((next[row * SIZE + col] = shouldBecomeLive(board, row, col)));
    }
  }
}

function shouldBecomeLive(board: Board, row: i32, col: i32): bool {
  const live = nLiveNeighbors(board, row, col);
  return live == 3 || (live == 2 && unchecked(board[row * SIZE + col]));
}

function nLiveNeighbors(board: Board, row: i32, col: i32): i32 {
  let live = 0;
  for (let r = row - 1; r <= row + 1; r++) {
    for (let c = col - 1; c <= col + 1; c++) {
      if (r == row && c == col) continue;
      if (isValidPosition(r, c) && unchecked(board[r * SIZE + c])) live++;
    }
  }
  return live;
}

/** The board ends at its edges: there is no wrapping around. */
function isValidPosition(row: i32, col: i32): bool {
  return 0 <= row && row < SIZE && 0 <= col && col < SIZE;
}

/** The number of steps that the command line asks for, or -1 where it is not a number. */
function stepsFromArguments(): i32 {
  const sizes = new StaticArray<usize>(2);
  args_sizes_get(changetype<usize>(sizes), changetype<usize>(sizes) + sizeof<usize>());
  if (sizes[0] < 2) return 500;
  const argv = new StaticArray<usize>(i32(sizes[0]));
  args_get(changetype<usize>(argv), changetype<usize>(new StaticArray<u8>(i32(sizes[1]))));
  let steps = 0;
  let at = argv[1];
  do {
    const digit = i32(load<u8>(at)) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    steps = steps * 10 + digit;
  } while (load<u8>(++at) != 0);
  return steps;
}

function print(fd: i32, line: string): void {
  const bytes = String.UTF8.encode(line);
  const iovec: StaticArray<usize> = [changetype<usize>(bytes), bytes.byteLength];
  fd_write(fd, changetype<usize>(iovec), 1, changetype<usize>(new StaticArray<usize>(1)));
}
