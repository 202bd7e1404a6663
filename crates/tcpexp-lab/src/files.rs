//! Files and programs, with errors that name them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::LabError;

/// Makes the error for an unreadable `path`.
pub(crate) fn unread(path: &Path) -> impl FnOnce(std::io::Error) -> LabError + '_ {
    move |source| LabError::Read {
        path: path.to_owned(),
        source,
    }
}

/// Makes the error for an unwritable `path`.
pub(crate) fn unwritten(path: &Path) -> impl FnOnce(std::io::Error) -> LabError + '_ {
    move |source| LabError::Write {
        path: path.to_owned(),
        source,
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, LabError> {
    fs::read(path).map_err(unread(path))
}

/// All files below `folder`, sorted by name. Follows links to files.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let mut files = Vec::new();
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(unread(folder))? {
        entries.push(entry.map_err(unread(folder))?.path());
    }
    entries.sort();
    for path in entries {
        let about = fs::metadata(&path).map_err(unread(&path))?;
        if about.is_dir() {
            files.extend(files_below(&path)?);
        } else if about.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}

/// Runs a program to its end. The error has its standard error.
pub(crate) fn run(command: &mut Command) -> Result<Output, LabError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|source| LabError::Run {
        program: program.clone(),
        source,
    })?;
    if output.status.success() {
        return Ok(output);
    }
    Err(failed(&program, &output))
}

pub(crate) fn failed(program: &str, output: &Output) -> LabError {
    let said = one_line(&String::from_utf8_lossy(&output.stderr));
    LabError::Failed {
        program: program.to_owned(),
        said: if said.is_empty() {
            output.status.to_string()
        } else {
            said
        },
    }
}

/// Joins the lines of a text.
pub(crate) fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines.join("; ")
}
