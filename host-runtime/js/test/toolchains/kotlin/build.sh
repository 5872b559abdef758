#!/usr/bin/env bash
# Builds main.wasm and the JavaScript that loads it with the Kotlin compiler alone, without Gradle. Maven fetches it.
set -euo pipefail
cd "$(dirname "$0")"
lib=${KOTLIN_LIB:-build/lib}
if ! compgen -G "$lib/*.klib" >/dev/null; then
    mvn --quiet --batch-mode -Dstyle.color=never -DoutputDirectory="$PWD/$lib" \
        org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies
fi
kotlin() {
    java -Xmx1g -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$lib/*" \
        org.jetbrains.kotlin.cli.js.KotlinWasmCompiler -Xwasm-target=wasm-js \
        -libraries "$(echo "$lib"/*.klib)" -ir-output-name main "$@"
}
kotlin -ir-output-dir build/klib -Xir-produce-klib-file -Xklib-relative-path-base="$PWD" main.kt
kotlin -ir-output-dir build/wasm -Xir-produce-js -Xinclude=build/klib/main.klib -Xir-dce -Xwasm-use-new-exception-proposal
cp build/wasm/*.wasm build/wasm/*.mjs .
