//! The files of a plan: the plan and those that it includes, merged into one table.
//!
//! A file is parsed behind as many line breaks as the files before it have bytes, so a span is a
//! position in all files together, and names the file that the user can correct.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::error::{Fault, PlanError};
use super::{kernel, place, presets};

/// Key of the list of included files.
const INCLUDE: &str = "include";
/// Beginning of the names of plans that come with tcpexp.
const PRESET: &str = "preset:";

/// The files of a plan; the plan itself is the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources(Vec<File>);

#[derive(Clone, Debug)]
struct File {
    path: PathBuf,
    /// Line breaks in place of the files before, then the text of this one.
    padded: String,
    /// Position of its text.
    start: usize,
    /// The files that it includes, by their indices.
    includes: Vec<usize>,
}

impl File {
    fn text(&self) -> &str {
        &self.padded[self.start..]
    }
}

impl Sources {
    /// A plan with the files that it includes.
    pub(super) fn read(path: &Path, text: &str) -> Result<Self, PlanError> {
        let mut all = Self::default();
        all.add(path, text, &mut Vec::new())?;
        Ok(all)
    }

    fn add(
        &mut self,
        path: &Path,
        text: &str,
        within: &mut Vec<PathBuf>,
    ) -> Result<usize, PlanError> {
        let start = self.0.last().map_or(0, |last| last.padded.len() + 1);
        let index = self.0.len();
        self.0.push(File {
            path: path.to_owned(),
            padded: "\n".repeat(start) + text,
            start,
            includes: Vec::new(),
        });
        let wanted = match self.wanted(index) {
            Ok(wanted) => wanted,
            Err(fault) => return Err(self.error(None, fault)),
        };
        within.push(canonical(path));
        for name in wanted {
            let fault = |message: String| Fault::new(name.span(), message);
            let (included, text) = match find(path, name.get_ref()) {
                Ok(found) => found,
                Err(message) => return Err(self.error(None, fault(message))),
            };
            if within.contains(&canonical(&included)) {
                let message = format!("{} includes itself", included.display());
                return Err(self.error(None, fault(message)));
            }
            let included = self.add(&included, &text, within)?;
            self.0[index].includes.push(included);
        }
        within.pop();
        Ok(index)
    }

    /// The names in the list of included files.
    fn wanted(&self, index: usize) -> Result<Vec<Spanned<String>>, Fault> {
        let table = DeTable::parse(&self.0[index].padded)?;
        let Some(list) = table.get_ref().get(INCLUDE) else {
            return Ok(Vec::new());
        };
        let expected = |span| Fault::new(span, "include: expected a list of file names");
        let DeValue::Array(names) = list.get_ref() else {
            return Err(expected(list.span()));
        };
        let name = |name: &Spanned<DeValue<'_>>| match name.get_ref().as_str() {
            Some(text) => Ok(Spanned::new(name.span(), text.to_owned())),
            None => Err(expected(name.span())),
        };
        names.iter().map(name).collect()
    }

    /// All files as one table. A key of a later file replaces that of an earlier one, and the plan's own
    /// replaces all; tables are merged, lists are not.
    pub(super) fn table(&self) -> Result<Spanned<DeTable<'_>>, Fault> {
        let span = 0..self.0.first().map_or(0, |plan| plan.padded.len());
        Ok(Spanned::new(span, self.merged(0)?))
    }

    fn merged(&self, index: usize) -> Result<DeTable<'_>, Fault> {
        let Some(file) = self.0.get(index) else {
            return Ok(DeTable::new());
        };
        let mut own = DeTable::parse(&file.padded)?.into_inner();
        own.remove(INCLUDE);
        // One way of writing a key replaces another only if both are flat.
        kernel::flatten(&mut own)?;
        let mut all = DeTable::new();
        for included in &file.includes {
            all = merge(&all, &self.merged(*included)?);
        }
        Ok(merge(&all, &own))
    }

    /// The plan as one text, which needs no other file.
    pub(super) fn text(&self) -> Result<String, Fault> {
        if let [plan] = self.0.as_slice() {
            return Ok(plan.text().to_owned());
        }
        let all = toml::Table::deserialize(Deserializer::from(self.table()?))?;
        let names = self.0.iter().map(|file| file.path.display().to_string());
        let names = names.collect::<Vec<_>>().join(" ").replace('\n', " ");
        let mut text = format!("# Merged from {names}\n");
        for (key, value) in &all {
            // Within one value, the writer keeps the order of the matrix's lists.
            let key = toml::Value::from(key.as_str());
            let _ = writeln!(text, "{key} = {value}");
        }
        Ok(text)
    }

    /// The error for a fault. `root` is the parsed plan, if it could be parsed.
    pub(super) fn error(&self, root: Option<&Spanned<DeTable<'_>>>, fault: Fault) -> PlanError {
        let Fault { span, message } = fault;
        // A fault of the plan as a whole has no key.
        let root = root.filter(|_| !span.is_empty());
        let key = root.and_then(|root| place::key_at(root.get_ref(), &span));
        let at = self.0.iter().rfind(|file| file.start <= span.start);
        // A file that cannot be parsed has no keys to search.
        let key = key.or_else(|| {
            let is_key = message.trim() == "duplicate key";
            let text = at.filter(|_| is_key)?.padded.get(span.clone())?;
            Some(text.trim().to_owned())
        });
        let (path, line) = at.map_or((PathBuf::new(), 1), |file| {
            let end = span.start.min(file.padded.len());
            let before = &file.padded.as_bytes()[file.start..end];
            let line = before.split(|byte| *byte == b'\n').count();
            (file.path.clone(), line)
        });
        PlanError::Wrong {
            path,
            line,
            key: key.map_or_else(String::new, |key| format!("{key}: ")),
            message: message.trim().replace('\n', ", "),
        }
    }
}

/// The path and text of an included file. The error is a message.
fn find(plan: &Path, name: &str) -> Result<(PathBuf, String), String> {
    if let Some(preset) = name.strip_prefix(PRESET) {
        let text = presets::text(preset).ok_or_else(|| {
            let known = presets::names().collect::<Vec<_>>().join(", ");
            format!("include: no preset is named {preset}; the presets are {known}")
        })?;
        return Ok((PathBuf::from(name), text.to_owned()));
    }
    let path = plan.parent().unwrap_or(Path::new("")).join(name);
    let text = fs::read_to_string(&path);
    let text = text.map_err(|error| format!("include: cannot read {}: {error}", path.display()))?;
    Ok((path, text))
}

/// The path by which a file is recognised.
fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The keys of both tables, with those of `later` in place of equal ones.
fn merge<'i>(earlier: &DeTable<'i>, later: &DeTable<'i>) -> DeTable<'i> {
    let mut all = DeTable::new();
    for (key, value) in earlier {
        match later.get_key_value(key.get_ref().as_ref()) {
            None => all.insert(key.clone(), value.clone()),
            Some((key, new)) => {
                let value = match (value.get_ref(), new.get_ref()) {
                    (DeValue::Table(earlier), DeValue::Table(later)) => {
                        Spanned::new(new.span(), DeValue::Table(merge(earlier, later)))
                    }
                    _ => new.clone(),
                };
                all.insert(key.clone(), value)
            }
        };
    }
    for (key, value) in later {
        if !earlier.contains_key(key.get_ref().as_ref()) {
            all.insert(key.clone(), value.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::plan::Plan;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn with(files: &[(&str, &str)]) -> Self {
            let folder = Self(tempfile::tempdir().unwrap());
            for (name, text) in files {
                let path = folder.0.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            folder
        }

        fn read(&self) -> Result<Plan, PlanError> {
            Plan::read(&self.0.path().join("plan.toml"))
        }

        fn refusal(&self) -> String {
            let error = self.read().unwrap_err().to_string();
            error.replace(&format!("{}/", self.0.path().display()), "")
        }
    }

    const BASE: &str = r#"kind = "lab"
[path.forward]
rate = "8mbit"
delay = "10ms"
buffer = "30p"
[matrix]
cc = ["cubic", "reno"]
path.forward.delay = ["10ms", "20ms"]
link = [{ name = "slow", rate = "1mbit" }, { name = "fast", rate = "9mbit" }]
[[traffic]]
name = "bulk"
tool = "iperf3"
duration = "10s"
"#;

    #[test]
    fn keys_of_the_plan_replace_those_of_included_files() {
        let plan = "include = [\"parts/base.toml\"]\npath.forward.buffer = \"50p\"\nmatrix.cc = [\"bbr\"]\n";
        let folder = Folder::with(&[("plan.toml", plan), ("parts/base.toml", BASE)]);
        let merged = folder.read().unwrap();
        assert_eq!(merged.cells.len(), 4);
        assert_eq!(merged.varied, ["delay_ms", "link", "rate_mbps"]);
        let path = &merged.cells[0].setup.path.forward;
        assert_eq!(path.buffer.unwrap().to_string(), "50p");
        assert_eq!(path.delay.unwrap().to_exact_text(), "10ms");
    }

    #[test]
    fn merged_text_is_the_same_plan() {
        let folder = Folder::with(&[
            ("plan.toml", "include = [\"base.toml\"]\nname = \"mine\"\n"),
            ("base.toml", BASE),
        ]);
        let merged = folder.read().unwrap();
        let hashes = |plan: &Plan| -> Vec<String> {
            plan.cells.iter().map(|cell| cell.hash.clone()).collect()
        };
        let alone = Plan::parse(Path::new("plan.toml"), &merged.text).unwrap();
        assert_eq!(hashes(&alone), hashes(&merged));
        assert_eq!(hashes(&alone).len(), 8);
        let base = Plan::parse(Path::new("base.toml"), BASE).unwrap();
        assert_eq!(hashes(&base), hashes(&merged));
        assert_eq!(merged.in_lab().unwrap().cells.len(), 8);
    }

    #[test]
    fn a_fault_names_the_file_and_line_that_have_it() {
        let with = |plan: &str, base: &str| {
            Folder::with(&[("plan.toml", plan), ("base.toml", base)]).refusal()
        };
        let include = "# A plan\ninclude = [\"base.toml\"]\n";
        assert_snapshot!(with(include, &BASE.replace("30p", "30 packets")), @r#"base.toml:5: path.forward.buffer: "30 packets" is not a buffer: expected packets "90p", bytes "64kB" or "64KiB", time "100ms", or a multiple of the BDP (rate times base RTT of the path) "0.5bdp""#);
        assert_snapshot!(with(&format!("{include}path.forward.buffer = \"30 packets\"\n"), BASE), @r#"plan.toml:3: path.forward.buffer: "30 packets" is not a buffer: expected packets "90p", bytes "64kB" or "64KiB", time "100ms", or a multiple of the BDP (rate times base RTT of the path) "0.5bdp""#);
        assert_snapshot!(with(&format!("{include}path.forward.bufer = \"30p\"\n"), BASE), @"plan.toml:3: path.forward.bufer: unknown field `bufer`, expected one of `rate`, `linklayer`, `overhead`, `police`, `police_burst`, `slot`, `slot_most`, `slot_packets`, `slot_bytes`, `trace`, `delay`, `jitter`, `jitter_distribution`, `jitter_reorders`, `loss`, `reorder`, `duplicate`, `buffer`, `queue`, `ecn`, `target`, `interval`, `update_interval`, `ce_threshold`, `flow_queues`, `red_min`, `red_max`, `red_probability`, `isolation`, `flows`");
        assert_snapshot!(with(include, &BASE.replace("[matrix]", "[matrix")), @"base.toml:6: unclosed table, expected `]`");
        assert_snapshot!(with(include, "include = [\"plan.toml\"]\n"), @"base.toml:1: plan.toml includes itself");
        assert_snapshot!(with("include = [\"other.toml\"]\n", BASE), @"plan.toml:1: include: cannot read other.toml: No such file or directory (os error 2)");
        assert_snapshot!(with("include = \"base.toml\"\n", BASE), @"plan.toml:1: include: expected a list of file names");
        assert_snapshot!(with("include = [\"preset:modem\"]\n", BASE), @"plan.toml:1: include: no preset is named modem; the presets are adsl-2011, downloads, geo-satellite, incast, rrul-be, video, voip-g711, web-page");
    }
}
