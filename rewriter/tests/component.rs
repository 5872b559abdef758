//! Rewrites components: the results are valid, and their graph has the recorders and guards that they need.

mod names;
mod trampolines;

use kperf_abi::recorder::Form;
use kperf_abi::{SymbolTable, names as abi};
use kperf_rewriter::{
    Clock, ErrorKind, Filter, Imported, Inline, Left, ModuleFeature, Options, Pattern, Recording, Records,
    RewrittenComponent, component_records, rewrite_component,
};

fn wasm(text: &str) -> Vec<u8> {
    let wasm = wat::parse_str(text).expect("the text parses");
    validate(&wasm).expect("a valid component");
    wasm
}

fn validate(wasm: &[u8]) -> Result<(), wasmparser::Error> {
    let features = wasmparser::WasmFeatures::all();
    wasmparser::Validator::new_with_features(features).validate_all(wasm).map(|_| ())
}

fn rewrite(text: &str) -> RewrittenComponent {
    rewrite_with(text, &Options { module_name: "app".into(), imports: true, ..Options::default() })
}

fn rewrite_with(text: &str, options: &Options) -> RewrittenComponent {
    let rewritten = rewrite_component(&wasm(text), options).expect("it is rewritten");
    if let Err(error) = validate(&rewritten.wasm) {
        panic!("invalid: {error}\n{}", wasmprinter::print_bytes(&rewritten.wasm).unwrap_or_default());
    }
    rewritten
}

/// How many functions have each name.
fn names_of(rewritten: &RewrittenComponent) -> Vec<String> {
    let symbols = rewritten.modules.iter().flat_map(|module| &module.symbols.symbols);
    symbols.map(|symbol| format!("{} {}", symbol.id.0, symbol.display_name())).collect()
}

/// How many recorders a component has.
fn recorders(rewritten: &RewrittenComponent) -> usize {
    let recorder = Form::Component.wasm();
    rewritten.wasm.windows(recorder.len()).filter(|bytes| *bytes == recorder).count()
}

const LIB: &str = r#"(component $lib
  (import "demo:lib/log" (instance $log (export "line" (func (param "s" string) (result string)))))
  (core module $main
    (memory (export "mem") 1)
    (func $grow (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 8))
    (func $work (param i32) (result i32) (local.get 0))
    (func (export "len") (param i32 i32) (result i32) (call $work (local.get 1)))
    (func (export "post") (param i32)))
  (core instance $main (instantiate $main))
  (core func $line (canon lower (func $log "line")
    (memory (core memory $main "mem")) (realloc (core func $main "realloc"))))
  (core module $second
    (import "demo:lib/log" "line" (func $line (param i32 i32 i32)))
    (import "main" "len" (func $len (param i32 i32) (result i32)))
    (func $twice (export "twice") (param i32) (result i32)
      (call $line (i32.const 0) (i32.const 0) (i32.const 16))
      (i32.add (call $len (i32.const 0) (local.get 0)) (call $len (i32.const 0) (i32.const 5)))))
  (core instance $second (instantiate $second
    (with "demo:lib/log" (instance (export "line" (func $line))))
    (with "main" (instance $main))))
  (func (export "len") (param "s" string) (result u32) (canon lift (core func $main "len")
    (memory (core memory $main "mem")) (realloc (core func $main "realloc"))
    (post-return (core func $main "post"))))
  (func (export "twice") (param "n" u32) (result u32) (canon lift (core func $second "twice"))))"#;

#[test]
fn every_module_gets_probes_and_ids_of_its_own() {
    let rewritten = rewrite(LIB);
    assert_eq!(
        names_of(&rewritten),
        ["0 grow", "1 work", "2 main::len", "3 post", "4 demo:lib/log#line", "5 second::twice",],
        "the host's function is timed where it is called, another module's isn't"
    );
    let modules: Vec<&str> =
        rewritten.modules.iter().map(|module| module.symbols.module.name.as_str()).collect();
    assert_eq!(modules, ["app/main", "app/second"]);
    assert_eq!(recorders(&rewritten), 1);
    assert_eq!(rewritten.warnings, []);
    let tables = kperf_rewriter::probed_component(&rewritten.wasm).expect("tables");
    assert_eq!(tables.len(), 4, "of two modules, and of two of ours that tell calls from outside");
    assert!(rewritten.modules.iter().all(|module| tables.contains(&module.symbols)));
}

#[test]
fn what_runs_while_the_component_may_not_be_left_is_guarded() {
    let text = wasmprinter::print_bytes(&rewrite(LIB).wasm).expect("it prints");
    assert_eq!(
        text.matches("(import \"kperf\" \"hold\"").count(),
        2,
        "a module for both, though `post-return` is named later, and one for what `second` exports:\n{text}"
    );
    let guards = text.matches("(alias core export").count();
    assert!(guards > 0);
    // The original's functions are no longer named by options.
    for option in ["(realloc $realloc)", "(post-return $post)"] {
        assert!(!text.contains(option), "{option}");
    }
}

#[test]
fn nothing_changes_where_nothing_is_probed() {
    for text in [
        "(component)",
        r#"(component (core module $m (func (export "f"))) (export "m" (core module $m)))"#,
        r#"(component (import "f" (func)) (component (type u8)) (core module))"#,
    ] {
        let rewritten = rewrite(text);
        assert_eq!(rewritten.wasm, wasm(text), "{text}");
    }
}

#[test]
fn a_nested_component_has_a_recorder_of_its_own() {
    let rewritten = rewrite(
        r#"(component
          (core module $shared (func (export "f")))
          (component $inner
            (core module $m (func $inner_f (export "f")))
            (core instance $i (instantiate $m))
            (core instance $j (instantiate $m))
            (component $innermost
              (alias outer 2 0 (core module $shared'))
              (core instance $i (instantiate $shared'))
              (func (export "f") (canon lift (core func $i "f"))))
            (instance $k (instantiate $innermost))
            (func (export "f") (canon lift (core func $i "f"))))
          (component $types (type $t (record (field "a" u8))) (export "t" (type $t)))
          (instance $a (instantiate $inner))
          (instance $b (instantiate $inner))
          (instance $c (instantiate $types))
          (func (export "f") (alias export $a "f")))"#,
    );
    assert_eq!(names_of(&rewritten), ["0 f", "1 inner/m::inner_f"]);
    assert_eq!(
        recorders(&rewritten),
        2,
        "of `inner` and `innermost`; the outermost instantiates no core module"
    );
    let text = wasmprinter::print_bytes(&rewritten.wasm).expect("it prints");
    assert_eq!(text.matches("(import \"kperf:host/recorder\"").count(), 3);
}

#[test]
fn modules_that_are_passed_on_are_left_as_they_are() {
    let rewritten = rewrite(
        r#"(component
          (core module $passed (func (export "f")))
          (core module $probed (func (export "f")))
          (core module $aliased (func (export "f")))
          (component $takes
            (import "m" (core module $m (export "f" (func))))
            (core instance $i (instantiate $m))
            (func (export "f") (canon lift (core func $i "f"))))
          (component $exported
            (core module $inside (func (export "f")))
            (alias outer 1 2 (core module $a))
            (core instance $i (instantiate $inside))
            (core instance $j (instantiate $a))
            (func (export "f") (canon lift (core func $i "f"))))
          (instance $t (instantiate $takes (with "m" (core module $passed))))
          (instance $e (instantiate $exported))
          (core instance $p (instantiate $passed))
          (core instance $i (instantiate $probed))
          (core instance $a (instantiate $aliased))
          (export "e" (component $exported))
          (func (export "f") (canon lift (core func $i "f"))))"#,
    );
    assert_eq!(names_of(&rewritten), ["0 probed::f"]);
    let left: Vec<_> = rewritten.modules.iter().map(|module| (module.name.as_str(), module.left)).collect();
    assert_eq!(
        left,
        [
            ("app/passed", Some(Left::Passed)),
            ("app/probed", None),
            ("app/aliased", Some(Left::InPassed)),
            ("app/exported/inside", Some(Left::InPassed)),
        ]
    );
    assert_eq!(rewritten.warnings.len(), 3);
    assert_eq!(
        rewritten.warnings[0].to_string(),
        "no probes in the core module `app/passed`: it is exported or passed on as a module, and its imports may not change"
    );
}

/// Functions with a `post-return`: two core instances for each would be too many for engines.
#[test]
fn guards_stand_together_and_too_many_instances_are_refused() {
    let exports = |count: usize| -> String {
        let export = |n| {
            format!(
                r#"(func (export "f{n}") (result string) (canon lift (core func $i "f") (memory (core memory $i "m"))
                     (realloc (core func $i "realloc")) (post-return (core func $i "p{n}"))))"#
            )
        };
        (0..count).map(export).collect()
    };
    let posts =
        |count| -> String { (0..count).map(|n| format!(r#"(func (export "p{n}") (param i32))"#)).collect() };
    let text = |posts: String, exports: String, instances: usize| {
        let instances = "(core instance (instantiate $m))".repeat(instances);
        format!(
            r#"(component (core module $m (memory (export "m") 1) (func (export "f") (result i32) (i32.const 8))
                 (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 64)) {posts})
               (core instance $i (instantiate $m)) {instances} {exports})"#
        )
    };
    let rewritten = rewrite(&text(posts(600), exports(600), 0));
    let printed = wasmprinter::print_bytes(&rewritten.wasm).expect("it prints");
    assert_eq!(printed.matches("(import \"kperf\" \"hold\"").count(), 1);
    let many = wasm(&text(posts(1), exports(1), 999));
    let error = rewrite_component(&many, &Options::default()).expect_err("too many instances").to_string();
    assert!(error.contains("instances in a component; engines allow 1000"), "{error}");
}

/// Calls of concurrent tasks would be nested in each other.
#[test]
fn tasks_with_stacks_of_their_own_are_refused() {
    let text = |options: &str| {
        format!(
            r#"(component
              (core module $m (func (export "f") (result i32) (i32.const 0)) (func (export "g"))
                (func (export "callback") (param i32 i32 i32) (result i32) (i32.const 0)))
              (core instance $i (instantiate $m))
              (func (export "f") async (canon lift {options})))"#
        )
    };
    // Such a function has returned when another runs.
    rewrite(&text(r#"(core func $i "f") async (callback (core func $i "callback"))"#));
    let error = rewrite_component(&wasm(&text(r#"(core func $i "g") async"#)), &Options::default());
    let error = error.expect_err("a task with a stack").to_string();
    assert!(error.contains("lifted `async` and has no callback (WASI 0.3)"), "{error}");
}

/// Hundreds of instances with more arguments than they import take hardly longer than one.
#[test]
fn many_instances_of_a_module_take_time_in_proportion() {
    let exports: String = (0..50_000).map(|n| format!(r#"(export "f{n}" (func $f))"#)).collect();
    let time = |instances: usize| {
        let instances = r#"(core instance (instantiate $m (with "a" (instance $bag))))"#.repeat(instances);
        let component = wasm(&format!(
            r#"(component (core module $a (func (export "f"))) (core instance $a (instantiate $a))
                 (alias core export $a "f" (core func $f))
                 (core module $m (import "a" "f0" (func)) (func (export "g")))
                 (core instance $bag {exports}) {instances})"#
        ));
        let start = std::time::Instant::now();
        rewrite_component(&component, &Options::default()).expect("it is rewritten");
        start.elapsed()
    };
    let (one, many) = (time(1), time(900));
    // To look at all 45 million takes hundreds of times as long.
    assert!(many < 30 * one, "{one:?}, {many:?}");
}

#[test]
fn resources_types_and_outer_aliases_keep_their_places() {
    rewrite(
        r#"(component
          (type $u (record (field "n" u32)))
          (import "r" (instance $r (export "t" (type $t (sub resource))) (export "make" (func (result (own $t))))))
          (alias export $r "t" (type $t))
          (core module $dtor (func (export "drop") (param i32)))
          (core instance $d (instantiate $dtor))
          (type $own (resource (rep i32) (dtor (core func $d "drop"))))
          (core func $new (canon resource.new $own))
          (core func $rep (canon resource.rep $own))
          (core func $drop (canon resource.drop $t))
          (core func $make (canon lower (func $r "make")))
          (core module $m
            (type $f (func (param i32) (result i32)))
            (import "" "new" (func $new (type $f)))
            (import "" "rep" (func (type $f)))
            (import "" "drop" (func (param i32)))
            (import "" "make" (func (result i32)))
            (func $g (export "g") (param i32) (result i32) (call $new (local.get 0))))
          (core instance $i (instantiate $m (with "" (instance
            (export "new" (func $new)) (export "rep" (func $rep)) (export "drop" (func $drop))
            (export "make" (func $make))))))
          (export $exported "own" (type $own))
          (func $g (param "n" u32) (result (own $exported)) (canon lift (core func $i "g")))
          (export "g" (func $g))
          (component $nested
            (alias outer 1 $u (type $outer))
            (export $o "o" (type $outer))
            (core type $c (module (import "" "f" (func))))
            (core module $n (func (export "h") (param i32) (result i32) (local.get 0)))
            (core instance $k (instantiate $n))
            (func (export "h") (param "u" $o) (result u32) (canon lift (core func $k "h"))))
          (instance (instantiate $nested)))"#,
    );
}

#[test]
fn filters_hold_for_the_component_as_a_whole() {
    let only = |pattern: &str| Options {
        filter: Filter { only: vec![Pattern::parse(pattern).expect("a pattern")], ..Filter::default() },
        module_name: "app".into(),
        ..Options::default()
    };
    let rewritten = rewrite_with(LIB, &only("work"));
    assert_eq!(names_of(&rewritten), ["0 work"]);
    let rewritten = rewrite_with(LIB, &only("second::*"));
    assert_eq!(names_of(&rewritten), ["0 second::twice"]);
    let error = rewrite_component(&wasm(LIB), &only("wrok")).expect_err("no function");
    assert!(matches!(error.kind(), ErrorKind::PatternMatchesNothing { .. }), "{error}");
}

#[test]
fn what_is_refused_is_named() {
    let options = Options { module_name: "app".into(), ..Options::default() };
    let refused = |wasm: &[u8]| rewrite_component(wasm, &options).expect_err("it is refused").to_string();
    let again = rewrite(LIB).wasm;
    assert_eq!(
        refused(&again),
        "the module already has probes (a section `kperf.symbols`); rewrite the original"
    );
    assert_eq!(refused(&wasm("(module)")), "this is a core module, not a component");
    let reserved = r#"(component (core module $m (import "kperf" "enter" (func (param i32) (result i32))) (func))
        (core module $n (func (export "enter") (param i32) (result i32) (local.get 0)))
        (core instance $n (instantiate $n)) (core instance (instantiate $m (with "kperf" (instance $n)))))"#;
    assert_eq!(
        refused(&wasm(reserved)),
        "the core module `app/m`: the module uses the name `kperf.enter`, which is reserved for probes"
    );
    let used = r#"(component (core module $m (import "kperf" "mark" (func (param i32))) (func))
        (core module $n (func (export "mark") (param i32)))
        (core instance $n (instantiate $n)) (core instance (instantiate $m (with "kperf" (instance $n)))))"#;
    assert_eq!(refused(&wasm(used)), "the module uses the name `kperf.*`, which is reserved for probes");
    let mut nested = wasm("(component)");
    for _ in 0..120 {
        let mut around = wasm_encoder::Component::new();
        around.section(&wasm_encoder::RawSection { id: 4, data: &nested });
        nested = around.finish();
    }
    assert!(refused(&nested).contains("nested"), "{}", refused(&nested));
    assert_eq!(abi::COMPONENT_HOST, "kperf:host/recorder");
    let clock = Clock::Instructions;
    let counting = Recording::Inline(Inline { clock, ..Inline::default() });
    let allocations = Recording::Imported(Imported { allocations: true, ..Imported::default() });
    for (recording, expected) in [
        (Recording::Count, ModuleFeature::NativeStack),
        (Recording::inline(), ModuleFeature::InlineRecorder),
        (counting, ModuleFeature::InlineRecorder),
        (allocations, ModuleFeature::Allocations),
    ] {
        let options = Options { recording, ..Options::default() };
        let error = rewrite_component(&wasm(LIB), &options).expect_err("it is refused");
        assert!(
            matches!(error.kind(), ErrorKind::NotForComponents { feature } if *feature == expected),
            "{error}"
        );
    }
}

/// Options for modules whose clock is the number of instructions.
fn counting() -> Options {
    let clock = Clock::Instructions;
    Options {
        recording: Recording::Imported(Imported { clock, ..Imported::default() }),
        ..Options::default()
    }
}

/// Which recorder a component contains, and what that imports of the host.
#[test]
fn each_kind_of_record_has_a_recorder_of_its_own() {
    let profile = Options { recording: Recording::Profile { spans: true }, id_base: 7, ..Options::default() };
    for (options, records, form) in [
        (Options::default(), Records::Trace, Form::Component),
        (counting(), Records::Instructions, Form::ComponentInstructions),
        (profile, Records::Profile, Form::ComponentProfile),
    ] {
        let rewritten = rewrite_with(LIB, &options);
        assert_eq!(component_records(&rewritten.wasm), Some(records));
        let recorder = form.wasm();
        assert_eq!(rewritten.wasm.windows(recorder.len()).filter(|bytes| *bytes == recorder).count(), 1);
        let last = rewritten.symbols().map(SymbolTable::id_end).max().expect("symbols");
        if records == Records::Profile {
            let text = wasmprinter::print_bytes(&rewritten.wasm).expect("it prints");
            assert!(text.contains("(global (;0;) i32 i32.const 7)"), "{text}");
            let count =
                text.split("(global (;1;) i32 i32.const ").nth(1).and_then(|rest| rest.split(')').next());
            let count: u32 = count.and_then(|count| count.parse().ok()).expect("a count");
            assert!(7 + count >= last, "each id has a count: {count}, ids to {last}");
        }
    }
    assert_eq!(component_records(&wasm(LIB)), None);
    assert_eq!(component_records(b"no component"), None);
}

#[test]
fn a_byte_that_is_another_gives_an_error_or_a_valid_component() {
    let original = wasm(LIB);
    let options = Options { module_name: "app".into(), imports: true, ..Options::default() };
    let all = [
        options.clone(),
        Options { recording: counting().recording, ..options.clone() },
        Options { recording: Recording::Profile { spans: true }, ..options },
    ];
    let mut valid = 0;
    for at in 8..original.len() {
        for (byte, options) in [0, 1, 0x7f, 0xff, original[at] ^ 1, original[at].wrapping_add(1)]
            .into_iter()
            .flat_map(|byte| all.iter().map(move |options| (byte, options)))
        {
            let mut changed = original.clone();
            changed[at] = byte;
            let rewritten = rewrite_component(&changed, options);
            if validate(&changed).is_ok()
                && let Ok(rewritten) = rewritten
            {
                valid += 1;
                assert!(validate(&rewritten.wasm).is_ok(), "{byte:#x} at {at:#x}");
            }
        }
    }
    // Most of them only change a name or a number.
    assert!(valid > 1500, "{valid}");
}
