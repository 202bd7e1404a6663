//! Imports between the files of a folder, and between the folders of a module, go one way only.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The module of `tcpexp-measure` whose folders are layers.
const SPP: &str = "crates/tcpexp-measure/src/spp";
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

/// For each name in `folder`, the neighbours that its source imports after one of `prefixes`.
fn imports(folder: &Path, prefixes: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let mut imports = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let files = if path.is_dir() {
            let files = fs::read_dir(&path).unwrap();
            files.map(|file| file.unwrap().path()).collect()
        } else {
            vec![path]
        };
        let source: String = files.iter().map(|file| without_tests(file)).collect();
        let named = prefixes.iter().flat_map(|prefix| {
            let after = source.split(prefix).skip(1);
            after.map(|after| {
                let end = after.find(|c: char| !c.is_alphanumeric() && c != '_');
                after[..end.unwrap_or(after.len())].to_owned()
            })
        });
        let others = named.filter(|other| *other != name).collect();
        imports.insert(name, others);
    }
    imports
}

/// A file without its tests, which may look at everything.
fn without_tests(file: &Path) -> String {
    let source = fs::read_to_string(file).unwrap();
    let tests = source.find("#[cfg(test)]\nmod tests {");
    source[..tests.unwrap_or(source.len())].to_owned()
}

/// A name that reaches itself again through what it imports.
fn on_a_cycle(imports: &BTreeMap<String, BTreeSet<String>>) -> Option<&str> {
    imports.keys().map(String::as_str).find(|&start| {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut next = vec![start];
        while let Some(name) = next.pop() {
            for other in imports.get(name).into_iter().flatten() {
                if reached.insert(other) {
                    next.push(other);
                }
            }
        }
        reached.contains(start)
    })
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn layers_between_two_captures_import_only_lower_layers() {
    let imports = imports(&root().join(SPP), &["crate::spp::"]);
    for (number, layer) in LAYERS.iter().enumerate() {
        for other in &imports[*layer] {
            assert!(
                LAYERS[..number].contains(&other.as_str()) || !imports.contains_key(other),
                "{layer} imports {other}, which is not below it"
            );
        }
    }
    let known = |name: &str| LAYERS.contains(&name) || ["mod", "tests"].contains(&name);
    let unknown: Vec<&String> = imports.keys().filter(|name| !known(name)).collect();
    assert!(
        unknown.is_empty(),
        "{unknown:?} have no place among the layers"
    );
}

#[test]
fn no_file_of_a_layer_imports_itself_through_its_neighbours() {
    for layer in LAYERS {
        let folder = root().join(SPP).join(layer);
        if folder.is_dir() {
            let imports = imports(&folder, &["super::"]);
            assert_eq!(on_a_cycle(&imports), None, "in {}", folder.display());
        }
    }
}
