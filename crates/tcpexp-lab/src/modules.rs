//! The kernel modules of a guest.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::LabError;
use crate::files::read;
use crate::kernel::Kernel;

/// Modules that every lab needs.
const NEEDED: [&str; 11] = [
    "9p",
    "9pnet_virtio",
    "act_mirred",
    "bridge",
    "ifb",
    "qemu_fw_cfg",
    "sch_htb",
    "sch_ingress",
    "sch_netem",
    "veth",
    "virtio_pci",
];

/// Modules for experiments: queues, filters, congestion controls, and the modules that `ss` needs.
const WANTED: [&str; 44] = [
    "act_police",
    "cls_bpf",
    "cls_flower",
    "cls_fw",
    "cls_matchall",
    "cls_u32",
    "inet_diag",
    "sch_cake",
    "sch_codel",
    "sch_dualpi2",
    "sch_fq",
    "sch_fq_codel",
    "sch_fq_pie",
    "sch_hfsc",
    "sch_pie",
    "sch_prio",
    "sch_red",
    "sch_sfq",
    "sch_tbf",
    "tcp_bbr",
    "tcp_bic",
    "tcp_cdg",
    "tcp_dctcp",
    "tcp_diag",
    "tcp_highspeed",
    "tcp_htcp",
    "tcp_hybla",
    "tcp_illinois",
    "tcp_lp",
    "tcp_nv",
    "tcp_scalable",
    "tcp_vegas",
    "tcp_veno",
    "tcp_westwood",
    "tcp_yeah",
    "udp_diag",
    "raw_diag",
    "af_packet_diag",
    "act_skbedit",
    "act_gact",
    "em_u32",
    "sch_multiq",
    "sch_choke",
    "sch_etf",
];

/// Modules loaded after the start. The modules that copy results out load late, because before that
/// no device may depend on the real machine. The module for the orders loads late, because it looks
/// for them only at loading.
const LOADED_LATER: [&str; 4] = ["9p", "9pnet_virtio", "qemu_fw_cfg", "virtio_pci"];

/// The module files, and the names of the modules loaded at the start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Modules {
    /// Paths below the folder of the modules.
    pub(crate) files: BTreeSet<String>,
    /// Names, for `modprobe`.
    pub(crate) loaded: Vec<&'static str>,
}

/// The files of the wanted modules of `kernel` and of their dependencies.
pub(crate) fn choose(kernel: &Kernel) -> Result<Modules, LabError> {
    let text = |name: &str| {
        let bytes = read(&kernel.modules.join(name))?;
        Ok::<_, LabError>(String::from_utf8_lossy(&bytes).into_owned())
    };
    from_index(&text("modules.dep")?, &text("modules.builtin")?)
}

/// `index` is `modules.dep`; `builtin` lists built-in modules.
fn from_index(index: &str, builtin: &str) -> Result<Modules, LabError> {
    let lines = index.lines().filter_map(|line| line.split_once(':'));
    let needs: HashMap<String, (&str, &str)> = lines
        .map(|(file, needed)| (module_name(file), (file, needed)))
        .collect();
    let builtin: BTreeSet<String> = builtin.lines().map(module_name).collect();
    let mut modules = Modules {
        files: BTreeSet::new(),
        loaded: Vec::new(),
    };
    let mut missing = Vec::new();
    for name in NEEDED.into_iter().chain(WANTED) {
        // A line of `modules.dep` lists indirect dependencies too, so no recursion is needed.
        match needs.get(name) {
            Some((file, needed)) => {
                modules.files.insert((*file).to_owned());
                modules
                    .files
                    .extend(needed.split_whitespace().map(str::to_owned));
                if !LOADED_LATER.contains(&name) {
                    modules.loaded.push(name);
                }
            }
            // A built-in module has no file, and only some experiments need a module of `WANTED`.
            None if builtin.contains(name) || WANTED.contains(&name) => {}
            None => missing.push(name),
        }
    }
    if missing.is_empty() {
        return Ok(modules);
    }
    Err(LabError::NoKernel {
        reason: format!("it has no modules {}", missing.join(", ")),
    })
}

/// `kernel/net/sched/sch-netem.ko.xz` is the module `sch_netem`.
fn module_name(file: &str) -> String {
    let name = Path::new(file)
        .file_name()
        .map_or(file.into(), |name| name.to_string_lossy());
    let name = name.split_once(".ko").map_or(&*name, |(name, _)| name);
    // File names may have hyphens where modules have underscores, and modprobe treats both alike.
    name.replace('-', "_")
}

/// Lists that `depmod` and `modprobe` read in addition to the modules.
pub(crate) fn lists(kernel: &Kernel) -> Vec<PathBuf> {
    [
        "modules.builtin",
        "modules.builtin.modinfo",
        "modules.order",
    ]
    .into_iter()
    .map(|name| kernel.modules.join(name))
    .filter(|path| path.is_file())
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index_of(names: &[&str]) -> String {
        let lines: Vec<String> = names
            .iter()
            .map(|name| format!("kernel/net/{name}.ko:"))
            .collect();
        lines.join("\n") + "\n"
    }

    #[test]
    fn modules_include_their_dependencies() {
        let mut index = index_of(&NEEDED[2..]);
        index +=
            "fs/9p.ko.xz: net/9pnet.ko.xz fs/netfs.ko.xz\nnet/9pnet-virtio.ko: net/9pnet.ko.xz\n";
        let modules = from_index(&index, "").unwrap();
        assert!(modules.files.contains("net/9pnet.ko.xz"), "{modules:?}");
        assert!(modules.files.contains("net/9pnet-virtio.ko"), "{modules:?}");
        assert_eq!(
            modules.loaded[..4],
            ["act_mirred", "bridge", "ifb", "sch_htb"]
        );
    }

    #[test]
    fn kernel_with_built_in_features_needs_no_modules() {
        let builtin = index_of(&NEEDED[5..]).replace(':', "");
        let modules = from_index(&index_of(&NEEDED[..5]), &builtin).unwrap();
        assert_eq!(modules.files.len(), 5);
    }

    #[test]
    fn kernel_without_a_required_feature_is_refused() {
        let error = from_index(&index_of(&NEEDED[..8]), "").unwrap_err();
        insta::assert_snapshot!(error, @"no kernel for the guest: it has no modules sch_netem, veth, virtio_pci; name another with --kernel");
    }
}
