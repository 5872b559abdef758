//! Makes requests and a call tree of one trace.

use crate::feed::Feed;
use crate::options::Options;
use crate::tree::Tree;
use kperf_js_exports::text_of;
use kperf_otlp::{Request, SpanOptions, Spans};
use std::io;

/// A message for users.
type Failure = String;

/// Reads a trace in pieces.
///
/// A damaged trace's faults are in the report; only bytes that aren't a trace at all are an error.
pub struct Core {
    requests: Option<Requests>,
    tree: Option<Trees>,
}

/// The result of [`Core::next`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next request.
    Request(Request),
    /// More of the trace is needed.
    Wait,
    /// There are no more requests.
    Done,
}

struct Requests {
    feed: Feed,
    /// Taken when the reader begins.
    options: Option<SpanOptions>,
    spans: Option<Spans<Feed>>,
}

struct Trees {
    feed: Feed,
    tree: Option<Tree>,
}

impl Core {
    /// Begins a trace.
    pub fn new(options: Options) -> Core {
        let requests = options.spans.map(|fields| Requests {
            feed: Feed::default(),
            options: Some(fields.options()),
            spans: None,
        });
        let tree = options.tree.then(|| Trees { feed: Feed::default(), tree: None });
        Core { requests, tree }
    }

    /// Takes the trace's next bytes, of any number.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if let Some(requests) = &self.requests {
            requests.feed.push(bytes);
        }
        if let Some(trees) = &mut self.tree {
            trees.feed.push(bytes);
            trees.read()?;
        }
        Ok(())
    }

    /// Marks the trace as complete.
    pub fn end(&mut self) -> Result<(), Failure> {
        if let Some(requests) = &self.requests {
            requests.feed.end();
        }
        if let Some(trees) = &mut self.tree {
            trees.feed.end();
            trees.read()?;
        }
        Ok(())
    }

    /// The next request, if requests were asked for and its spans are complete.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Step, Failure> {
        let Some(requests) = &mut self.requests else { return Ok(Step::Done) };
        let Some(spans) = requests.spans()? else { return Ok(Step::Wait) };
        match spans.next() {
            Ok(Some(request)) => Ok(Step::Request(request)),
            Ok(None) => Ok(Step::Done),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Step::Wait),
            Err(error) => Err(text_of(&error)),
        }
    }

    /// A request of the spans that don't fill one yet.
    pub fn partial(&mut self) -> Option<Request> {
        self.requests.as_mut()?.spans.as_mut()?.partial()
    }

    /// The report so far, as `kperf-wasm report --format json` writes it.
    pub fn report(&mut self, compensate: bool) -> Result<Vec<u8>, Failure> {
        self.tree()?.report(compensate).map_err(|error| text_of(&error))
    }

    /// The call tree so far, in columns, as JSON.
    pub fn call_tree(&mut self) -> Result<Vec<u8>, Failure> {
        self.tree()?.columns().map_err(|error| text_of(&error))
    }

    fn tree(&mut self) -> Result<&mut Tree, Failure> {
        let trees = self.tree.as_mut().ok_or("the call tree was not asked for")?;
        Ok(trees.tree.as_mut().ok_or("the trace's header isn't there yet")?)
    }
}

impl Requests {
    fn spans(&mut self) -> Result<Option<&mut Spans<Feed>>, Failure> {
        if self.spans.is_none() {
            let Some(reader) = self.feed.reader().map_err(|error| text_of(&error))? else { return Ok(None) };
            self.spans = Some(Spans::new(reader, self.options.take().unwrap_or_default()));
        }
        Ok(self.spans.as_mut())
    }
}

impl Trees {
    fn read(&mut self) -> Result<(), Failure> {
        if self.tree.is_none() {
            self.tree = self.feed.reader().map_err(|error| text_of(&error))?.map(Tree::new);
        }
        self.tree.as_mut().map_or(Ok(()), Tree::read).map_err(|error| text_of(&error))
    }
}
