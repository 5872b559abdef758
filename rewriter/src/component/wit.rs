//! Names the functions that a component exports and imports, as in WIT:
//! `wasi:io/streams@0.2.0#[method]input-stream.read`.
//!
//! An export names an instance. A nested component may have assembled it from functions that were lifted outside. So
//! names are found by following definitions, as an engine does.

use std::collections::BTreeMap;
use std::rc::Rc;
use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentExport, ComponentExternalKind, ComponentInstance,
};

/// The most definitions that are followed for one component. Other functions have the names of their core functions.
const MOST_STEPS: usize = 1 << 16;
/// The most definitions that may lead from one to the next.
const DEEPEST: usize = 200;
/// The longest name of an instance, in bytes. It precedes its functions' names.
const LONGEST: usize = 200;

/// A core function that is lifted.
#[derive(Debug)]
pub(super) struct Lift {
    pub(super) core: u32,
    /// The core function that continues a waiting call (WASI 0.3).
    pub(super) callback: Option<u32>,
    /// Whether the host calls `post-return` after it has the result.
    pub(super) has_post_return: bool,
}

impl Lift {
    /// The lift of a canonical function, if it is one.
    pub(super) fn of(function: &CanonicalFunction) -> Option<Lift> {
        let CanonicalFunction::Lift { core_func_index, options, .. } = function else { return None };
        let callback = options.iter().find_map(|option| match option {
            wasmparser::CanonicalOption::Callback(function) => Some(*function),
            _ => None,
        });
        let has_post_return =
            options.iter().any(|option| matches!(option, wasmparser::CanonicalOption::PostReturn(_)));
        Some(Lift { core: *core_func_index, callback, has_post_return })
    }
}

/// The definitions of a component that give functions their names.
#[derive(Debug, Default)]
pub(super) struct Definitions<'a> {
    functions: Vec<Function<'a>>,
    instances: Vec<Instance<'a>>,
    exports: Vec<(&'a str, Item)>,
    /// The exported definitions, by name.
    exported: BTreeMap<&'a str, Item>,
    /// Number of lifted functions.
    lifts: usize,
}

/// A function or an instance, by its index.
#[derive(Clone, Copy, Debug)]
enum Item {
    Function(u32),
    Instance(u32),
}

#[derive(Clone, Copy, Debug)]
enum Function<'a> {
    Lift(usize),
    Import(&'a str),
    Member(u32, &'a str),
    Same(u32),
}

#[derive(Debug)]
enum Instance<'a> {
    Import(&'a str),
    /// A component's number in the scan.
    Of(Option<usize>, BTreeMap<&'a str, Item>),
    Bag(BTreeMap<&'a str, Item>),
    Member(u32, &'a str),
    Same(u32),
}

impl Item {
    fn new(kind: ComponentExternalKind, index: u32) -> Option<Item> {
        match kind {
            ComponentExternalKind::Func => Some(Item::Function(index)),
            ComponentExternalKind::Instance => Some(Item::Instance(index)),
            _ => None,
        }
    }
}

impl<'a> Definitions<'a> {
    pub(super) fn import(&mut self, name: &'a str, kind: ComponentExternalKind) {
        match kind {
            ComponentExternalKind::Func => self.functions.push(Function::Import(name)),
            ComponentExternalKind::Instance => self.instances.push(Instance::Import(name)),
            _ => {}
        }
    }

    pub(super) fn alias(&mut self, alias: &ComponentAlias<'a>) {
        if let ComponentAlias::InstanceExport { kind, instance_index, name } = *alias {
            match kind {
                ComponentExternalKind::Func => {
                    self.functions.push(Function::Member(instance_index, name));
                }
                ComponentExternalKind::Instance => {
                    self.instances.push(Instance::Member(instance_index, name));
                }
                _ => {}
            }
        }
    }

    pub(super) fn export(&mut self, export: &ComponentExport<'a>) {
        let Some(item) = Item::new(export.kind, export.index) else { return };
        let name = export.name.name;
        self.exports.push((name, item));
        self.exported.insert(name, item);
        match item {
            Item::Function(index) => self.functions.push(Function::Same(index)),
            Item::Instance(index) => self.instances.push(Instance::Same(index)),
        }
    }

    /// `of`: the number of the component, if it is known and instantiated.
    pub(super) fn instance(&mut self, instance: &ComponentInstance<'a>, of: Option<usize>) {
        let instance = match instance {
            ComponentInstance::Instantiate { args, .. } => {
                let args = args.iter().filter_map(|arg| Some((arg.name, Item::new(arg.kind, arg.index)?)));
                Instance::Of(of, args.collect())
            }
            ComponentInstance::FromExports(exports) => {
                let items = exports
                    .iter()
                    .filter_map(|export| Some((export.name.name, Item::new(export.kind, export.index)?)));
                Instance::Bag(items.collect())
            }
        };
        self.instances.push(instance);
    }

    /// Notes a lifted function.
    pub(super) fn lift(&mut self) {
        self.functions.push(Function::Lift(self.lifts));
        self.lifts += 1;
    }
}

/// The component that an index belongs to, and its arguments.
#[derive(Clone)]
struct Scope<'s, 'a> {
    component: usize,
    /// The arguments, and the component that their indices belong to. `None` for the component to be named.
    around: Option<Rc<(&'s BTreeMap<&'a str, Item>, Scope<'s, 'a>)>>,
}

/// The definition at the end of a chain.
enum Found<'s, 'a> {
    /// A function that the component to be named lifts.
    Lift(usize),
    /// A function that it imports: the instance, and the name.
    Import(Option<&'a str>, &'a str),
    /// An instance that it imports.
    Imported(&'a str),
    Of(Scope<'s, 'a>),
    Bag(&'s BTreeMap<&'a str, Item>, Scope<'s, 'a>),
}

/// Finds the names of one component's functions.
pub(super) struct Names<'s, 'a> {
    /// By number of the component. A component that is still being read instantiates nothing of interest.
    all: &'s [&'s Definitions<'a>],
    root: usize,
    steps: usize,
}

impl<'s, 'a> Names<'s, 'a> {
    pub(super) fn of(all: &'s [&'s Definitions<'a>], root: usize) -> Names<'s, 'a> {
        Names { all, root, steps: 0 }
    }

    /// For each lifted function the name that it is exported under, if any.
    pub(super) fn lifts(&mut self) -> Vec<Option<String>> {
        let Some(&own) = self.all.get(self.root) else { return Vec::new() };
        let mut names = vec![None; own.lifts];
        let here = Scope { component: self.root, around: None };
        let mut note = |lift: usize, name: String| {
            if let Some(place) = names.get_mut(lift).filter(|place| place.is_none()) {
                *place = Some(name);
            }
        };
        for &(name, item) in &own.exports {
            match self.follow(&here, item, 0) {
                Some(Found::Lift(lift)) if name.len() <= LONGEST => note(lift, name.to_owned()),
                Some(Found::Of(place)) => {
                    let Some(&inner) = self.all.get(place.component) else { continue };
                    for &(function, item) in &inner.exports {
                        if let Some(Found::Lift(lift)) = self.follow(&place, item, 0) {
                            note(lift, full(Some(name), function));
                        }
                    }
                }
                Some(Found::Bag(items, place)) => {
                    for (&function, &item) in items {
                        if let Some(Found::Lift(lift)) = self.follow(&place, item, 0) {
                            note(lift, full(Some(name), function));
                        }
                    }
                }
                _ => {}
            }
        }
        names
    }

    /// The name of an imported function, by its index.
    pub(super) fn import(&mut self, function: u32) -> Option<String> {
        let here = Scope { component: self.root, around: None };
        match self.follow(&here, Item::Function(function), 0)? {
            Found::Import(instance, name) => Some(full(instance, name)),
            _ => None,
        }
    }

    fn follow(&mut self, place: &Scope<'s, 'a>, item: Item, depth: usize) -> Option<Found<'s, 'a>> {
        self.steps += 1;
        if self.steps > MOST_STEPS || depth > DEEPEST {
            return None;
        }
        let own: &'s Definitions<'a> = self.all.get(place.component)?;
        match item {
            Item::Function(index) => match *own.functions.get(index as usize)? {
                Function::Lift(lift) => {
                    (place.around.is_none() && place.component == self.root).then_some(Found::Lift(lift))
                }
                Function::Import(name) => match &place.around {
                    None => Some(Found::Import(None, name)),
                    Some(around) => self.follow(&around.1, *around.0.get(name)?, depth + 1),
                },
                Function::Member(instance, name) => self.member(place, instance, name, depth),
                Function::Same(index) => self.follow(place, Item::Function(index), depth + 1),
            },
            Item::Instance(index) => match own.instances.get(index as usize)? {
                Instance::Import(name) => match &place.around {
                    None => Some(Found::Imported(name)),
                    Some(around) => self.follow(&around.1, *around.0.get(name)?, depth + 1),
                },
                Instance::Of(component, args) => {
                    let around = Some(Rc::new((args, place.clone())));
                    Some(Found::Of(Scope { component: (*component)?, around }))
                }
                Instance::Bag(items) => Some(Found::Bag(items, place.clone())),
                Instance::Member(instance, name) => self.member(place, *instance, name, depth),
                Instance::Same(index) => self.follow(place, Item::Instance(*index), depth + 1),
            },
        }
    }

    /// An instance's export with this name.
    fn member(
        &mut self,
        place: &Scope<'s, 'a>,
        instance: u32,
        name: &'a str,
        depth: usize,
    ) -> Option<Found<'s, 'a>> {
        match self.follow(place, Item::Instance(instance), depth + 1)? {
            // Nested instances have no names in WIT.
            Found::Imported(instance) => Some(Found::Import(Some(instance), name)),
            Found::Of(place) => {
                let item = *self.all.get(place.component)?.exported.get(name)?;
                self.follow(&place, item, depth + 1)
            }
            Found::Bag(items, place) => self.follow(&place, *items.get(name)?, depth + 1),
            Found::Lift(_) | Found::Import(..) => None,
        }
    }
}

/// `demo:shop/cart#total`. Its length is limited, since the instance's name precedes the name of each function.
fn full(instance: Option<&str>, name: &str) -> String {
    let short = |name: &str| name.chars().take(LONGEST).collect::<String>();
    match instance {
        Some(instance) => format!("{}#{}", short(instance), short(name)),
        None => short(name),
    }
}
