#!/usr/bin/env bash
# Builds the modules of this folder with Debian's clang 14 and lld. Only needed after a change of a source: they are committed.
set -euo pipefail
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -r "$build"' EXIT
# NAME FLAGS..: not linked by clang, which would let Binaryen spoil the addresses.
module() {
    local name=$1
    shift
    clang --target=wasm32 -O1 -ffile-prefix-map="$PWD=/src" "$@" -c sums.c -o "$build/$name.o"
    wasm-ld --no-entry "$build/$name.o" -o "$name.wasm"
}
module dwarf4 -g
module dwarf5 -gdwarf-5
module lines -gline-tables-only
chmod 644 ./*.wasm
