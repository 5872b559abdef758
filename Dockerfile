# The command alone: docker run --rm -v "$PWD:/work" kperf-wasm run app.wasm
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked

FROM debian:bookworm-slim
COPY --from=build /src/target/release/kperf-wasm /usr/local/bin/
# HOME is where wasmtime keeps compiled modules.
ENV HOME=/tmp
WORKDIR /work
ENTRYPOINT ["kperf-wasm"]
