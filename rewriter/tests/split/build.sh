#!/usr/bin/env bash
# Builds the modules of this folder with Debian's clang, lld and llvm-dwp 14. Only needed after a change of a source: they are
# committed. Each is there with all of its debug information, and with most of it in the compiler's files (folders 4 and 5) and in a package of these.
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
    mkdir -p "$here/$version"
    mv first.dwo second.dwo "$here/$version"
done
# Units that are optimized together have one file.
for unit in first second; do
    clang --target=wasm32 -O2 -g -gdwarf-5 "-fdebug-prefix-map=$here=/src" "-fdebug-prefix-map=$build=/src" -emit-llvm -c "$here/$unit.c" -o "$unit.bc"
done
llvm-link first.bc second.bc -o merged.bc
clang --target=wasm32 -O1 -g -gdwarf-5 -gsplit-dwarf -c merged.bc -o merged.o
wasm-ld --no-entry --export-if-defined=_start merged.o -o "$here/merged.wasm"
mv merged.dwo "$here/5"
chmod 644 "$here"/*.wasm* "$here"/[45]/*
