#!/usr/bin/env bash
# Makes the long set of `all_lines.rs` in a folder: build.sh FOLDER. It takes what is installed of rustc (target wasm32-wasip1),
# clang with wasm-ld, and Zig (`pip install ziglang`).
set -euo pipefail
out=$(realpath "${1:?build.sh FOLDER}")
cd "$(dirname "$0")"
for level in 0 1 2 3 s; do
    rustc --target wasm32-wasip1 -g -C opt-level=$level words.rs -o "$out/rust-$level.wasm"
done
rustc --target wasm32-wasip1 -g -C opt-level=3 -C lto=fat words.rs -o "$out/rust-lto.wasm"
rustc --target wasm32-wasip1 -C debuginfo=1 -C opt-level=3 words.rs -o "$out/rust-lines.wasm"
RUSTC_BOOTSTRAP=1 rustc --target wasm32-wasip1 -g -Zdwarf-version=5 -C opt-level=3 words.rs -o "$out/rust-dwarf5.wasm"
flags=(-nostdlib -Wl,--no-entry -Wl,--export=run -Wl,--allow-undefined -g)
for level in O0 O1 O2 Os; do
    for version in 4 5; do
        clang --target=wasm32 "${flags[@]}" -gdwarf-$version -$level ../debug/shapes.c -o "$out/clang-c-$level-$version.wasm"
        clang++ --target=wasm32 "${flags[@]}" -gdwarf-$version -$level -fno-exceptions -fno-rtti ../debug/shapes.cpp \
            -o "$out/clang-cpp-$level-$version.wasm"
    done
done
if python3 -m ziglang version; then
    for mode in Debug ReleaseFast; do
        python3 -m ziglang build-exe ../debug/shapes.zig -target wasm32-freestanding -fno-entry --export=run -O $mode -fno-strip \
            -femit-bin="$out/zig-$mode.wasm"
    done
    for version in 4 5; do
        printf '#include <stdio.h>\nint main(int n, char **v) { for (int i = 0; i < n; i++) printf("%%s %%d\\n", v[i], i * n); }\n' |
            python3 -m ziglang cc -target wasm32-wasi -g -gdwarf-$version -O2 -xc - -o "$out/zig-cc-$version.wasm"
    done
fi
# Published modules with their maps, of AssemblyScript and of Emscripten; the second has one with DWARF too.
npm pack --silent --pack-destination "$out" rabin-wasm@0.1.5 &&
    tar -xzf "$out/rabin-wasm-0.1.5.tgz" -C "$out" --strip-components=2 package/dist/rabin.wasm package/dist/rabin.wasm.map
package=web-tree-sitter-0.27.2
npm pack --silent --pack-destination "$out" web-tree-sitter@0.27.2 && mkdir "$out/$package" &&
    tar -xzf "$out/$package.tgz" -C "$out/$package" --strip-components=1
mv "$out/$package/web-tree-sitter.wasm" "$out/tree-sitter.wasm"
mv "$out/$package/web-tree-sitter.wasm.map" "$out/tree-sitter.wasm.map"
mv "$out/$package/debug/web-tree-sitter.wasm" "$out/tree-sitter-debug.wasm"
rm -r "$out/$package"
