#!/usr/bin/env bash
# Builds the modules of this folder. Only needed after a change of a source: they are committed.
#   Emscripten 3.1.6 (Debian), binaryen 132 and esbuild-wasm 0.27.7 (npm), ziglang 0.17.1 (PyPI), Kotlin 2.4.10 (Maven, with examples/game-of-life's
#   pom.xml).
set -euo pipefail
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -r "$build"' EXIT

# C++ with legacy exceptions, the same translated to the new ones, and with JavaScript's.
emscripten=(emcc -O1 -fno-inline --profiling-funcs)
binaryen=(wasm-opt -g --enable-exception-handling --enable-reference-types --enable-multivalue --enable-bulk-memory
    --enable-sign-ext)
node_glue=(-sENVIRONMENT=node -sMODULARIZE)
"${emscripten[@]}" -fwasm-exceptions -sSTANDALONE_WASM throws.cpp -o cpp-legacy.wasm
"${binaryen[@]}" --translate-to-exnref cpp-legacy.wasm -o cpp-exnref.wasm
"${emscripten[@]}" -fexceptions "${node_glue[@]}" throws.cpp -o "$build/cpp-js.js"
"${emscripten[@]}" -sSUPPORT_LONGJMP=emscripten "${node_glue[@]}" jumps.c -o "$build/jumps-js.js"
cp "$build"/{cpp,jumps}-js.wasm .
for name in cpp jumps; do
    esbuild "$build/$name-js.js" --minify --outfile="$name-js.cjs"
done

# C's setjmp and longjmp by exceptions. zig's libc lacks the tag's definition.
printf '\t.tagtype __c_longjmp i32\n\t.globl __c_longjmp\n__c_longjmp:\n' >"$build/tag.s"
for legacy in true false; do
    python3 -m ziglang cc --target=wasm32-wasi -O1 -mexception-handling -mllvm -wasm-enable-sjlj \
        -mllvm -wasm-use-legacy-eh=$legacy jumps.c "$build/tag.s" -lsetjmp -o "$build/jumps-$legacy.wasm"
done
"${binaryen[@]}" --strip-dwarf "$build/jumps-true.wasm" -o jumps-legacy.wasm
"${binaryen[@]}" --strip-dwarf "$build/jumps-false.wasm" -o jumps-exnref.wasm

# Kotlin in its three ways.
mvn --quiet --batch-mode -f ../../../examples/game-of-life/kotlin -DoutputDirectory="$build/lib" \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies
kotlin() {
    java -cp "$build/lib/*" org.jetbrains.kotlin.cli.js.KotlinWasmCompiler -Xwasm-target=wasm-wasi \
        -libraries "$(echo "$build"/lib/*.klib)" -ir-output-name throws "$@"
}
kotlin -ir-output-dir "$build/klib" -Xir-produce-klib-file -Xklib-relative-path-base="$PWD" throws.kt
for mode in exnref:-Xwasm-use-new-exception-proposal legacy:-Xwasm-use-new-exception-proposal=false \
    traps:-Xwasm-use-traps-instead-of-exceptions; do
    kotlin -ir-output-dir "$build/${mode%%:*}" -Xir-produce-js -Xinclude="$build/klib/throws.klib" -Xir-dce "${mode#*:}"
    cp "$build/${mode%%:*}/throws.wasm" "kotlin-${mode%%:*}.wasm"
done
