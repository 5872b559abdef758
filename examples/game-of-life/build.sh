#!/usr/bin/env bash
# Builds life.wasm in every language whose toolchain is here, and says which were skipped.
# `./build.sh c wat` builds only these.
set -euo pipefail
cd "$(dirname "$0")"

if [ $# -eq 0 ]; then set -- rust c assemblyscript kotlin go wat; fi
failed=0
for language; do
    status=0
    "./$language/build.sh" || status=$?
    case $status in
        0) echo "$language: built, $(wc -c <"$language/life.wasm") bytes" ;;
        3) echo "$language: skipped, its toolchain is missing" ;;
        *) echo "$language: failed" && failed=1 ;;
    esac
done
exit "$failed"
