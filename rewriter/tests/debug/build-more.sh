#!/usr/bin/env bash
# Builds the modules of more compilers: Debian's clang 14, ldc (D), nim, rustc-web and rust-web-src, lld, wasi-libc; AssemblyScript
# from npm. They are committed; the tests need no compiler.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
build=$(mktemp -d)
trap 'rm -r "$build"' EXIT
link() { wasm-ld --no-entry --export=run --allow-undefined "$build/$1.o" -o "$1.wasm"; }

cp shapes.d shapes.nim shapes.ts "$build"
cd "$build"
for level in 0 2; do
    ldc2 -mtriple=wasm32-unknown-unknown-wasm -betterC -g -O$level -c shapes.d "-of=d-O$level.o"
    (cd "$here" && link d-O$level)
done

nim c --cpu:wasm32 --os:any --mm:none --noMain --threads:off -d:danger -d:useMalloc --debugger:native --nimcache:nimc \
    --compileOnly --cc:clang shapes.nim
clang --target=wasm32-wasi -I/usr/lib/nim/lib -I/usr/lib/nim -I/usr/include/wasm32-wasi -g -O2 -w "-fdebug-prefix-map=$build=/src" \
    -c nimc/@mshapes.nim.c -o nim.o
(cd "$here" && link nim)

mkdir -p rust/src
cp "$here/shapes.rs" rust/src/lib.rs
cat > rust/Cargo.toml <<'TOML'
[package]
name = "shapes"
edition = "2021"
[lib]
crate-type = ["cdylib"]
[profile.release]
panic = "abort"
strip = false
[workspace]
TOML
for level in 1 3; do
    (cd rust && RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=/usr/bin/wasm-ld \
        cargo rustc --release -Zbuild-std=core --target wasm32-unknown-unknown -- -g -Copt-level=$level \
        "--remap-path-prefix=$build/rust=/src")
    cp rust/target/wasm32-unknown-unknown/release/shapes.wasm "$here/rust-O$level.wasm"
done

# Source maps: in the module, without the sources' text.
npm install --silent --prefix "$build" assemblyscript@0.28
for level in 0 3; do
    npx asc shapes.ts --runtime stub -O$level --sourceMap --debug -o as.wasm
    node - "$here/assemblyscript-O$level.wasm" <<'JS'
const fs = require('fs');
const map = JSON.parse(fs.readFileSync('as.wasm.map'));
delete map.sourcesContent;
const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
const leb = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...leb(n >> 7)]);
const text = (s) => [...leb(s.length), ...Buffer.from(s)];
const wasm = fs.readFileSync('as.wasm');
// Before the map's address, which is the last section.
const end = wasm.lastIndexOf('sourceMappingURL') - 1;
let at = 8;
for (let next = at; next < end; at = next) {
    let [size, shift, i] = [0, 0, at + 1];
    do { size |= (wasm[i] & 127) << shift; shift += 7; } while (wasm[i++] & 128);
    next = i + size;
    if (next > end) break;
}
const section = [...text('sourceMappingURL'), ...text(url)];
fs.writeFileSync(process.argv[2], Buffer.concat([wasm.subarray(0, at), Buffer.from([0, ...leb(section.length), ...section])]));
JS
done

# Emscripten, which lets Binaryen write the DWARF anew, and makes the map of it (Debian's 3.1.6).
for level in O0 O2; do
    flags=(-$level -s STANDALONE_WASM=1 --no-entry -s EXPORTED_FUNCTIONS=_run -s ERROR_ON_UNDEFINED_SYMBOLS=0 "-ffile-prefix-map=$here=/src")
    emcc -g "${flags[@]}" "$here/shapes.c" -o "$here/emscripten-$level.wasm"
    emcc -gsource-map "${flags[@]}" "$here/shapes.c" -o "$here/emscripten-map-$level.wasm"
done

# Kotlin's Game of Life, without its names, which are half of it. `build.sh` there has fetched the compiler.
kotlin=$(realpath "$here/../../../examples/game-of-life/kotlin")
bash "$kotlin/build.sh"
for kind in source-map Xwasm-generate-dwarf; do
    (cd "$kotlin" && java -Xmx1g -cp 'build/lib/*' org.jetbrains.kotlin.cli.js.KotlinWasmCompiler -Xwasm-target=wasm-wasi \
        -libraries "$(echo build/lib/*.klib)" -ir-output-name life -ir-output-dir "$build/$kind" -Xir-produce-js \
        -Xinclude=build/klib/life.klib -Xir-dce -Xwasm-use-new-exception-proposal "-$kind")
done
# Not with LLVM's tools, which don't know its types.
without_names() {
    python3 - "$1" "$2" <<'PYTHON'
import sys
wasm = open(sys.argv[1], "rb").read()
kept, at = bytearray(wasm[:8]), 8
def number(at):
    value = shift = 0
    while True:
        byte = wasm[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
while at < len(wasm):
    start = at
    size, content = number(at + 1)
    at = content + size
    if wasm[start] or wasm[content:content + 5] != b"\x04name":
        kept += wasm[start:at]
open(sys.argv[2], "wb").write(kept)
PYTHON
}
without_names "$build/source-map/life.wasm" "$here/kotlin-map.wasm"
cp "$build/source-map/life.wasm.map" "$here/kotlin-map.wasm.map"
without_names "$build/Xwasm-generate-dwarf/life.wasm" "$here/kotlin.wasm"
chmod 644 "$here"/*.wasm

# TeaVM's, with its names, which aren't in the order of their indices.
cp -r "$here/teavm" "$build/teavm"
(cd "$build/teavm" && mvn -q -B process-classes)
cp "$build/teavm/target/classes.wasm" "$here/teavm.wasm"
cp "$build/teavm/target/classes.wasm.map" "$here/teavm.wasm.map"
chmod 644 "$here"/teavm.wasm*
