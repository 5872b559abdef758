#!/usr/bin/env bash
# Builds the modules of this folder with Debian's clang and lld 14. Only needed after a change of a source: they are committed.
set -euo pipefail
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -r "$build"' EXIT
here=$PWD
cd "$build"
for version in 4 5; do
    for unit in first second; do
        flags=(-O2 -g "-gdwarf-$version" "-fdebug-prefix-map=$here=/src" "-fdebug-prefix-map=$build=/src" -gsplit-dwarf)
        clang --target=wasm32 "${flags[@]}" -c "$here/$unit.c" -o "$unit.o"
    done
    wasm-ld --no-entry --export-if-defined=_start first.o second.o -o "$here/split$version.wasm"
done
chmod 644 "$here"/*.wasm
