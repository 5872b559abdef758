#!/usr/bin/env bash
# Builds life.wasm with wabt's wat2wasm, or else with wasm-tools.
set -euo pipefail
cd "$(dirname "$0")"

if command -v wat2wasm >/dev/null; then
    wat2wasm --debug-names life.wat -o life.wasm
elif command -v wasm-tools >/dev/null; then
    wasm-tools parse life.wat -o life.wasm
else
    echo "wat: no assembler. Get one with 'npm install --global wabt', 'apt-get install wabt'" \
        "or 'cargo install wasm-tools'." >&2
    exit 3
fi
