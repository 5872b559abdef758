//! Conway's Game of Life on a 20x20 board: `life [STEPS]`, 500 steps if not told.
//!
//! The call structure is the point, not the speed: every function below stays a
//! function in the wasm, and one step makes 4,001 calls (see ../../README.md).

use std::env;
use std::process::ExitCode;

const SIZE: usize = 20;

type Board = [[bool; SIZE]; SIZE];

/// The cells of a glider, as (row, column) from its upper left corner.
const GLIDER: [(usize, usize); 5] = [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)];

/// Where the gliders start. They collide, and the board comes to rest at step 592.
const SEEDS: [(usize, usize); 4] = [(1, 9), (4, 15), (15, 7), (15, 17)];

fn main() -> ExitCode {
    let steps = match env::args().nth(1).map(|arg| arg.parse()) {
        None => 500,
        Some(Ok(steps)) => steps,
        Some(Err(_)) => {
            eprintln!("usage: life [STEPS]");
            return ExitCode::from(2);
        }
    };
    println!("{steps} steps, {} live cells", play(steps));
    ExitCode::SUCCESS
}

/// Plays `steps` steps from the seeds and counts the cells that live at the end.
#[inline(never)]
fn play(steps: u32) -> usize {
    let mut board = [[false; SIZE]; SIZE];
    for (top, left) in SEEDS {
        for (row, col) in GLIDER {
            board[top + row][left + col] = true;
        }
    }
    for _ in 0..steps {
        board = step(&board);
    }
    board.iter().flatten().filter(|&&live| live).count()
}

#[inline(never)]
fn step(board: &Board) -> Board {
    let mut next = [[false; SIZE]; SIZE];
    for row in 0..SIZE {
        for col in 0..SIZE {
            next[row][col] = should_become_live(board, row, col);
        }
    }
    next
}

#[inline(never)]
fn should_become_live(board: &Board, row: usize, col: usize) -> bool {
    match n_live_neighbors(board, row, col) {
        2 => board[row][col],
        3 => true,
        _ => false,
    }
}

#[inline(never)]
fn n_live_neighbors(board: &Board, row: usize, col: usize) -> u32 {
    let mut live = 0;
    for d_row in [-1, 0, 1] {
        for d_col in [-1, 0, 1] {
            if (d_row, d_col) == (0, 0) {
                continue;
            }
            let (r, c) = (row as i32 + d_row, col as i32 + d_col);
            if is_valid_position(r, c) && board[r as usize][c as usize] {
                live += 1;
            }
        }
    }
    live
}

/// The board ends at its edges: there is no wrapping around.
#[inline(never)]
fn is_valid_position(row: i32, col: i32) -> bool {
    let inside = 0..SIZE as i32;
    inside.contains(&row) && inside.contains(&col)
}
