//! The files of traces.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fs, io};

use netem_ctl::{Bottleneck, Trace, TraceError};

use crate::whole::write_whole;

/// The traces of a plan, by their names in it. Each file is read once, because many cells may have the
/// same trace.
#[derive(Clone, Debug)]
pub(super) struct Traces {
    /// The file of the plan.
    plan: PathBuf,
    read: BTreeMap<String, (String, Trace)>,
}

impl Traces {
    /// The traces of the plan in a file. Their names are relative to its folder.
    pub(super) fn of(plan: &Path) -> Self {
        Self {
            plan: plan.to_owned(),
            read: BTreeMap::new(),
        }
    }

    /// Reads the traces of a path. The error is the direction and a message.
    pub(super) fn read(&mut self, path: &mut Bottleneck) -> Result<(), (&'static str, String)> {
        for (direction, path) in [
            ("forward", &mut path.forward),
            ("reverse", &mut path.reverse),
        ] {
            let Some(trace) = &mut path.trace else {
                continue;
            };
            if let Some((_, known)) = self.read.get(&trace.file) {
                trace.clone_from(known);
                continue;
            }
            let (text, read) = self.read_file(&trace.file).map_err(|error| {
                let cause = error.source().map(|cause| format!(": {cause}"));
                (direction, error.to_string() + &cause.unwrap_or_default())
            })?;
            trace.clone_from(&read);
            self.read.insert(trace.file.clone(), (text, read));
        }
        Ok(())
    }

    fn read_file(&self, file: &str) -> Result<(String, Trace), TraceError> {
        let copied = copies(&self.plan).join(copy_of(file));
        let path = if copied.exists() {
            copied
        } else {
            self.plan.parent().unwrap_or(Path::new("")).join(file)
        };
        match fs::read_to_string(&path) {
            Ok(text) => {
                let trace = Trace::of_text(file, &path, &text)?;
                Ok((text, trace))
            }
            Err(source) => Err(TraceError::Read { path, source }),
        }
    }

    /// Writes copies of the files beside a copy of the plan, which then needs no other file.
    pub(super) fn write_beside(&self, plan: &Path) -> io::Result<()> {
        if self.read.is_empty() {
            return Ok(());
        }
        let folder = copies(plan);
        fs::create_dir_all(&folder)?;
        for (file, (text, _)) in &self.read {
            // Half a trace is another trace.
            write_whole(&folder.join(copy_of(file)), text.as_bytes())?;
        }
        Ok(())
    }
}

/// The folder with the copied traces of the copy of a plan.
fn copies(plan: &Path) -> PathBuf {
    let mut folder = plan.as_os_str().to_owned();
    folder.push(".traces");
    folder.into()
}

/// Name of the copy of a file, which has no folders.
fn copy_of(file: &str) -> String {
    file.replace('%', "%25").replace('/', "%2F")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_plan_keeps_its_traces() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("there")).unwrap();
        fs::write(at("there/up"), "1\n2\n").unwrap();
        let mut path = Bottleneck::from_toml("forward.trace = \"../there/up\"").unwrap();
        fs::create_dir_all(at("plans")).unwrap();
        let mut traces = Traces::of(&at("plans/plan.toml"));
        traces.read(&mut path).unwrap();
        traces.write_beside(&at("copy.toml")).unwrap();
        fs::write(at("there/up"), "1\n3\n").unwrap();
        let mut copied = Bottleneck::from_toml("forward.trace = \"../there/up\"").unwrap();
        Traces::of(&at("copy.toml")).read(&mut copied).unwrap();
        assert_eq!(copied, path);
        Traces::of(&at("plans/plan.toml"))
            .read(&mut copied)
            .unwrap();
        assert_ne!(copied, path);
    }
}
