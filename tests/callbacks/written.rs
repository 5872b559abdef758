//! Writes random modules of a few functions that do little but call, throw, catch and end, in every way. The host can see many or
//! few of the functions.

use fastrand::Rng;
use std::fmt::Write;

/// The number of functions, and of entries in the table.
const FUNCTIONS: usize = 6;
const PLACES: u32 = 5;

/// The text of a module.
pub(crate) fn module(seed: u64) -> String {
    let mut random = Rng::with_seed(seed);
    let mut maybe = |text: &'static str| if random.bool() { text } else { "" };
    let (table, global, tag) = (maybe("(export \"t\")"), maybe("(export \"g\")"), maybe("(export \"e\")"));
    let mut text = format!(
        "(module
          (type $v (func (param i32)))
          (import \"env\" \"a\" (func $a (type $v)))
          (import \"env\" \"b\" (func $b (type $v)))
          (import \"wasi_snapshot_preview1\" \"w\" (func $w (type $v)))
          (import \"env\" \"gives\" (func $gives (param funcref) (result funcref)))
          (tag $e {tag}) (tag $p (param i32))
          (table $t {table} {PLACES} funcref)
          (global $g {global} (mut funcref) (ref.null func))
          (global $fuel (mut i32) (i32.const 40))
          (elem declare func {})\n",
        names(0..FUNCTIONS)
    );
    // A module that exports no function references, and gets none, can only call by name.
    let gives = random.bool();
    for place in 0..PLACES {
        if random.u32(..3) > 0 {
            let callee = if random.u32(..6) == 0 { "$a".to_owned() } else { function(&mut random) };
            writeln!(text, "(elem (table $t) (i32.const {place}) func {callee})").unwrap();
        }
    }
    for n in 0..FUNCTIONS {
        let export = if n < 2 || random.u32(..3) == 0 { format!("(export \"f{n}\")") } else { String::new() };
        writeln!(text, "(func $f{n} {export} (type $v) (local $x i32) (local $y exnref)").unwrap();
        text.push_str("(if (i32.lt_s (global.get $fuel) (i32.const 1)) (then (return)))\n");
        text.push_str("(global.set $fuel (i32.sub (global.get $fuel) (i32.const 1)))\n");
        Writer { random: &mut random, text: &mut text, gives, depth: 0 }.statements();
        text.push_str(")\n");
    }
    text + ")"
}

fn names(functions: std::ops::Range<usize>) -> String {
    functions.map(|n| format!("$f{n} ")).collect()
}

fn function(random: &mut Rng) -> String {
    format!("$f{}", random.usize(..FUNCTIONS))
}

struct Writer<'a> {
    random: &'a mut Rng,
    text: &'a mut String,
    gives: bool,
    depth: u32,
}

impl Writer<'_> {
    fn statements(&mut self) {
        for _ in 0..self.random.u32(1..4) {
            self.statement();
        }
    }

    fn within(&mut self, before: &str, after: &str) {
        self.text.push_str(before);
        self.depth += 1;
        self.statements();
        self.depth -= 1;
        self.text.push_str(after);
    }

    fn statement(&mut self) {
        const ARGUMENT: &str = "(i32.add (local.get 0) (i32.const 1))";
        let (callee, place) = (function(self.random), self.random.u32(..PLACES));
        let most = if self.depth < 3 { 19 } else { 12 };
        let chosen = self.random.u32(..most);
        let line = match chosen {
            0..=2 => format!("(call {callee} {ARGUMENT})"),
            3 => format!("(call $a {ARGUMENT})"),
            4 => format!("(call {} {ARGUMENT})", if self.random.bool() { "$b" } else { "$w" }),
            5 => format!("(call_indirect $t (type $v) {ARGUMENT} (i32.const {place}))"),
            6 => format!(
                "(if (ref.test (ref $v) (table.get $t (i32.const {place})))
                   (then (call_ref $v {ARGUMENT} (ref.cast (ref $v) (table.get $t (i32.const {place}))))))"
            ),
            7 => match self.random.u32(..6) {
                0 => format!("(return_call {callee} {ARGUMENT})"),
                1 => format!("(return_call $a {ARGUMENT})"),
                2 => format!("(return_call_indirect $t (type $v) {ARGUMENT} (i32.const {place}))"),
                3 => format!("(return_call_ref $v {ARGUMENT} (ref.func {callee}))"),
                4 => "(return)".to_owned(),
                _ => "(unreachable)".to_owned(),
            },
            8 => format!("(table.set $t (i32.const {place}) (global.get $g))"),
            9 if self.gives => {
                format!("(table.set $t (i32.const {place}) (call $gives (ref.func {callee})))")
            }
            9 => format!("(global.set $g (ref.func {callee}))"),
            10 => "(if (i32.and (global.get $fuel) (i32.const 1)) (then (throw $e)))".to_owned(),
            11 => "(if (i32.and (global.get $fuel) (i32.const 2)) (then (throw $p (i32.const 9))))".to_owned(),
            12 => return self.within("(block (try_table (catch_all 0)\n", "))\n"),
            13 => {
                let before = "(block $l (result i32) (try_table (result i32) (catch $p $l) (catch $e 1)\n";
                return self.within(&format!("(block {before}"), "(i32.const 0))) (local.set $x))\n");
            }
            14 => {
                let before = "(block $l (result exnref) (try_table (catch_all_ref $l)\n";
                let after = if self.random.bool() {
                    ") (ref.null exn)) (local.set $y)\n"
                } else {
                    ") (return)) (throw_ref)\n"
                };
                return self.within(before, after);
            }
            15 => {
                let burn = "(global.set $fuel (i32.sub (global.get $fuel) (i32.const 1)))";
                let after = "(br_if $again (i32.gt_s (global.get $fuel) (i32.const 20))))\n";
                return self.within(&format!("(loop $again {burn}\n"), after);
            }
            16 => return self.within("(if (i32.and (global.get $fuel) (i32.const 4)) (then\n", "))\n"),
            17 => return self.within("(block (br_if 0 (i32.and (local.get 0) (i32.const 1)))\n", ")\n"),
            _ => return self.within("(block (result i32) (try_table (result i32) (i32.const 1) (br_if 1 (i32.and (local.get 0) (i32.const 2)))\n", ")) (drop)\n"),
        };
        self.text.push_str(&line);
        self.text.push('\n');
    }
}
