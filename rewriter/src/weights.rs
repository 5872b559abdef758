//! What each instruction counts.

use crate::module::operators::{self, NAMES};
use crate::{Error, ErrorKind, twin};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use wasmparser::Operator;

/// What counts as so many instructions, where instructions are the clock.
///
/// By default each operator is one. Structure is none (`block`, `loop`, `try_table`, `try`, `unreachable`, `return`, `nop`, `drop`):
/// optimizers add and remove it. What copies or fills `n` bytes or elements counts `n / 8` more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// By the operators' numbers.
    operators: Arc<[u32]>,
    /// What copies or fills so many bytes or elements counts one more; `None`: it doesn't.
    bulk: Option<u32>,
    /// What each call of a function counts, beside the operator that makes it.
    entry: u32,
}

/// Operators that are no code of their own.
const STRUCTURE: [&str; 8] = ["nop", "drop", "block", "loop", "try_table", "try", "unreachable", "return"];

/// Where code ends or begins: nobody executes them.
const NEVER: [&str; 5] = ["else", "end", "catch", "catch_all", "delegate"];

impl Default for Weights {
    fn default() -> Weights {
        let weights = NAMES.iter().map(|name| {
            let name = name_of(name);
            u32::from(!STRUCTURE.contains(&name) && !NEVER.contains(&name))
        });
        Weights { operators: weights.collect(), bulk: Some(8), entry: 0 }
    }
}

impl Weights {
    /// What wasmtime's fuel takes by default: a call of a function is one more, and so is each byte or element that is copied or
    /// filled. (But for `table.grow`, whose elements count nothing here.)
    pub fn fuel() -> Weights {
        let mut weights = Weights { bulk: Some(1), entry: 1, ..Weights::default() };
        for name in ["try_table", "try"] {
            weights.set(name, 1);
        }
        weights
    }

    /// Reads a table: lines `NAME WEIGHT`, where `#` begins a comment. What isn't named keeps its default. NAME is an operator as
    /// the text format writes it (`select` is both of its forms, `ref.cast` that of nullable references too), or one of
    ///
    /// * `bulk`: what copies or fills so many bytes or elements counts one more, a power of two, or `off`
    /// * `entry`: what each call of a function counts beside the operator that makes it
    /// * `all`: every operator that counts anything by default
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadWeights`], with the number of the line.
    pub fn parse(text: &str) -> Result<Weights, Error> {
        let mut weights = Weights::default();
        for (n, line) in text.lines().enumerate() {
            let bad = |message: String| -> Error { ErrorKind::BadWeights { line: n + 1, message }.into() };
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            match words[..] {
                [] => {}
                ["bulk", "off"] => weights.bulk = None,
                [name, weight] => {
                    let weight = weight
                        .parse()
                        .map_err(|_| bad(format!("`{weight}` is no whole number from 0 to {}", u32::MAX)))?;
                    weights.set_named(name, weight).map_err(bad)?;
                }
                _ => return Err(bad("it is not of the form `NAME WEIGHT`".to_owned())),
            }
        }
        Ok(weights)
    }

    fn set_named(&mut self, name: &str, weight: u32) -> Result<(), String> {
        match name {
            "bulk" if weight.is_power_of_two() => self.bulk = Some(weight),
            "bulk" => return Err("`bulk` is a power of two, or `off`".to_owned()),
            "entry" => self.entry = weight,
            "all" => {
                let counting = self.operators.iter().map(|&before| if before > 0 { weight } else { 0 });
                self.operators = counting.collect();
            }
            name if NEVER.contains(&name) => return Err(format!("`{name}` is never executed")),
            name if self.set(&name.replace('.', "_"), weight) => {}
            name => return Err(format!("there is no operator `{name}`")),
        }
        Ok(())
    }

    /// Sets all forms of an operator. Answers whether there is such an operator.
    fn set(&mut self, name: &str, weight: u32) -> bool {
        let mut is_known = false;
        for (visit, place) in NAMES.iter().zip(Arc::make_mut(&mut self.operators)) {
            if name_of(visit) == name {
                *place = weight;
                is_known = true;
            }
        }
        is_known
    }

    /// Tells these weights from others; `None` for the default ones.
    pub(crate) fn digest(&self) -> Option<String> {
        let usual = Weights::default();
        if *self == usual {
            return None;
        }
        let mut hash = Sha256::new();
        for (name, (weight, usual)) in NAMES.iter().zip(self.operators.iter().zip(&*usual.operators)) {
            if weight != usual {
                hash.update(format!("{name} {weight}\n"));
            }
        }
        hash.update(format!("bulk {:?}\nentry {}\n", self.bulk, self.entry));
        let mut digest = twin::hexadecimal(&hash.finalize());
        digest.truncate(16);
        Some(digest)
    }

    #[inline]
    pub(crate) fn of(&self, operator: &Operator<'_>) -> u64 {
        operators::number(operator).and_then(|n| self.operators.get(n)).copied().unwrap_or(1).into()
    }

    /// By how many bits a length is shifted to the right to become what it counts.
    pub(crate) fn bulk_shift(&self) -> Option<u32> {
        self.bulk.map(u32::ilog2)
    }

    pub(crate) fn entry(&self) -> u64 {
        self.entry.into()
    }
}

/// `i32_add` for `visit_i32_add`: the name in the text format, with `_` for `.`. Some operators have several forms there.
fn name_of(visit: &str) -> &str {
    match visit.strip_prefix("visit_").unwrap_or(visit) {
        "typed_select" | "typed_select_multi" => "select",
        "ref_test_non_null" | "ref_test_nullable" => "ref_test",
        "ref_cast_non_null" | "ref_cast_nullable" => "ref_cast",
        "ref_cast_desc_eq_non_null" | "ref_cast_desc_eq_nullable" => "ref_cast_desc_eq",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_changes_what_it_names() {
        let weights =
            Weights::parse("# ours\ni32.div_u 20   # slow\nmemory.atomic.wait32 7\n\nbulk 4\nentry 3\n");
        let weights = weights.expect("a table");
        let of = |operator| weights.of(&operator);
        assert_eq!([of(Operator::I32DivU), of(Operator::I32DivS), of(Operator::Drop)], [20, 1, 0]);
        assert_eq!((weights.bulk_shift(), weights.entry()), (Some(2), 3));
        assert_eq!(Weights::parse("bulk off").expect("a table").bulk_shift(), None);
        let all = Weights::parse("all 2\nnop 1").expect("a table");
        assert_eq!([Operator::I32Add, Operator::Drop, Operator::Nop].map(|op| all.of(&op)), [2, 0, 1]);
    }

    /// The name of an operator as the text format has it, by its rule: the first part is what it works on, and atomics have more.
    fn text_name(visit: &str) -> String {
        const PREFIXES: [&str; 26] = [
            "any", "array", "atomic", "cont", "data", "elem", "extern", "f32", "f32x4", "f64", "f64x2",
            "global", "i16x8", "i31", "i32", "i32x4", "i64", "i64x2", "i8x16", "local", "memory", "ref",
            "struct", "table", "v128", "i8",
        ];
        let name = name_of(visit);
        let Some((prefix, rest)) = name.split_once('_').filter(|(prefix, _)| PREFIXES.contains(prefix))
        else {
            return name.to_owned();
        };
        let mut rest = rest.to_owned();
        for part in ["atomic_", "rmw_", "rmw8_", "rmw16_", "rmw32_"] {
            rest = rest.replace(part, &part.replace('_', "."));
        }
        format!("{prefix}.{rest}")
    }

    #[test]
    fn every_operator_has_its_name_of_the_text_format() {
        // The parser of the text format is the judge of names.
        let parse = |name: &str| wat::parse_str(format!("(module (func {name}))"));
        let is_known = |name: &str| {
            !parse(name).err().is_some_and(|error| error.to_string().contains("unknown operator"))
        };
        assert!(!is_known("i32.ad") && !is_known("ref.test_nullable") && is_known("select"));
        for visit in NAMES {
            let name = text_name(visit);
            assert!(is_known(&name), "`{name}` of {visit} is no name of the text format");
            let weights = Weights::parse(&format!("{name} 77"));
            if NEVER.contains(&name.as_str()) {
                assert!(weights.is_err(), "{name}");
                continue;
            }
            let weights = weights.expect("a table");
            // All operators of this name, and no other.
            for (other, &weight) in NAMES.iter().zip(weights.operators.iter()) {
                assert_eq!(weight == 77, text_name(other) == name, "`{name}` and {other}");
            }
        }
    }

    #[test]
    fn forms_of_an_operator_weigh_the_same() {
        let weights =
            Weights::parse("select 5\nref.test 6\nref.cast 7\nref.cast_desc_eq 8").expect("a table");
        let hty = wasmparser::HeapType::Abstract { shared: false, ty: wasmparser::AbstractHeapType::Any };
        let forms = [
            Operator::Select,
            Operator::TypedSelect { ty: wasmparser::ValType::I32 },
            Operator::RefTestNonNull { hty },
            Operator::RefTestNullable { hty },
            Operator::RefCastNonNull { hty },
            Operator::RefCastNullable { hty },
            Operator::RefCastDescEqNonNull { hty },
            Operator::RefCastDescEqNullable { hty },
        ];
        assert_eq!(forms.map(|form| weights.of(&form)), [5, 5, 6, 6, 7, 7, 8, 8]);
    }

    #[test]
    fn what_is_wrong_in_a_table_is_told_with_its_line() {
        let error = |text: &str| Weights::parse(text).expect_err("an error").to_string();
        assert_eq!(error("nop 1\ni32.ad 3"), "line 2 of the weights: there is no operator `i32.ad`");
        assert_eq!(error("end 1"), "line 1 of the weights: `end` is never executed");
        assert_eq!(error("bulk 3"), "line 1 of the weights: `bulk` is a power of two, or `off`");
        assert_eq!(
            error("i32.add -1"),
            "line 1 of the weights: `-1` is no whole number from 0 to 4294967295"
        );
        assert_eq!(error("i32.add"), "line 1 of the weights: it is not of the form `NAME WEIGHT`");
    }
}
