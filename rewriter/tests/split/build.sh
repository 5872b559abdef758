#!/usr/bin/env bash
# Builds the modules of this folder with Debian's clang, lld and llvm-dwp 14. Only needed after a change of a source: they are
# committed. Each is there with all of its debug information, and with most of it in a package.
set -euo pipefail
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -r "$build"' EXIT
here=$PWD
cd "$build"
for version in 4 5; do
    for kind in split whole; do
        for unit in first second; do
            flags=(-O2 -g "-gdwarf-$version" "-fdebug-prefix-map=$here=/src" "-fdebug-prefix-map=$build=/src")
            [ "$kind" = whole ] || flags+=(-gsplit-dwarf)
            clang --target=wasm32 "${flags[@]}" -c "$here/$unit.c" -o "$unit.o"
        done
        wasm-ld --no-entry --export-if-defined=_start first.o second.o -o "$here/$kind$version.wasm"
    done
    # It warns that there are no relocations, which there are none of.
    llvm-dwp first.dwo second.dwo -o "$here/split$version.wasm.dwp"
done
chmod 644 "$here"/*.wasm*
