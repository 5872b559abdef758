//! Names of functions, of calls from outside and of host functions.

use super::{names_of, rewrite, rewrite_with};
use kperf_rewriter::{Filter, Options, Pattern, RewrittenComponent};

#[test]
fn functions_of_components_that_have_equal_modules_have_names_of_their_own() {
    let part = |name: &str| {
        format!(
            r#"(component ${name} (core module $main (func $x (export "x"))) (core instance (instantiate $main)))
               (instance (instantiate ${name}))"#
        )
    };
    let (a, b) = (part("a"), part("b"));
    let rewritten = rewrite(&format!(
        r#"(component (core module $big (func $x) (func $y)) (core instance (instantiate $big)) {a} {b})"#
    ));
    assert_eq!(names_of(&rewritten), ["0 x", "1 y", "2 a/main::x", "3 b/main::x"]);
    // A path as long as one may write it would be in front of each name.
    let deep = format!("(component ${} {a})", "n".repeat(300));
    let rewritten = rewrite(&format!("(component (core module $big (func) (func)) {deep} {b})"));
    let names = rewritten.modules.iter().map(|module| module.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["app/big", "app/component[1]/a/main", "app/b/main"]);
}

/// The names of the calls from outside.
fn exports_of(rewritten: &RewrittenComponent) -> Vec<String> {
    let symbols = rewritten.exports.iter().flat_map(|table| &table.symbols);
    symbols.map(|symbol| format!("{} {}", symbol.id.0, symbol.display_name())).collect()
}

/// As wit-component does it: a nested component assembles the exported instance.
#[test]
fn what_is_lifted_is_called_as_it_is_exported() {
    let text = r#"(component
      (core module $m
        (func (export "a") (result i32) (i32.const 1))
        (func (export "post") (param i32))
        (func (export "run") (result i32) (i32.const 1))
        (func (export "callback") (param i32 i32 i32) (result i32) (i32.const 0)))
      (core instance $i (instantiate $m))
      (func $plain (result u32) (canon lift (core func $i "a") (post-return (core func $i "post"))))
      (func $in (result u32) (canon lift (core func $i "a")))
      (func $bag (result u32) (canon lift (core func $i "a")))
      (func $none (result u32) (canon lift (core func $i "a")))
      (func $run async (canon lift (core func $i "run") async (callback (core func $i "callback"))))
      (component $shim
        (import "import-f" (func $f (result u32)))
        (export "f" (func $f)))
      (instance $shim (instantiate $shim (with "import-f" (func $in))))
      (instance $bag (export "g" (func $bag)))
      (export "plain" (func $plain))
      (export "demo:a/shim@0.2.1" (instance $shim))
      (export "demo:a/bag" (instance $bag))
      (export "demo:a/again" (instance $bag))
      (export "run" (func $run)))"#;
    let rewritten = rewrite(text);
    assert_eq!(names_of(&rewritten), ["0 m::a", "1 post", "2 m::run", "3 callback"]);
    assert_eq!(
        exports_of(&rewritten),
        ["4 plain", "5 demo:a/shim@0.2.1#f", "6 demo:a/bag#g", "7 a", "8 run", "9 [callback]run"],
        "what nobody exports is called as its core function"
    );
    assert_eq!(rewritten.exports[0].module.name, "app/exports");
    let tables = kperf_rewriter::probed_component(&rewritten.wasm).expect("tables");
    assert_eq!(tables.iter().filter(|table| **table == rewritten.exports[0]).count(), 1);

    let only = |pattern: &str| {
        let only = vec![Pattern::parse(pattern).expect("a pattern")];
        let filter = Filter { only, ..Filter::default() };
        let rewritten = rewrite_with(text, &Options { filter, ..Options::default() });
        (names_of(&rewritten), exports_of(&rewritten))
    };
    assert_eq!(only("demo:a/bag#*"), (vec![], vec!["0 demo:a/bag#g".to_owned()]));
    assert_eq!(only("post"), (vec!["0 post".to_owned()], vec![]));
}

#[test]
fn what_is_lowered_is_called_as_it_is_imported() {
    let rewritten = rewrite(
        r#"(component
          (import "demo:lib/log@1.2.0" (instance $log (export "line" (func)) (export "mark" (func))))
          (import "tick" (func $tick))
          (core func $line (canon lower (func $log "line")))
          (core func $mark (canon lower (func $log "mark")))
          (core func $tick (canon lower (func $tick)))
          (core module $m
            (import "x" "0" (func)) (import "x" "1" (func)) (import "$root" "2" (func))
            (func (export "f")))
          (core instance (instantiate $m
            (with "x" (instance (export "0" (func $line)) (export "1" (func $mark))))
            (with "$root" (instance (export "2" (func $tick))))))
          ;; Another instance of it has other functions.
          (core instance (instantiate $m
            (with "x" (instance (export "0" (func $line)) (export "1" (func $tick))))
            (with "$root" (instance (export "2" (func $tick)))))))"#,
    );
    assert_eq!(names_of(&rewritten), ["0 demo:lib/log@1.2.0#line", "1 x.1", "2 tick", "3 f"]);
}

/// A name may lead through any number of definitions, and back through an instance's arguments.
#[test]
fn names_that_lead_far_take_no_time() {
    let mut text = String::from(
        r#"(component
          (core module $m (func (export "f")))
          (core instance $i (instantiate $m))
          (func $f0 (canon lift (core func $i "f")))
          (component $pass (import "f" (func $f)) (export "f" (func $f)) (export "g" (func $f)))"#,
    );
    for n in 0..900 {
        text += &format!(
            "(instance $i{n} (instantiate $pass (with \"f\" (func $f{n})))) (alias export $i{n} \"f\" (func $f{}))",
            n + 1
        );
    }
    // Each instance has two of the one before.
    text += "(instance $b0 (export \"a\" (func $f0)))";
    for n in 0..14 {
        let next = n + 1;
        text +=
            &format!("(instance $b{next} (export \"a\" (instance $b{n})) (export \"b\" (instance $b{n})))");
    }
    text += "(export \"last\" (func $f900)) (export \"bag\" (instance $b14)))";
    let begun = std::time::Instant::now();
    let rewritten = rewrite(&text);
    assert_eq!(
        exports_of(&rewritten),
        ["1 f"],
        "it is called as its core function, which is {:?}",
        names_of(&rewritten)
    );
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());

    let long = "n".repeat(50_000);
    let rewritten = rewrite(&format!(
        r#"(component (core module $m (func (export "f"))) (core instance $i (instantiate $m))
          (func $f (canon lift (core func $i "f")))
          (instance $x (export "{long}" (func $f)))
          (export "x" (instance $x)))"#
    ));
    assert!(exports_of(&rewritten)[0].len() < 500);
}
