// Conway's Game of Life on a 20x20 board: `life [STEPS]`, 500 steps if not told.
//
// The call structure is the point, not the speed: every function below stays a
// function in the wasm, and one step makes 4,001 calls (see ../README.md).
package main

import (
	"os"
	"strconv"
)

const size = 20

type board [size][size]bool

// The cells of a glider, as {row, column} from its upper left corner.
var glider = [...][2]int{{0, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}}

// Where the gliders start. They collide, and the board comes to rest at step 592.
var seeds = [...][2]int{{1, 9}, {4, 15}, {15, 7}, {15, 17}}

func main() {
	steps := 500
	if len(os.Args) > 1 {
		var err error
		steps, err = strconv.Atoi(os.Args[1])
		if err != nil || steps < 0 {
			println("usage: life [STEPS]")
			os.Exit(2)
		}
	}
	// Without fmt, the module is half a megabyte smaller.
	os.Stdout.WriteString(strconv.Itoa(steps) + " steps, " + strconv.Itoa(play(steps)) + " live cells\n")
}

// play plays a number of steps from the seeds and counts the cells that live at the end.
//
//go:noinline
func play(steps int) int {
	var boards [2]board
	for _, seed := range seeds {
		for _, cell := range glider {
			boards[0][seed[0]+cell[0]][seed[1]+cell[1]] = true
		}
	}
	for i := 0; i < steps; i++ {
		step(&boards[i%2], &boards[(i+1)%2])
	}
	live := 0
	for _, row := range boards[steps%2] {
		for _, cell := range row {
			if cell {
				live++
			}
		}
	}
	return live
}

//go:noinline
func step(b, next *board) {
	for row := 0; row < size; row++ {
		for col := 0; col < size; col++ {
			next[row][col] = shouldBecomeLive(b, row, col)
		}
	}
}

//go:noinline
func shouldBecomeLive(b *board, row, col int) bool {
	live := nLiveNeighbors(b, row, col)
	return live == 3 || live == 2 && b[row][col]
}

//go:noinline
func nLiveNeighbors(b *board, row, col int) int {
	live := 0
	for r := row - 1; r <= row+1; r++ {
		for c := col - 1; c <= col+1; c++ {
			if r == row && c == col {
				continue
			}
			if isValidPosition(r, c) && b[r][c] {
				live++
			}
		}
	}
	return live
}

// isValidPosition says that the board ends at its edges: there is no wrapping around.
//
//go:noinline
func isValidPosition(row, col int) bool {
	return 0 <= row && row < size && 0 <= col && col < size
}
