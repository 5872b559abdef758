#!/bin/sh
# Fails when a build of a program executes more instructions than the one before: a test for CI that never flakes.
#
#   instructions.sh BEFORE.wasm AFTER.wasm [ALLOWED [ARGS..]]
#
# ALLOWED is how much a function, or all of them together, may grow by: 0.1% by default. ARGS are the program's own. What grew is
# named on stderr, and the exit code is 3 then. KPERF_WASM is the command to use.
set -eu

if [ $# -lt 2 ]; then
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
before=$1 after=$2 allowed=${3:-0.1%}
shift 2
[ $# -eq 0 ] || shift
kperf=${KPERF_WASM:-kperf-wasm}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# A program that fails ends the script with its exit code.
for side in before after; do
  eval "module=\$$side"
  "$kperf" run "$module" --clock instructions --deterministic --quiet --trace "$folder/$side.kperf" -- "$@" > /dev/null
done

# The functions, and then the paths of calls on which they grew.
"$kperf" diff "$folder/before.kperf" "$folder/after.kperf" --by path --min-share 0.01 --limit 10
"$kperf" diff "$folder/before.kperf" "$folder/after.kperf" --fail-on "$allowed" --limit 20
