#!/usr/bin/env bash
# Builds life.wasm with a Rust toolchain that has the wasm32-wasip1 target (rustup), or else
# with Debian's rustc-web, which has none and builds the standard library from its sources.
set -euo pipefail
cd "$(dirname "$0")"

target=wasm32-wasip1
debian_src=/usr/lib/rustlib/src/rust
wasi_libc=/usr/lib/wasm32-wasi
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
# Panic messages name source files: keep this machine's folders out of them.
flags="--remap-path-prefix=$PWD=."

sysroot=$(rustc --print sysroot 2>/dev/null || true)
if [ -d "$sysroot/lib/rustlib/$target/lib" ]; then
    CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="$flags --remap-path-prefix=$sysroot=/rust" \
        cargo build --quiet --release --target "$target"
elif [ -d "$debian_src/library" ] && [ -d "$wasi_libc" ] && [ -x /usr/bin/cargo ] && command -v wasm-ld >/dev/null; then
    flags+=" --remap-path-prefix=$debian_src=/rust -Clink-self-contained=no"
    flags+=" -L$wasi_libc -Clink-arg=$wasi_libc/crt1-command.o"
    # RUSTC_BOOTSTRAP: -Zbuild-std is not a stable option.
    RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc CARGO_TARGET_WASM32_WASIP1_LINKER=wasm-ld \
        CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="$flags" \
        /usr/bin/cargo build --quiet --release --target "$target" -Zbuild-std=std,panic_abort
else
    echo "rust: no Rust for $target. Get it with 'rustup target add $target', or on Debian" \
        "with 'apt-get install rustc-web cargo-web rust-web-src lld wasi-libc'." >&2
    exit 3
fi
cp "$CARGO_TARGET_DIR/$target/release/life.wasm" life.wasm
chmod 644 life.wasm
