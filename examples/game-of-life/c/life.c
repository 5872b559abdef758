/* Conway's Game of Life on a 20x20 board: `life [STEPS]`, 500 steps if not told.
 *
 * The call structure is the point, not the speed: every function below stays a
 * function in the wasm, and one step makes 4,001 calls (see ../README.md). */

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

enum { SIZE = 20, GLIDERS = 4, GLIDER_CELLS = 5 };

typedef bool Board[SIZE][SIZE];

/* The cells of a glider, as (row, column) from its upper left corner. */
static const int glider[GLIDER_CELLS][2] = {{0, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}};

/* Where the gliders start. They collide, and the board comes to rest at step 592. */
static const int seeds[GLIDERS][2] = {{1, 9}, {4, 15}, {15, 7}, {15, 17}};

/* The board ends at its edges: there is no wrapping around. */
NOINLINE bool isValidPosition(int row, int col) {
    return 0 <= row && row < SIZE && 0 <= col && col < SIZE;
}

NOINLINE int nLiveNeighbors(Board board, int row, int col) {
    int live = 0;
    for (int r = row - 1; r <= row + 1; r++) {
        for (int c = col - 1; c <= col + 1; c++) {
            if (r == row && c == col) continue;
            if (isValidPosition(r, c) && board[r][c]) live++;
        }
    }
    return live;
}

NOINLINE bool shouldBecomeLive(Board board, int row, int col) {
    int live = nLiveNeighbors(board, row, col);
    return live == 3 || (live == 2 && board[row][col]);
}

NOINLINE void step(Board board, Board next) {
    for (int row = 0; row < SIZE; row++) {
        for (int col = 0; col < SIZE; col++) {
            next[row][col] = shouldBecomeLive(board, row, col);
        }
    }
}

/* Plays `steps` steps from the seeds and counts the cells that live at the end. */
NOINLINE int play(unsigned long steps) {
    static Board boards[2];
    for (int i = 0; i < GLIDERS; i++) {
        for (int j = 0; j < GLIDER_CELLS; j++) {
            boards[0][seeds[i][0] + glider[j][0]][seeds[i][1] + glider[j][1]] = true;
        }
    }
    for (unsigned long i = 0; i < steps; i++) step(boards[i % 2], boards[(i + 1) % 2]);

    int live = 0;
    for (int row = 0; row < SIZE; row++) {
        for (int col = 0; col < SIZE; col++) live += boards[steps % 2][row][col];
    }
    return live;
}

int main(int argc, char **argv) {
    unsigned long steps = 500;
    if (argc > 1) {
        char *end;
        steps = strtoul(argv[1], &end, 10);
        if (!isdigit((unsigned char)argv[1][0]) || *end != '\0') {
            fputs("usage: life [STEPS]\n", stderr);
            return 2;
        }
    }
    printf("%lu steps, %d live cells\n", steps, play(steps));
    return 0;
}
