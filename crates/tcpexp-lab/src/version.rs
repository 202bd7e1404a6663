//! Versions of Debian's kernel packages.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::LabError;

/// A kernel of Debian's archive: `6.12`, `6.12.95`, `7.x`, or a release as `uname -r` prints it, such
/// as `6.12.95+deb13-amd64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelVersion(String);

impl FromStr for KernelVersion {
    type Err = LabError;

    /// Reads a version: it begins with a digit and names no folder. Everything else is a file name.
    fn from_str(text: &str) -> Result<Self, LabError> {
        if text.starts_with(|first: char| first.is_ascii_digit()) && !text.contains('/') {
            Ok(Self(text.to_owned()))
        } else {
            Err(LabError::NoVersion {
                text: text.to_owned(),
            })
        }
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl KernelVersion {
    /// True if `package` is this kernel. `6.12` and `6.12.x` are each kernel 6.12.*.
    pub(crate) fn is(&self, package: &Package) -> bool {
        if package.release() == Some(&self.0) || package.version == self.0 {
            return true;
        }
        let series = self.0.strip_suffix(".x").unwrap_or(&self.0);
        let (upstream, _) = package.split();
        // A release candidate is named exactly or by its series: 7.3~rc7 is a 7.3.
        let is_number = series
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
        is_number
            && numbers(upstream.split('~').next().unwrap_or_default()).starts_with(&numbers(series))
    }
}

/// A package of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The version of the package, such as `6.12.95-1~bpo12+1`.
    pub(crate) version: String,
}

/// The best of the packages that are `wanted`: the newest one, and a release candidate only without a
/// release.
pub(crate) fn best<T>(
    packages: impl IntoIterator<Item = (Package, T)>,
    wanted: &KernelVersion,
) -> Option<(Package, T)> {
    let fitting = packages
        .into_iter()
        .filter(|(package, _)| wanted.is(package));
    fitting.max_by(|(a, _), (b, _)| (!a.is_candidate(), a).cmp(&(!b.is_candidate(), b)))
}

/// Beginning of the names of kernel packages.
pub(crate) const IMAGE: &str = "linux-image-";

/// End of the names of kernel packages for the guest's processor.
pub(crate) const FLAVOUR: &str = "-amd64";

impl Package {
    /// The package `NAME=VERSION`.
    pub(crate) fn named(text: &str) -> Option<Self> {
        let (name, version) = text.split_once('=')?;
        Some(Self {
            name: name.to_owned(),
            version: version.to_owned(),
        })
    }

    /// The release of the kernel, as `uname -r` prints it.
    pub(crate) fn release(&self) -> Option<&str> {
        self.name.strip_prefix(IMAGE)
    }

    /// True for a package of one plain kernel; false for kernels for clouds or real time, for debug
    /// symbols, and for packages that only depend on the newest kernel.
    pub(crate) fn is_plain_kernel(&self) -> bool {
        let Some(abi) = self.release().and_then(|text| text.strip_suffix(FLAVOUR)) else {
            return false;
        };
        let mut parts = abi.split('-');
        let first = parts.next().unwrap_or_default();
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !first.starts_with(|first: char| first.is_ascii_digit()) || !parts.all(is_number) {
            return false;
        }
        // `linux-image-6.12-amd64` of version 6.12.113 depends on the newest 6.12.
        let is_series = first.split('.').all(is_number) && first == abi;
        let (upstream, _) = self.split();
        !is_series || upstream.split('~').next() == Some(abi)
    }

    /// True for a kernel before its release.
    fn is_candidate(&self) -> bool {
        self.upstream().contains('~')
    }

    /// The version of the kernel, such as `6.12.95` or `7.3~rc7`.
    pub(crate) fn upstream(&self) -> &str {
        self.split().0
    }

    /// The version of the kernel, and Debian's revision.
    fn split(&self) -> (&str, &str) {
        self.version.rsplit_once('-').unwrap_or((&self.version, ""))
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.version)
    }
}

/// By version. A release candidate precedes its release.
impl Ord for Package {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Package {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Package {
    fn key(&self) -> (Vec<u64>, u64, Vec<u64>, &str, &str) {
        let (upstream, revision) = self.split();
        let (release, candidate) = upstream.split_once("~rc").unwrap_or((upstream, ""));
        let candidate = candidate.parse().unwrap_or(u64::MAX);
        let revision = numbers(revision);
        (
            numbers(release),
            candidate,
            revision,
            &self.version,
            &self.name,
        )
    }
}

/// The numbers in a text, in order.
fn numbers(text: &str) -> Vec<u64> {
    let parts = text.split(|part: char| !part.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(text: &str) -> Package {
        Package::named(&format!("{IMAGE}{text}")).unwrap()
    }

    fn is(version: &str, package_text: &str) -> bool {
        let version: KernelVersion = version.parse().unwrap();
        version.is(&package(package_text))
    }

    #[test]
    fn series_includes_its_releases_and_candidates_only() {
        let packages = [
            "6.1.0-56-amd64=6.1.192-2",
            "6.12.95+deb13-amd64=6.12.95-1",
            "7.3-amd64=7.3~rc7-1~exp1",
            "7.3.4+deb13-amd64=7.3.4-1~bpo13+1",
        ];
        let found = |version: &str| {
            let indices = (0..packages.len()).filter(|at| is(version, packages[*at]));
            indices.collect::<Vec<_>>()
        };
        assert_eq!(found("6.1"), [0]);
        assert_eq!(found("6.12"), [1]);
        assert_eq!(found("6.12.9"), [0; 0]);
        assert_eq!(found("6.12.x"), [1]);
        assert_eq!(found("7.x"), [2, 3]);
        assert_eq!(found("7.3.4"), [3]);
        assert_eq!(found("7.3~rc7-1~exp1"), [2]);
        assert_eq!(found("6.12.95+deb13-amd64"), [1]);
        assert_eq!(found("6.1.0-56-amd64"), [0]);
        assert_eq!(found("6.1.192"), [0]);
    }

    #[test]
    fn only_packages_of_one_plain_kernel_are_kernels() {
        for plain in [
            "6.1.0-56-amd64=6.1.192-2",
            "6.12.90+deb12.1-amd64=6.12.90-2~bpo12+1",
            "7.3-amd64=7.3~rc7-1~exp1",
        ] {
            assert!(package(plain).is_plain_kernel(), "{plain}");
        }
        for other in [
            "amd64=6.1.192-2",
            "6.12-amd64=6.12.113-1~deb12u1",
            "6.1.0-56-cloud-amd64=6.1.192-2",
            "6.12.95+deb13-rt-amd64=6.12.95-1",
            "6.12.95+deb13-amd64-dbg=6.12.95-1",
            "6.12.95+deb13-amd64-unsigned=6.12.95-1",
            "6.12.95+deb13-arm64=6.12.95-1",
        ] {
            assert!(!package(other).is_plain_kernel(), "{other}");
        }
    }

    #[test]
    fn newest_package_is_the_newest_kernel() {
        let mut packages: Vec<Package> = [
            "b-amd64=6.12.95-1~bpo12+1",
            "c-amd64=6.12.100-1",
            "a-amd64=6.1.192-2",
            "f-amd64=7.3-1",
            "e-amd64=7.3~rc7-1~exp1",
            "d-amd64=7.2.13-1",
            "g-amd64=7.3-10",
        ]
        .map(package)
        .to_vec();
        packages.sort();
        let releases: Vec<_> = packages.iter().filter_map(Package::release).collect();
        assert_eq!(releases.concat().replace("-amd64", ""), "abcdefg");
    }

    #[test]
    fn release_is_better_than_a_newer_candidate() {
        let best_of = |wanted: &str| {
            let packages = [
                "7.2-amd64=7.2.13-1",
                "7.3-amd64=7.3~rc7-1",
                "6.1-amd64=6.1.1-1",
            ];
            let packages = packages.map(|text| (package(text), ()));
            best(packages, &wanted.parse().unwrap()).map(|(package, ())| package.version)
        };
        assert_eq!(best_of("7.x").unwrap(), "7.2.13-1");
        assert_eq!(best_of("7.3").unwrap(), "7.3~rc7-1");
        assert_eq!(best_of("8"), None);
    }

    #[test]
    fn path_is_no_version() {
        for path in [
            "bzImage",
            "./6.12",
            "/boot/vmlinuz-6.12",
            "6.12/bzImage",
            "",
        ] {
            assert!(path.parse::<KernelVersion>().is_err(), "{path}");
        }
    }
}
