#!/usr/bin/env bash
# Builds life.wasm with AssemblyScript's compiler, which npm fetches the first time.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v npm >/dev/null; then
    echo "assemblyscript: no npm. Get Node.js 20 or newer, e.g. with 'apt-get install nodejs npm'." >&2
    exit 3
fi
if [ ! -x node_modules/.bin/asc ] || [ ! -x node_modules/.bin/wasm-opt ]; then
    npm install --silent --no-package-lock --no-audit --no-fund
fi

wasm=$(mktemp)
trap 'rm -f "$wasm"' EXIT
# asc would inline our functions when it optimizes, so wasm-opt does it, told not to.
# No import of env.abort: a failed assertion traps.
node_modules/.bin/asc life.ts --debug --runtime stub --use abort= --outFile "$wasm"
node_modules/.bin/wasm-opt "$wasm" --enable-bulk-memory --enable-bulk-memory-opt \
    --no-inline='life/*' -O3 --debuginfo --output life.wasm
