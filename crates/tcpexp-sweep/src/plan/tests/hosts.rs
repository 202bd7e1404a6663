//! The settings of hosts and of their kernels.

use insta::assert_snapshot;

use super::*;

#[test]
fn kernel_settings_are_axes_and_columns() {
    let lists = r#"rate = ["2mbit"]
sysctl.net.ipv4.tcp_ecn = [0, 1]
"module.tcp_cubic.hystart" = [0, 1]
[prepare]
sysctl."net.ipv4.tcp_ecn" = 2
module.tcp_cubic.hystart_detect = 1
sink.sysctl.net.ipv4.tcp_rmem = "4096 131072 6291456"
"#;
    let text = PLAN.replace("rate = [\"2mbit\", \"10mbit\"]\n", lists);
    let plan = plan(&text);
    assert_snapshot!(cells(&plan), @"cc sysctl_net_ipv4_tcp_ecn module_tcp_cubic_hystart: cubic 0 0, cubic 0 1, cubic 1 0, cubic 1 1, reno 0 0, reno 0 1, reno 1 0, reno 1 1");
    let of = |name: &str| plan.cells[0].parameters.get(name).cloned().flatten();
    assert_eq!(
        of("module_tcp_cubic_hystart_detect"),
        Some(Parameter::Count(1))
    );
    assert_eq!(
        of("sink_sysctl_net_ipv4_tcp_rmem"),
        Some(Parameter::Text("4096 131072 6291456".to_owned()))
    );
    let setup = &plan.cells[0].setup;
    let [dst, rtr, src] = ["dst1", "rtr", "src1"].map(|name| kernel_of(setup, &setup.hosts[name]));
    assert_eq!(src.sysctl.len(), 1);
    assert_eq!(dst.sysctl.len(), 2);
    assert!(rtr.sysctl.is_empty() && rtr.module.is_empty());
}

#[test]
fn settings_of_one_host_replace_those_of_its_group() {
    let hosts = r#"hosts.a = { role = "source", interface = "eth1", address = "10.0.0.1", sysctl = { "net.ipv4.tcp_ecn" = 3 } }
hosts.b = { role = "source", interface = "eth1", address = "10.0.0.2" }
hosts.r = { role = "router", left = "eth1", right = "eth2" }
hosts.c = { role = "sink", interface = "eth1", address = "10.0.1.1", module.tcp_cubic.hystart = false }
prepare.sysctl.net.ipv4.tcp_ecn = 1
prepare.source.sysctl.net.ipv4.tcp_ecn = 2
"#;
    let plan = plan(&PLAN.replace("kind = \"lab\"\n", hosts));
    let setup = &plan.cells[0].setup;
    let ecn = |name: &str| {
        kernel_of(setup, &setup.hosts[name])
            .sysctl
            .get("net.ipv4.tcp_ecn")
            .cloned()
    };
    assert_eq!(
        ["a", "b", "c", "r"].map(ecn).map(Option::unwrap_or_default),
        ["3", "2", "1", ""]
    );
    let of_sink = kernel_of(setup, &setup.hosts["c"]).module;
    assert_eq!(
        of_sink.get("tcp_cubic.hystart").map(String::as_str),
        Some("0")
    );
}

#[test]
fn marking_on_hosts_without_ecn_is_reported() {
    let marking = PLAN.replace("buffer =", "queue = \"codel\"\necn = true\nbuffer =");
    let reported = |text: &str| plan(text).warnings;
    assert!(reported(PLAN).is_empty());
    assert_snapshot!(reported(&marking).join("\n"), @"ecn = true marks nothing in 4 of 4 cells: no host asks for ECN; prepare.sysctl.net.ipv4.tcp_ecn = 1 makes them");
    let asks = format!("{marking}[prepare]\nsysctl.net.ipv4.tcp_ecn = 1\n");
    assert!(reported(&asks).is_empty());
    let dctcp = marking.replace("\"reno\"", "\"dctcp\"");
    assert_eq!(reported(&dctcp).len(), 1);
    assert!(reported(&dctcp)[0].contains("2 of 4 cells"));
}

#[test]
fn guest_has_the_memory_of_the_plan() {
    let with =
        |memory: &str| PLAN.replace("kind = \"lab\"\n", &format!("kind = \"lab\"\n{memory}\n"));
    assert_eq!(plan(&with("")).lab.memory_mib, None);
    assert_eq!(
        plan(&with("lab.memory_mib = 8192")).lab.memory_mib,
        Some(8192)
    );
}
