//! The libraries of programs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::LabError;

/// Libraries that the C library loads at run time, so that `ldd` does not list them: for ending threads
/// and for looking up users and hosts.
const LOADED_LATER: [&str; 3] = ["libgcc_s.so.1", "libnss_files.so.2", "libnss_dns.so.2"];

/// All libraries of `programs`, as found by the dynamic linker on this machine.
pub(crate) fn of(programs: &[PathBuf]) -> Result<BTreeSet<PathBuf>, LabError> {
    let output = Command::new("ldd")
        .args(programs)
        .env("LC_ALL", "C")
        .output()
        .map_err(|source| LabError::Run {
            program: "ldd".to_owned(),
            source,
        })?;
    // Ignore its exit code: it fails for scripts and static programs.
    let mut libraries = named(&String::from_utf8_lossy(&output.stdout));
    let folders: BTreeSet<&Path> = libraries.iter().filter_map(|path| path.parent()).collect();
    let later: Vec<PathBuf> = LOADED_LATER
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .filter(|path| path.is_file())
        .collect();
    libraries.extend(later);
    Ok(libraries)
}

/// The paths in the output of `ldd`: `libc.so.6 => /lib/libc.so.6 (0x7f…)` or `/lib64/ld.so (0x7f…)`.
fn named(listing: &str) -> BTreeSet<PathBuf> {
    listing
        .lines()
        .filter_map(|line| line.strip_prefix('\t'))
        .filter_map(|line| {
            let path = line.split_once("=> ").map_or(line, |(_, path)| path);
            let (path, _) = path.split_once(" (0x")?;
            path.starts_with('/').then(|| PathBuf::from(path))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_those_the_linker_found() {
        let listing = "/bin/ls:\n\tlinux-vdso.so.1 (0x00007ffc)\n\
                       \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1a)\n\
                       \t/lib64/ld-linux-x86-64.so.2 (0x00007f1b)\n\
                       /bin/busybox:\n\tnot a dynamic executable\n";
        let paths: Vec<PathBuf> = named(listing).into_iter().collect();
        assert_eq!(
            paths,
            [
                "/lib/x86_64-linux-gnu/libc.so.6",
                "/lib64/ld-linux-x86-64.so.2"
            ]
            .map(PathBuf::from)
        );
    }
}
