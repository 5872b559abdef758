#!/usr/bin/env bash
# Builds the modules of this folder with Debian's clang 14 and lld. Only needed after a change of a source: they are committed.
set -euo pipefail
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -r "$build"' EXIT
# NAME SOURCE FLAGS..: not linked by clang, which would let Binaryen spoil the addresses.
module() {
    local name=$1 source=$2
    shift 2
    clang --target=wasm32 -O1 -ffile-prefix-map="$PWD=/src" "$@" -c "$source" -o "$build/$name.o"
    wasm-ld --no-entry --export-if-defined=_start "$build/$name.o" -o "$name.wasm"
}
module dwarf4 sums.c -g
module dwarf5 sums.c -gdwarf-5
module lines sums.c -gline-tables-only
module calls calls.c -g
module loop loop.c -g
module inlined inlined.c -g -O2
module inlined5 inlined.c -gdwarf-5 -O2
chmod 644 ./*.wasm
