#!/usr/bin/env bash
# Builds the modules with debug information that the tests read, with Zig 0.17 (`pip install ziglang`): its clang is LLVM's
# 22.1. The modules are committed; the tests need no compiler.
set -euo pipefail
cd "$(dirname "$0")"

zig() { python3 -m ziglang "$@"; }
flags=(-target wasm32-freestanding -g -nostdlib -fno-sanitize=undefined -Wl,--no-entry -Wl,--export=run
    "-fdebug-prefix-map=$PWD=/src")
zig cc "${flags[@]}" -gdwarf-4 -O0 shapes.c -o c-dwarf4-O0.wasm
zig cc "${flags[@]}" -gdwarf-5 -O1 trap.c -o trap.wasm
for version in 4 5; do
    zig cc "${flags[@]}" -gdwarf-$version -O2 shapes.c -o c-dwarf$version-O2.wasm
    zig c++ "${flags[@]}" -gdwarf-$version -O2 -fno-exceptions -fno-rtti shapes.cpp -o cpp-dwarf$version-O2.wasm
done
# Units of both versions, whose lists stand in different sections at the same offsets.
objects=$(mktemp -d)
trap 'rm -r "$objects"' EXIT
zig cc "${flags[@]}" -gdwarf-4 -O2 -c shapes.c -o "$objects/4.o"
zig cc "${flags[@]}" -gdwarf-5 -O2 -Drun=run5 -Darea=area5 -Dfib=fib5 -c shapes.c -o "$objects/5.o"
zig cc "${flags[@]}" -Wl,--export=run5 "$objects"/[45].o -o mixed.wasm
zig build-exe shapes.zig -target wasm32-freestanding -fno-entry --export=run -O ReleaseSmall -fno-strip \
    -femit-bin=zig.wasm
chmod 644 ./*.wasm
