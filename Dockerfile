# The command alone:
#   docker build -t kperf-wasm .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" kperf-wasm run app.wasm
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked

FROM debian:bookworm-slim
COPY --from=build /src/target/release/kperf-wasm /usr/local/bin/
# Whom to trust, for Collectors behind https.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# HOME is where wasmtime keeps compiled modules.
ENV HOME=/tmp
WORKDIR /work
ENTRYPOINT ["kperf-wasm"]
