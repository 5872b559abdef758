#!/usr/bin/env bash
# Builds moobench.wasm with the Kotlin compiler alone, without Gradle. Maven fetches it (60 MB) the first time.
set -euo pipefail
cd "$(dirname "$0")"

for tool in java mvn; do
    if ! command -v "$tool" >/dev/null; then
        echo "kotlin: no $tool. Get it with 'apt-get install openjdk-17-jdk-headless maven'." >&2
        exit 3
    fi
done
lib=${KOTLIN_LIB:-build/lib}
if ! compgen -G "$lib/*.klib" >/dev/null; then
    mvn --quiet --batch-mode -Dstyle.color=never -DoutputDirectory="$PWD/$lib" \
        org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies
fi
kotlin() {
    java -Xmx1g -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$lib/*" \
        org.jetbrains.kotlin.cli.js.KotlinWasmCompiler -Xwasm-target=wasm-wasi \
        -libraries "$(echo "$lib"/*.klib)" -ir-output-name moobench "$@"
}
kotlin -ir-output-dir build/klib -Xir-produce-klib-file -Xklib-relative-path-base="$PWD" moobench.kt
kotlin -ir-output-dir build/wasm -Xir-produce-js -Xinclude=build/klib/moobench.klib -Xir-dce -Xwasm-use-new-exception-proposal
cp build/wasm/moobench.wasm moobench.wasm
