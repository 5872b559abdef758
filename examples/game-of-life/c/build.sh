#!/usr/bin/env bash
# Builds life.wasm with clang and wasi-libc. WASI_SDK_PATH: a wasi-sdk to use instead of the
# clang on PATH.
set -euo pipefail
cd "$(dirname "$0")"

clang=${WASI_SDK_PATH:+$WASI_SDK_PATH/bin/}clang
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
if ! echo 'int main(void) { return 0; }' |
    "$clang" --target=wasm32-wasi -x c - -o "$out/probe.wasm" 2>/dev/null; then
    echo "c: no clang for wasm32-wasi. Get a wasi-sdk and set WASI_SDK_PATH, or on Debian" \
        "'apt-get install clang lld wasi-libc libclang-rt-dev-wasm32'." >&2
    exit 3
fi
"$clang" --target=wasm32-wasi -std=c11 -Wall -Wextra -O2 -c life.c -o "$out/life.o"
# A link step without -O2: given it, clang runs any wasm-opt on PATH, which drops the names.
# --strip-debug: without the DWARF of wasi-libc, with the names.
# no-floating-point: the smaller printf.
"$clang" --target=wasm32-wasi "$out/life.o" -Wl,--strip-debug -lc-printscan-no-floating-point \
    -o "$out/life.wasm"
cp "$out/life.wasm" life.wasm
