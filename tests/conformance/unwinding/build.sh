#!/usr/bin/env bash
# Builds the modules of this folder. Only needed after a change of a source: they are committed.
#   Emscripten 3.1.6, Rust's library as source (rust-web-src 1.96) with its compiler (rustc-web), and wasi-libc (Debian),
#   clang for wasm (Debian), binaryen 132 and esbuild-wasm 0.27.7 (npm), ziglang 0.17.1 (PyPI), Kotlin 2.4.10 (Maven).
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

# Rust's panics. Its library is compiled for unwinding; the tag that they are thrown with is no library's.
printf '\t.tagtype __cpp_exception i32\n\t.globl __cpp_exception\n__cpp_exception:\n' >"$build/tag.s"
clang --target=wasm32 -mexception-handling -c "$build/tag.s" -o "$build/tag.o"
mkdir "$build/rust"
cat >"$build/rust/Cargo.toml" <<EOF
[package]
name = "panics"
version = "0.0.0"
edition = "2024"
[[bin]]
name = "panics"
path = "$PWD/panics.rs"
[profile.release]
panic = "unwind"
opt-level = 1
EOF
for way in legacy:true exnref:false; do
    RUSTC_BOOTSTRAP=1 RUSTC=${RUSTC:-/usr/bin/rustc} CARGO_TARGET_DIR=$build/rust/${way%%:*} \
        CARGO_TARGET_WASM32_WASIP1_LINKER=${RUST_LLD:-rust-lld} \
        CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="-Cpanic=unwind -Ctarget-feature=+exception-handling \
            -Cllvm-args=-wasm-use-legacy-eh=${way#*:} -Clink-self-contained=no -L/usr/lib/wasm32-wasi \
            -Clink-arg=/usr/lib/wasm32-wasi/crt1-command.o -Clink-arg=$build/tag.o \
            --remap-path-prefix=$PWD=. --remap-path-prefix=/usr/lib/rustlib/src/rust=/rust" \
        cargo build --release -Zbuild-std=std,panic_unwind --target wasm32-wasip1 --manifest-path "$build/rust/Cargo.toml"
    cp "$build/rust/${way%%:*}/wasm32-wasip1/release/panics.wasm" "rust-${way%%:*}.wasm"
done

# Kotlin in its three ways, and its coroutines.
mvn --quiet --batch-mode -DoutputDirectory="$build/lib" \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies
# NAME OUT FLAGS..: compiles NAME.kt to OUT.wasm.
kotlin() {
    local name=$1 out=$2
    shift 2
    compile() {
        java -cp "$build/lib/*" org.jetbrains.kotlin.cli.js.KotlinWasmCompiler -Xwasm-target=wasm-wasi \
            -libraries "$(ls "$build"/lib/*.klib | paste -sd:)" -ir-output-name "$name" "$@"
    }
    compile -ir-output-dir "$build/klib" -Xir-produce-klib-file -Xklib-relative-path-base="$PWD" "$name.kt"
    compile -ir-output-dir "$build/$out" -Xir-produce-js -Xinclude="$build/klib/$name.klib" -Xir-dce "$@"
    cp "$build/$out/$name.wasm" "$out.wasm"
}
kotlin throws kotlin-exnref -Xwasm-use-new-exception-proposal
kotlin throws kotlin-legacy -Xwasm-use-new-exception-proposal=false
kotlin throws kotlin-traps -Xwasm-use-traps-instead-of-exceptions
kotlin suspends kotlin-coroutines -Xwasm-use-new-exception-proposal
# What is never called goes, but nothing is inlined: the tree stays, at half the size.
wasm-opt --mvp-features --enable-{gc,reference-types,exception-handling,bulk-memory,nontrapping-float-to-int} \
    --enable-{sign-ext,multivalue,mutable-globals} -g --no-inline='*' --closed-world -Oz --gufa -Oz \
    --strip-producers --strip-target-features kotlin-coroutines.wasm -o kotlin-coroutines.wasm
