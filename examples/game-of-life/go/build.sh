#!/usr/bin/env bash
# Builds life.wasm with the Go toolchain.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v go >/dev/null; then
    echo "go: no Go toolchain. Get Go 1.21 or newer, e.g. with 'apt-get install golang-go'." >&2
    exit 3
fi
# No -ldflags=-s, which would drop the name section.
GOOS=wasip1 GOARCH=wasm GOWASM='' GOTOOLCHAIN=local GOWORK=off \
    go build -trimpath -buildvcs=false -o life.wasm .
chmod 644 life.wasm
