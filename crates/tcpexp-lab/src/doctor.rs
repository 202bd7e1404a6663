//! Checks this machine for everything that a lab needs.

use std::collections::BTreeMap;
use std::fmt;
use std::process::Command;

use crate::apt::{self, Apt};
use crate::cache::Cache;
use crate::kernel::{Kernel, KernelSource};
use crate::modules;
use crate::programs::{self, DEPMOD, Need, Program, QEMU, XZ};

/// One requirement of the lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the requirement.
    pub what: String,
    /// Result of the check.
    pub state: State,
}

/// Result of the check of a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Found, with its path or version.
    Found(String),
    /// Missing, with the consequence and the remedy.
    Absent(String),
    /// Missing and required, with the remedy.
    Missing(String),
}

/// Checks programs, the kernel and its modules.
pub fn examine(cache: &Cache, kernel: &KernelSource) -> Vec<Finding> {
    let mut findings = vec![virtual_machine()];
    findings.extend(programs_of_packages());
    findings.push(guests_kernel(cache, kernel));
    findings
}

fn virtual_machine() -> Finding {
    let version = QEMU.path().and_then(|path| {
        let output = Command::new(path).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().next().map(str::to_owned)
    });
    let state = version.map_or_else(|| missing(QEMU.package), State::Found);
    Finding {
        what: QEMU.name.to_owned(),
        state,
    }
}

/// The other programs, by package.
fn programs_of_packages() -> Vec<Finding> {
    let mut packages: BTreeMap<&str, Vec<Program>> = BTreeMap::new();
    for program in programs::copied().into_iter().chain([DEPMOD, XZ]) {
        packages.entry(program.package).or_default().push(program);
    }
    packages
        .into_iter()
        .map(|(package, programs)| finding(package, &programs))
        .collect()
}

fn finding(package: &str, programs: &[Program]) -> Finding {
    let absent: Vec<&Program> = programs
        .iter()
        .filter(|program| program.path().is_none())
        .collect();
    let names = |programs: &[&Program]| {
        let names: Vec<&str> = programs.iter().map(|program| program.name).collect();
        names.join(" ")
    };
    let state = if absent.is_empty() {
        State::Found(names(&programs.iter().collect::<Vec<_>>()))
    } else if absent.iter().any(|program| program.need == Need::Lab) {
        missing(package)
    } else {
        State::Absent(format!(
            "guests have no {}: {}",
            names(&absent),
            install(package)
        ))
    };
    Finding {
        what: package.to_owned(),
        state,
    }
}

fn missing(package: &str) -> State {
    State::Missing(install(package))
}

/// The command that installs a package.
fn install(package: &str) -> String {
    format!("apt-get install --no-install-recommends {package}")
}

fn guests_kernel(cache: &Cache, source: &KernelSource) -> Finding {
    let found = |kernel: Kernel| {
        let modules = modules::choose(&kernel)?;
        Ok(format!(
            "{} with {} modules",
            kernel.release,
            modules.files.len()
        ))
    };
    let state = Kernel::cached(cache, source).and_then(|cached| match (cached, source) {
        (Some(kernel), _) => found(kernel).map(State::Found),
        (None, KernelSource::Files { .. }) => Kernel::newest(cache, source)
            .and_then(found)
            .map(State::Found),
        // A check downloads nothing.
        (None, KernelSource::Distribution) => {
            let package = Apt::of_this_machine().newest()?;
            Ok(State::Absent(format!("will be downloaded: {package}")))
        }
        (None, KernelSource::Debian(version)) => {
            apt::has_keys()?;
            Ok(State::Absent(format!(
                "will be downloaded from Debian's archive: {version}"
            )))
        }
    });
    Finding {
        what: "kernel".to_owned(),
        state: state.unwrap_or_else(|error| State::Missing(error.to_string())),
    }
}

impl Finding {
    /// True if the requirement is met.
    pub fn is_fine(&self) -> bool {
        !matches!(self.state, State::Missing(_))
    }
}

/// One line.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, text) = match &self.state {
            State::Found(text) => ("found", text),
            State::Absent(text) => ("absent", text),
            State::Missing(text) => ("MISSING", text),
        };
        write!(f, "{word:<8} {:<19} {text}", self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &'static str, need: Need) -> Program {
        Program {
            name,
            package: "tools",
            need,
        }
    }

    #[test]
    fn line_names_the_package_to_install_or_the_lost_function() {
        let lines: Vec<String> = [
            finding(
                "tools",
                &[program("sh", Need::Lab), program("ls", Need::Lab)],
            ),
            finding(
                "tools",
                &[
                    program("sh", Need::Lab),
                    program("no-such", Need::Experiment),
                ],
            ),
            finding(
                "tools",
                &[program("sh", Need::Lab), program("no-such", Need::Lab)],
            ),
        ]
        .iter()
        .map(Finding::to_string)
        .collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        found    tools               sh ls
        absent   tools               guests have no no-such: apt-get install --no-install-recommends tools
        MISSING  tools               apt-get install --no-install-recommends tools
        ");
    }
}
