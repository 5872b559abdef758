use super::*;

/// The fields of an operator imply its effects: one with a label is a branch, and so on.
#[test]
fn all_operators_do_what_their_fields_say() {
    assert!(ALL.len() > 600, "only {} operators", ALL.len());
    for &(name, opcode, fields) in ALL {
        let has = |field: &str| fields.contains(&field);
        let effect = effect_of(opcode);
        assert_ne!(effect, Effect::Unknown, "{name}");
        let is = |effects: &[Effect]| effects.contains(&effect);
        let blocks = [Effect::Opens, Effect::Loops, Effect::OpensTable];
        assert_eq!(has("blockty") || has("try_table"), is(&blocks), "{name} begins a label");
        let labels = [Effect::Branches, Effect::Delegates];
        assert_eq!(has("relative_depth") || has("targets"), is(&labels), "{name} names labels");
        assert_eq!(has("resume_table"), is(&[Effect::Resumes]), "{name} runs a stack");
        if has("function_index") {
            assert!(is(&[Effect::Calls, Effect::TailCalls, Effect::Refers]), "{name} names a function");
        }
        // The pass looks for no indices in these.
        assert!(
            effect != Effect::Cheap || fields.iter().all(|&field| field == "value"),
            "{name} has an index"
        );
        let is_call = name.contains("Call") && !name.contains("Return");
        assert_eq!(is_call, is(&[Effect::Calls, Effect::CallsReference]), "{name} calls");
        assert_eq!(name.starts_with("ReturnCall"), is(&[Effect::TailCalls]), "{name} calls and returns");
        assert_eq!(name.contains("Wait"), is(&[Effect::Waits]), "{name} waits");
        assert_eq!(name == "Catch" || name == "CatchAll", is(&[Effect::Catches]), "{name} catches");
        let traps = ["Load", "Store", "Div", "Rem", "Atomic", "Throw", "Unreachable"];
        assert!(!is(&[Effect::Cheap]) || !traps.iter().any(|&trap| name.contains(trap)), "{name} may trap");
    }
}

#[test]
fn every_index_of_an_operator_is_told() {
    let told = |operator: Operator<'_>| {
        let mut all = Vec::new();
        each_named(&operator, |named| {
            all.push(named);
            Ok(())
        })
        .map(|()| all)
        .map_err(|error| error.to_string())
    };
    let copy = Operator::MemoryCopy { dst_mem: 1, src_mem: 2 };
    assert_eq!(told(copy), Ok(vec![Named::Memory(1), Named::Memory(2)]));
    let call = Operator::CallIndirect { type_index: 3, table_index: 4 };
    assert_eq!(told(call), Ok(vec![Named::Type(3), Named::Table(4)]));
    let bind = Operator::ContBind { argument_index: 5, result_index: 6 };
    assert_eq!(told(bind), Ok(vec![Named::Type(5), Named::Type(6)]));
    let mut branch = Operator::BrOnNull { relative_depth: 7 };
    assert_eq!(label_mut(&mut branch), Some(&mut 7));
    assert_eq!(told(branch), Ok(vec![Named::Label(7)]));
    assert_eq!(function(&Operator::RefFunc { function_index: 8 }), Some(8));
    let catches = vec![Catch::One { tag: 9, label: 10 }, Catch::All { label: 11 }];
    let try_table = wasmparser::TryTable { ty: wasmparser::BlockType::FuncType(12), catches };
    let wanted = vec![Named::Type(12), Named::Tag(9), Named::Label(10), Named::Label(11)];
    assert_eq!(told(Operator::TryTable { try_table }), Ok(wanted));
}
