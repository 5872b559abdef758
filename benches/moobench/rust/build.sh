#!/usr/bin/env bash
# Builds moobench.wasm with a Rust toolchain that has the target (rustup), or else with Debian's rustc-web, which has none
# and builds `core` from its sources.
set -euo pipefail
cd "$(dirname "$0")"

target=wasm32-unknown-unknown
debian_src=/usr/lib/rustlib/src/rust
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"

sysroot=$(rustc --print sysroot 2>/dev/null || true)
if [ -d "$sysroot/lib/rustlib/$target/lib" ]; then
    cargo build --quiet --release --target "$target"
elif [ -d "$debian_src/library" ] && [ -x /usr/bin/cargo ] && command -v wasm-ld >/dev/null; then
    # RUSTC_BOOTSTRAP: -Zbuild-std is not a stable option.
    RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld \
        RUSTFLAGS="--remap-path-prefix=$debian_src=/rust" \
        /usr/bin/cargo build --quiet --release --target "$target" -Zbuild-std=core
else
    echo "rust: no Rust for $target. Get it with 'rustup target add $target', or on Debian" \
        "with 'apt-get install rustc-web cargo-web rust-web-src lld'." >&2
    exit 3
fi
cp "$CARGO_TARGET_DIR/$target/release/moobench.wasm" moobench.wasm
chmod 644 moobench.wasm
