//! Checks that imports between files of a folder, and between folders of a module, form no cycle.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// The module of `tcpexp-pair` whose folders are layers.
const SPP: &str = "spp";
/// Its layers, each of which may use those before it.
const LAYERS: [&str; 8] = [
    "point",
    "crossing",
    "clock",
    "alignment",
    "linking",
    "matching",
    "pairing",
    "run",
];

/// A module's path below its crate, without `crate`.
type ModulePath = Vec<String>;

/// The modules of one crate: what each names, and what each re-exports from its children.
#[derive(Default)]
struct Crate {
    named: BTreeMap<ModulePath, Vec<ModulePath>>,
    /// From a module and a name to the child module that defines the name.
    reexports: BTreeMap<(ModulePath, String), String>,
}

/// Paths that one file names, absolute below its crate.
struct Paths {
    module: ModulePath,
    named: Vec<ModulePath>,
}

impl Crate {
    fn read(src: &Path) -> Self {
        let mut all = Self::default();
        all.read_folder(src, &[]);
        all
    }

    fn read_folder(&mut self, folder: &Path, module: &[String]) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let is_root = ["mod", "lib", "main"].contains(&stem.as_str());
            let below: ModulePath = if is_root {
                module.to_vec()
            } else {
                module.iter().cloned().chain([stem]).collect()
            };
            if path.is_dir() {
                self.read_folder(&path, &below);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                self.read_file(&path, below);
            }
        }
    }

    fn read_file(&mut self, path: &Path, module: ModulePath) {
        let file = syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
        if module.last().is_some_and(|name| is_test_module(name)) {
            return;
        }
        self.add_file(&file, module);
    }

    fn add_file(&mut self, file: &syn::File, module: ModulePath) {
        for item in &file.items {
            if let Item::Use(item) = item
                && !matches!(item.vis, syn::Visibility::Inherited)
            {
                for import in flatten(&item.tree) {
                    if let [child, _, ..] = import.path.as_slice() {
                        let key = (module.clone(), import.name);
                        self.reexports.insert(key, child.clone());
                    }
                }
            }
        }
        let mut paths = Paths {
            module: module.clone(),
            named: Vec::new(),
        };
        paths.visit_file(file);
        self.named.entry(module).or_default().extend(paths.named);
    }

    /// The module that defines what `path` names, as far as it is one of this crate's.
    fn resolve(&self, path: &[String]) -> ModulePath {
        let mut module = ModulePath::new();
        for name in path {
            let mut child = module.clone();
            child.push(name.clone());
            if self.has(&child) {
                module = child;
            } else if let Some(child) = self.reexports.get(&(module.clone(), name.clone())) {
                module.push(child.clone());
                if !self.has(&module) {
                    module.pop();
                }
                break;
            } else {
                break;
            }
        }
        module
    }

    fn has(&self, module: &[String]) -> bool {
        self.named.keys().any(|known| known.starts_with(module))
    }

    /// For each module with children: which child imports which.
    fn imports(&self) -> BTreeMap<ModulePath, BTreeMap<String, BTreeSet<String>>> {
        let mut imports: BTreeMap<_, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (module, named) in &self.named {
            for path in named {
                let target = self.resolve(path);
                let shared = module.iter().zip(&target).take_while(|(a, b)| a == b);
                let depth = shared.count();
                if let (Some(from), Some(to)) = (module.get(depth), target.get(depth)) {
                    let children = imports.entry(module[..depth].to_vec()).or_default();
                    children.entry(from.clone()).or_default().insert(to.clone());
                }
            }
        }
        imports
    }
}

impl Paths {
    /// Adds a path that starts with `crate`, `super` or `self`; other paths name no neighbour.
    fn add(&mut self, path: &[String]) {
        let supers = path.iter().take_while(|name| *name == "super").count();
        let (base, rest): (&[String], &[String]) = match path {
            [first, rest @ ..] if first == "crate" => (&[], rest),
            [first, rest @ ..] if first == "self" => (&self.module, rest),
            _ if supers > 0 && supers <= self.module.len() => {
                let kept = self.module.len() - supers;
                (&self.module[..kept], &path[supers..])
            }
            _ => return,
        };
        self.named.push([base, rest].concat());
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        let is_test = match item {
            Item::Mod(item) => item.content.is_some() && is_test_only(&item.attrs),
            Item::Fn(item) => is_test_only(&item.attrs),
            Item::Use(item) => is_test_only(&item.attrs),
            Item::Impl(item) => is_test_only(&item.attrs),
            _ => false,
        };
        if !is_test {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for import in flatten(&item.tree) {
            self.add(&import.path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|name| name.ident.to_string());
        self.add(&names.collect::<Vec<_>>());
        visit::visit_path(self, path);
    }
}

/// One name that a `use` brings into a module.
struct Import {
    path: Vec<String>,
    /// The last name of the path, or the name after `as`; empty for `*`.
    name: String,
}

impl Import {
    fn below(first: &syn::Ident, mut rest: Self) -> Self {
        rest.path.insert(0, first.to_string());
        rest
    }
}

/// All names of a `use`.
fn flatten(tree: &UseTree) -> Vec<Import> {
    let named = |ident: &syn::Ident, name: &syn::Ident| Import {
        path: vec![ident.to_string()],
        name: name.to_string(),
    };
    match tree {
        UseTree::Path(path) => {
            let rest = flatten(&path.tree).into_iter();
            rest.map(|rest| Import::below(&path.ident, rest)).collect()
        }
        UseTree::Name(name) => vec![named(&name.ident, &name.ident)],
        UseTree::Rename(name) => vec![named(&name.ident, &name.rename)],
        UseTree::Glob(_) => vec![Import {
            path: Vec::new(),
            name: String::new(),
        }],
        UseTree::Group(group) => group.items.iter().flat_map(flatten).collect(),
    }
}

/// True for `#[cfg(test)]`: tests may look at everything.
fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Path>()
                .is_ok_and(|path| path.is_ident("test"))
    })
}

/// True for files that hold only tests and their helpers.
fn is_test_module(name: &str) -> bool {
    ["tests", "laws", "testdata", "scripted", "script"].contains(&name)
}

/// The names that reach themselves again through what they import.
fn on_a_cycle(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<&str> {
    let reaches_itself = |start: &&str| {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut next = vec![*start];
        while let Some(name) = next.pop() {
            for other in imports.get(name).into_iter().flatten() {
                if reached.insert(other) {
                    next.push(other);
                }
            }
        }
        reached.contains(start)
    };
    let names = imports.keys().map(String::as_str);
    names.filter(reaches_itself).collect()
}

fn crates() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn layers_between_two_captures_import_only_lower_layers() {
    let imports = Crate::read(&crates().join("tcpexp-pair/src")).imports();
    let layers = &imports[&vec![SPP.to_owned()]];
    for (layer, others) in layers {
        let place = |name: &String| LAYERS.iter().position(|known| known == name);
        assert!(
            place(layer).is_some(),
            "{layer} has no place among the layers"
        );
        for other in others {
            assert!(
                place(other) < place(layer),
                "{layer} imports {other}, which is not below it"
            );
        }
    }
}

#[test]
fn imports_within_a_folder_have_no_cycle() {
    let mut cycles = Vec::new();
    for entry in fs::read_dir(crates()).unwrap() {
        let path = entry.unwrap().path();
        if !path.join("src").is_dir() {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        for (module, imports) in Crate::read(&path.join("src")).imports() {
            let folder = [&[name.to_owned()], module.as_slice()].concat().join("/");
            let on_cycle = on_a_cycle(&imports);
            if !on_cycle.is_empty() {
                let edges = on_cycle.iter().map(|name| (*name, &imports[*name]));
                cycles.push(format!("{folder}: {:?}", edges.collect::<Vec<_>>()));
            }
        }
    }
    assert!(cycles.is_empty(), "\n{}\n", cycles.join("\n"));
}

#[test]
fn a_renamed_reexport_hides_no_other_name() {
    let root = syn::parse_file("pub use error::Error; pub use store::Error as StoreError;");
    let mut all = Crate::default();
    all.add_file(&root.unwrap(), ModulePath::new());
    for module in ["error", "store"] {
        all.named.insert(vec![module.to_owned()], Vec::new());
    }
    assert_eq!(all.resolve(&["Error".to_owned()]), ["error"]);
    assert_eq!(all.resolve(&["StoreError".to_owned()]), ["store"]);
}

#[test]
fn cycle_through_three_files_is_found() {
    let import = |(from, to): (&str, &str)| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    let imports = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")];
    let imports = imports.map(import).into_iter().collect();
    assert_eq!(on_a_cycle(&imports), ["a", "b", "c"]);
}
