//! Holds the committed recorder modules against `recorder.wat`, `profile.wat`, `counts.wat` and `tree.wat`, and these against the crate's
//! constants.

use kperf_abi::recorder::Form;
use kperf_abi::{allocation, block, names, shadow, tree, word};

const FORMS: [(Form, &str); 14] = [
    (Form::Precise, "recorder.precise.wasm"),
    (Form::Ticker, "recorder.ticker.wasm"),
    (Form::Inline, "recorder.inline.wasm"),
    (Form::Instructions, "recorder.instructions.wasm"),
    (Form::Component, "recorder.component.wasm"),
    (Form::ComponentInstructions, "recorder.component.instructions.wasm"),
    (Form::ComponentProfile, "profile.component.wasm"),
    (Form::InlineAllocations, "recorder.inline.allocations.wasm"),
    (Form::InstructionsAllocations, "recorder.instructions.allocations.wasm"),
    (Form::Profile, "profile.wasm"),
    (Form::ProfileSpans, "profile.spans.wasm"),
    (Form::Counts, "counts.wasm"),
    (Form::Tree, "tree.wasm"),
    (Form::TreeFiles, "tree.files.wasm"),
];

/// With `BLESS=1` the modules are written anew.
#[test]
fn committed_modules_are_made_from_the_source() {
    for (form, file) in FORMS {
        let made = wat::parse_str(form.source()).expect("recorder.wat parses");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(format!("{}/src/recorder/{file}", env!("CARGO_MANIFEST_DIR")), &made)
                .expect("write the module");
        } else {
            assert!(made == form.wasm(), "{file} is not what its source says; BLESS=1 cargo test renews it");
        }
        // The inline form also has the code that the rewriter copies into functions.
        let most = match form {
            Form::TreeFiles => 5632,
            Form::InlineAllocations | Form::InstructionsAllocations => 4352,
            Form::Inline | Form::Instructions | Form::Tree => 3072,
            _ => 2048,
        };
        assert!((200..=most).contains(&made.len()), "{file} has {} bytes", made.len());
        wasmparser::validate(&made).expect("a valid module");
    }
}

#[test]
fn the_source_agrees_with_the_constants() {
    let source = FORMS.map(|(form, _)| form.source()).concat();
    let pages = block::MEMORY_PAGES;
    let exported = |name: &str| format!("(export \"{name}\")");
    for text in [
        format!(
            "(import \"{}\" \"{}\" (memory $block {pages} {pages} shared))",
            names::HOST_MODULE,
            names::HOST_MEMORY
        ),
        format!("(import \"{}\" \"{}\" (memory $clock 1 1 shared))", names::HOST_MODULE, names::HOST_CLOCK),
        format!("(import \"{}\" \"{}\" (func $host_now (result i64)))", names::HOST_MODULE, names::HOST_NOW),
        format!("(import \"{}\" \"{}\" (func $host_flush ", names::HOST_MODULE, names::HOST_FLUSH),
        exported(names::ENTER),
        exported(names::LEAVE),
        exported(names::UNWIND),
        exported(names::CLOSE),
        exported(names::SWITCH),
        exported(names::MARK),
        exported(names::FLUSH),
        exported(names::DEPTH),
        exported(names::STATE_DEPTH),
        exported(names::STATE_STACK),
        exported(names::STATE_LAST),
        exported(names::STATE_HEAD),
        exported(names::STATE_INSTRUCTIONS),
        exported(names::STATE_ALLOCATOR),
        exported(names::STATE_SAMPLE),
        format!("(i32.const {})", block::SAMPLES),
        exported(names::ALLOCATING),
        exported(names::ALLOCATED),
        exported(names::GREW),
        exported(names::CREATED),
        exported(names::LEAF),
        exported(names::HOLD),
        exported(names::RETURNED),
        exported(names::LOOK),
        format!("(import \"{}\" \"{}\" (func $host_attach ", names::HOST_MODULE, names::HOST_ATTACH),
        format!(
            "(import \"{}\" \"{}\" (memory $block {pages} {pages}))",
            names::HOST_MODULE,
            names::HOST_MEMORY
        ),
        format!("(i64.store (i32.const {})", block::LOST),
        format!("(i64.load (i32.const {}))", block::BEGUN),
        exported(names::INLINE_ENTER),
        exported(names::INLINE_LEAVE),
        exported(names::INLINE_LEAVE_LEAF),
        exported(names::INLINE_LEAF),
        exported(names::INLINE_UNWIND),
        exported(names::INLINE_HERE),
        exported(names::INLINE_BACK),
        format!("(memory $block {} {pages} {pages} shared)", exported(names::MEMORY)),
        format!("(i64.load (i32.const {}))", block::CLOCK),
        format!("(i64.const {})", block::CLOCK_OFF as i64),
        format!(
            "(i32.store (i32.const {}) (i32.const {}))",
            block::POSITION,
            block::START + block::HEADER_LEN
        ),
        format!("(global $full i32 (i32.const {}))", block::START + block::CAPACITY - 24),
        format!("(i32.load (i32.const {}))", block::LIMIT),
        format!("(i32.const {})", block::STACKS),
        format!("(i32.const {:#x})", word::LEAVE),
        format!("(i32.const {:#x})", word::LEAF),
        format!("(i32.const {:#x})", word::TIME),
        format!("(i32.const {:#x})", word::WIDE_TIME),
        format!("(i32.const {:#x})", word::UNWIND),
        format!("(i32.const {:#x})", word::SWITCH),
        format!("(i32.const {:#x})", word::MARK),
        format!("(i32.const {:#x})", word::MAX_PAYLOAD),
        format!("(i32.const {:#x})", word::RECORD),
        format!("(i32.const {:#x})", word::RECORD_MORE),
        format!("(i64.const {:#x})", allocation::MAX),
    ] {
        assert!(source.contains(&text), "recorder.wat doesn't say {text}");
    }
}

#[test]
fn the_source_of_profiles_agrees_with_the_constants() {
    let source = Form::ProfileSpans.source();
    let exported = |name: &str| format!("(export \"{name}\")");
    for text in [
        format!("(import \"{}\" \"{}\" (func $host_flush ", names::HOST_MODULE, names::HOST_FLUSH),
        format!("(memory $shadow {} {1} {1} shared)", exported(names::MEMORY), shadow::pages(0)),
        format!("(global $top {} (mut i32) (i32.const {}))", exported(names::STATE_TOP), shadow::STACK),
        format!("(global $id_base {} i32 ", exported(names::STATE_ID_BASE)),
        format!("(global $functions {} i32 ", exported(names::STATE_FUNCTIONS)),
        format!("(i32.const {})", shadow::LAST),
        exported(names::START),
        exported(names::ENTER),
        exported(names::LEAVE),
        exported(names::UNWIND),
        exported(names::INLINE_ENTER),
        exported(names::INLINE_ENTER_LEAF),
        exported(names::INLINE_LEAVE),
        exported(names::INLINE_LEAVE_LEAF),
        exported(names::INLINE_UNWIND),
        exported(names::INLINE_HERE),
        exported(names::INLINE_BACK),
    ] {
        assert!(source.contains(&text), "profile.wat doesn't say {text}");
    }
    assert_eq!(shadow::LAST + 16, shadow::COUNTS, "a slot that is always 0 stands between");
}

#[test]
fn the_source_of_profiles_of_components_agrees_with_the_constants() {
    let source = Form::ComponentProfile.source();
    let exported = |name: &str| format!("(export \"{name}\")");
    let imported = |name: &str| format!("(import \"{}\" \"{name}\"", names::HOST_MODULE);
    for text in [
        format!("{} (memory $shadow {})", imported(names::HOST_MEMORY), shadow::pages(0)),
        format!("{} (global $id_base i32)", imported(names::STATE_ID_BASE)),
        format!("{} (global $functions i32)", imported(names::STATE_FUNCTIONS)),
        imported(names::HOST_ATTACH_PROFILE),
        format!("(i32.const {})", shadow::COUNTS),
        format!("(i32.lt_u (local.get $depth) (i32.const {}))", shadow::SLOTS),
        format!("(i32.add (i32.const {})", shadow::STACK - 8),
        exported(names::ENTER),
        exported(names::LEAVE),
        exported(names::UNWIND),
        exported(names::DEPTH),
        exported(names::CLOSE),
        exported(names::HOLD),
        exported(names::RETURNED),
        exported(names::LOOK),
    ] {
        assert!(source.contains(&text), "profile.wat doesn't say {text}");
    }
    let counting = Form::ComponentInstructions.source();
    for text in [imported(names::HOST_ATTACH_COUNTING), exported(names::INSTRUCTIONS)] {
        assert!(counting.contains(&text), "recorder.wat doesn't say {text}");
    }
}

#[test]
fn the_source_of_counts_agrees_with_the_constants() {
    let source = Form::Counts.source();
    let exported = |name: &str| format!("(export \"{name}\")");
    for text in [
        format!("(import \"{}\" \"{}\" (func $host_flush ", names::HOST_MODULE, names::HOST_FLUSH),
        format!("(memory $counts {} {1} {1} shared)", exported(names::MEMORY), shadow::pages(0)),
        format!("(global $id_base {} i32 ", exported(names::STATE_ID_BASE)),
        format!("(global $functions {} i32 ", exported(names::STATE_FUNCTIONS)),
        exported(names::START),
        exported(names::INLINE_LEAF),
    ] {
        assert!(source.contains(&text), "counts.wat doesn't say {text}");
    }
    assert!(!source.contains(names::STATE_TOP), "it has no stack");
}

#[test]
fn the_source_of_trees_agrees_with_the_constants() {
    let source = Form::TreeFiles.source();
    let exported = |name: &str| format!("(export \"{name}\")");
    for text in [
        format!("(import \"{}\" \"proc_exit\"", names::WASI),
        format!("(global $cur (mut i32) (i32.const {}))", tree::NODES),
        format!("(global $free (mut i32) (i32.const {}))", tree::NODES + 2 * tree::NODE_LEN),
        format!("(i32.ge_u (global.get $free) (i32.const {}))", tree::TABLE),
        format!("(i32.store offset={} (local.get $at)", tree::TABLE),
        format!("(i32.load offset={} (i32.add", tree::PLACES),
        format!("(i32.load offset={} (i32.add", tree::PLACES + 4),
        format!("(i32.load offset={}\n", tree::CRC),
        format!("(i32.const {}))\n        (i32.const 2)))", 2 * tree::MAX_NODES - 1),
        format!("(i32.const {})))\n              (br $next)", (2 * tree::MAX_NODES - 1) * 4),
        format!("(i32.store (local.get $at) (i32.const {}))", tree::OTHER as i32),
        format!("(call $at (i32.const {}))", tree::Text::File as u32),
        format!("(call $fill (i32.const {}) (global.get $unix))", tree::Text::HoleUnix as u32),
        format!("(call $text (i32.const {}))\n    (call $seal", tree::Text::EndWithoutClock as u32),
        exported(names::TAKE),
        exported(names::ENTER),
        exported(names::LEAVE),
        exported(names::UNWIND),
        exported(names::STATE_INSTRUCTIONS),
        exported(names::INSIDE_BASE),
        exported(names::INSIDE_PAGES),
        exported(names::INSIDE_GROW),
        exported(names::INSIDE_BEFORE),
        exported(names::INSIDE_AFTER),
        exported(names::INSIDE_ABORT),
        exported(names::INSIDE_EXIT),
        exported(names::INSIDE_COMMAND),
        exported(names::INSIDE_COMPLETED),
        exported(names::INSIDE_START),
        exported(names::INSIDE_STARTED),
        exported(names::INLINE_ENTER),
        exported(names::INLINE_LEAVE),
        exported(names::INLINE_UNWIND),
        exported(names::INLINE_HERE),
        exported(names::INLINE_BACK),
    ] {
        assert!(source.contains(&text), "tree.wat doesn't say {text}");
    }
    assert_eq!(tree::PLACES + 8 * tree::TEXTS as u32, 200, "the table of CRC-32 comes after the places");
    assert_eq!(tree::FILE, 656_384, "the head of tree.wat says it");
}
