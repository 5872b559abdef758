#!/usr/bin/env bash
# Makes `large.wasm`, of 59,070 functions, and its twin `large.debug.wasm` with 122 MB of DWARF, in a folder: build.sh FOLDER.
# It takes Zig (`pip install ziglang`) and two minutes.
set -euo pipefail
out=$(realpath "${1:?build.sh FOLDER}")
cd "$(dirname "$0")"
zig() { python3 -m ziglang c++ -target wasm32-wasi -g -fno-sanitize=all -fno-exceptions "$@"; }
objects=$(mktemp -d)
trap 'rm -r "$objects"' EXIT
units=13
main="$objects/main.cpp"
for n in $(seq 1 $units); do
    # Optimized code has inlined calls, code that isn't has functions.
    zig -O$((n <= 9 ? 1 : 0)) -std=c++20 "-DUNIT=$n" -c unit.cpp -o "$objects/$n.o"
    echo "extern \"C\" int unit$n(int);" >> "$main"
done
echo "int main(int n, char **) { return ($(for n in $(seq 1 $units); do echo "unit$n(n) +"; done) 0) & 1; }" >> "$main"
zig -O1 "$main" "$objects"/*.o -o "$out/large.debug.wasm"
python3 - "$out" <<'PYTHON'
import sys
folder = sys.argv[1]
wasm = open(f"{folder}/large.debug.wasm", "rb").read()
kept, at = bytearray(wasm[:8]), 8
while at < len(wasm):
    start, size, shift, more = at, 0, 0, True
    at += 1
    while more:
        size |= (wasm[at] & 127) << shift
        more, shift, at = wasm[at] > 127, shift + 7, at + 1
    at += size
    # Custom sections are left out.
    if wasm[start]:
        kept += wasm[start:at]
open(f"{folder}/large.wasm", "wb").write(kept)
PYTHON
