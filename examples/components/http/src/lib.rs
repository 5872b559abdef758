//! An HTTP handler: `/` greets, `/fibonacci/N` computes, `/echo` gives the request's body back while it comes, `/count/N` streams N
//! lines, `/headers` says which headers came, `/panic` panics, `/late` panics when the answer has begun, `/never` answers nothing.

use wasip2::exports::http::incoming_handler::Guest;
use wasip2::http::types::{
    Fields, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam,
};
use wasip2::io::streams::{OutputStream, StreamError};

struct Handler;

wasip2::http::proxy::export!(Handler);

impl Guest for Handler {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let path = request.path_with_query().unwrap_or_default();
        let (name, argument) = match path.trim_start_matches('/').split_once('/') {
            Some((name, argument)) => (name, argument.parse().unwrap_or(0)),
            None => (path.trim_start_matches('/'), 0),
        };
        match name {
            "" => answer(out, 200, |body| _ = write(body, b"hello\n")),
            "fibonacci" => answer(out, 200, |body| {
                write(body, format!("{}\n", fibonacci(argument)).as_bytes());
            }),
            "echo" => answer(out, 200, |body| echo(&request, body)),
            "count" => answer(out, 200, |body| count(argument, body)),
            "headers" => answer(out, 200, |body| headers(&request, body)),
            "panic" => panic!("as you wish"),
            "late" => answer(out, 200, |body| {
                write(body, b"so far\n");
                body.blocking_flush().expect("it is sent");
                panic!("as you wish, later")
            }),
            "never" => {}
            _ => answer(out, 404, |body| _ = write(body, b"there is nothing here\n")),
        }
    }
}

#[inline(never)]
fn fibonacci(n: u64) -> u64 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

#[inline(never)]
fn answer(out: ResponseOutparam, status: u16, fill: impl FnOnce(&OutputStream)) {
    let headers = Fields::new();
    headers.append("x-handler", b"rust").expect("a header");
    let response = OutgoingResponse::new(headers);
    response.set_status_code(status).expect("a status");
    let body = response.body().expect("a body");
    ResponseOutparam::set(out, Ok(response));
    let stream = body.write().expect("a stream");
    fill(&stream);
    drop(stream);
    OutgoingBody::finish(body, None).expect("the body ends");
}

#[inline(never)]
fn count(lines: u64, body: &OutputStream) {
    for n in 1..=lines {
        if !write(body, format!("{n}\n").as_bytes()) {
            return;
        }
    }
}

#[inline(never)]
fn headers(request: &IncomingRequest, body: &OutputStream) {
    for (name, value) in request.headers().entries() {
        write(body, format!("{name}: {}\n", String::from_utf8_lossy(&value)).as_bytes());
    }
}

#[inline(never)]
fn echo(request: &IncomingRequest, body: &OutputStream) {
    let incoming = request.consume().expect("a body");
    let stream = incoming.stream().expect("a stream");
    loop {
        match stream.blocking_read(4096) {
            Ok(bytes) => {
                if !write(body, &bytes) {
                    return;
                }
            }
            Err(StreamError::Closed) => break,
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Writes at most 4096 bytes at a time, as it must. Answers whether the client is still there.
fn write(body: &OutputStream, bytes: &[u8]) -> bool {
    bytes.chunks(4096).all(|part| body.blocking_write_and_flush(part).is_ok())
}
