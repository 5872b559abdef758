//! An HTTP handler of WASI 0.3: `/` greets, `/fibonacci/N` computes, `/echo` gives the request's body back while it comes, `/count/N`
//! streams N lines, `/late` panics when the answer has begun, `/panic` panics, `/error` answers with an error.

use wasip3::http::types::{ErrorCode, Fields, Request, Response};
use wasip3::{wit_bindgen, wit_future, wit_stream};

wasip3::http::service::export!(Service);

struct Service;

impl wasip3::exports::http::handler::Guest for Service {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        let path = request.get_path_with_query().unwrap_or_default();
        let (name, argument) = match path.trim_start_matches('/').split_once('/') {
            Some((name, argument)) => (name.to_owned(), argument.parse().unwrap_or(0)),
            None => (path.trim_start_matches('/').to_owned(), 0),
        };
        let status = match name.as_str() {
            "" | "fibonacci" | "echo" | "count" | "late" => 200,
            "panic" => panic!("as you wish"),
            "error" => return Err(ErrorCode::InternalError(Some("as you wish".into()))),
            _ => 404,
        };
        let (mut body, contents) = wit_stream::new();
        let (_, trailers) = wit_future::new(|| Ok(None));
        let (response, _) = Response::new(Fields::new(), Some(contents), trailers);
        response.set_status_code(status).expect("a status");
        wit_bindgen::spawn_local(async move {
            match name.as_str() {
                "" => drop(body.write_all(b"hello\n".to_vec()).await),
                "fibonacci" => drop(body.write_all(format!("{}\n", fibonacci(argument)).into_bytes()).await),
                "count" => {
                    for n in 1..=argument {
                        // What the client doesn't take comes back.
                        if !body.write_all(format!("{n}\n").into_bytes()).await.is_empty() {
                            return;
                        }
                    }
                }
                "echo" => {
                    let (_, taken) = wit_future::new(|| Ok(()));
                    let (mut incoming, _) = Request::consume_body(request, taken);
                    while let Some(byte) = incoming.next().await {
                        body.write_all(vec![byte]).await;
                    }
                }
                "late" => {
                    body.write_all(b"so far\n".to_vec()).await;
                    panic!("as you wish, later");
                }
                _ => drop(body.write_all(b"there is nothing here\n".to_vec()).await),
            }
        });
        Ok(response)
    }
}

#[inline(never)]
fn fibonacci(n: u64) -> u64 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}
