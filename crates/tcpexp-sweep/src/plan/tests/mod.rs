mod refused;

use std::path::Path;

use insta::assert_snapshot;
use tcpexp_runs::record::Parameter;

use super::*;
use crate::schedule;

const PLAN: &str = r#"kind = "lab"

[matrix]
cc = ["cubic", "reno"]
rate = ["2mbit", "10mbit"]

[path.forward]
delay = "10ms"
buffer = "30p"

[[traffic]]
name = "bulk"
tool = "iperf3"
duration = "10s"
"#;

fn plan(text: &str) -> Plan {
    Plan::parse(Path::new("plan.toml"), text).unwrap()
}

fn refusal(text: &str) -> String {
    Plan::parse(Path::new("plan.toml"), text)
        .unwrap_err()
        .to_string()
}

/// The plan with something in place of something else.
fn refusal_of(old: &str, new: &str) -> String {
    assert!(PLAN.contains(old));
    refusal(&PLAN.replace(old, new))
}

/// Returns the varied parameters of each cell.
fn cells(plan: &Plan) -> String {
    let value = |cell: &Cell, name: &String| match &cell.parameters.get(name).cloned().flatten() {
        Some(Parameter::Text(text)) => text.clone(),
        Some(Parameter::Number(number)) => number.to_string(),
        Some(Parameter::Count(count)) => count.to_string(),
        Some(Parameter::Flag(flag)) => flag.to_string(),
        None => "-".to_owned(),
    };
    let row = |cell: &Cell| -> String {
        let values: Vec<_> = plan.varied.iter().map(|name| value(cell, name)).collect();
        values.join(" ")
    };
    let rows: Vec<_> = plan.cells.iter().map(row).collect();
    format!("{}: {}", plan.varied.join(" "), rows.join(", "))
}

#[test]
fn lists_form_a_cartesian_product() {
    assert_snapshot!(cells(&plan(PLAN)), @"cc rate_mbps: cubic 2, cubic 10, reno 2, reno 10");
}

#[test]
fn dotted_paths_equal_short_names() {
    let dotted = PLAN
        .replace("cc = [", "traffic.bulk.cc = [")
        .replace("rate = [", "\"path.forward.rate\" = [");
    let hashes = |plan: Plan| {
        plan.cells
            .into_iter()
            .map(|cell| cell.hash)
            .collect::<Vec<_>>()
    };
    assert_eq!(hashes(plan(&dotted)), hashes(plan(PLAN)));
}

#[test]
fn tables_of_tuples_vary_together() {
    let links = r#"link = [
        { name = "dsl", rate = "10mbit", "path.reverse.rate" = "1mbit", "path.reverse.buffer" = "20p" },
        { name = "fibre", rate = "100mbit", "path.reverse.rate" = "50mbit", "path.reverse.buffer" = "20p" },
    ]"#;
    let plan = plan(&PLAN.replace(r#"rate = ["2mbit", "10mbit"]"#, links));
    assert_snapshot!(cells(&plan), @"cc link rate_mbps reverse_rate_mbps: cubic dsl 10 1, cubic fibre 100 50, reno dsl 10 1, reno fibre 100 50");
}

#[test]
fn cells_can_be_excluded_and_added() {
    let text = PLAN.replace(
        "[path.forward]",
        r#"exclude = [{ cc = "reno", rate = "10mbit" }]
include = [{ cc = "bbr", rate = "20mbit", buffer = "1bdp" }]
[path.forward]"#,
    );
    assert_snapshot!(cells(&plan(&text)), @"cc rate_mbps buffer_packets buffer_bdp: cubic 2 30 -, cubic 10 30 -, reno 2 30 -, bbr 20 - 1");
}

#[test]
fn cell_hash_depends_only_on_its_parameters() {
    let hashes = |text: &str| {
        plan(text)
            .cells
            .into_iter()
            .map(|cell| cell.hash)
            .collect::<Vec<_>>()
    };
    let all = hashes(PLAN);
    let more = hashes(&PLAN.replace("\"10mbit\"]", "\"20mbit\", \"10mbit\"]"));
    assert!(all.iter().all(|hash| more.contains(hash)));
    let seeded = hashes(&format!("{PLAN}[run]\nseed = 7\nrepetitions = 3"));
    assert_eq!(all, seeded);
    let longer = hashes(&PLAN.replace("10s", "11s"));
    assert!(longer.iter().all(|hash| !all.contains(hash)));
}

#[test]
fn changes_add_up() {
    let plan = plan(&format!(
        "{PLAN}[[change]]\nat = \"3s\"\nrate = \"5mbit\"\n[[change]]\nat = \"6s\"\ndelay = \"40ms\"\n"
    ));
    let last = plan.cells[0].changes.last().unwrap();
    assert_eq!(last.what, "delay 40ms");
    assert_eq!(last.path.forward.rate.unwrap().to_string(), "5mbit");
    assert_eq!(last.path.forward.delay.unwrap().to_exact_text(), "40ms");
}

#[test]
fn a_change_keeps_the_keys_that_it_does_not_name() {
    for key in [
        "path.forward.rate",
        "\"path.forward.rate\"",
        "forward.rate",
        "rate",
    ] {
        let plan = plan(&format!(
            "{PLAN}[[change]]\nat = \"3s\"\n{key} = \"5mbit\"\n"
        ));
        let path = &plan.cells[0].changes[0].path.forward;
        assert_eq!(path.rate.unwrap().to_string(), "5mbit", "{key}");
        assert_eq!(path.delay.unwrap().to_exact_text(), "10ms", "{key}");
    }
}

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
fn each_quantity_of_traffic_is_a_column() {
    let lists = "cc = [\"cubic\", \"reno\"]\nrate = [\"2mbit\", \"10mbit\"]\n";
    let with = |list: &str, tool: &str| {
        let text = PLAN.replace(lists, &format!("rate = [\"2mbit\"]\n{list}\n"));
        plan(&text.replace("tool = \"iperf3\"\nduration = \"10s\"", tool))
    };
    let udp = "tool = \"udp\"\nduration = \"1s\"\nrate = \"1mbit\"";
    let plan = with("traffic.bulk.packet_bytes = [100, 1000]", udp);
    assert_snapshot!(cells(&plan), @"packet_bytes: 100, 1000");
    let list = "traffic.bulk.sizes = [[\"1kB\"], [\"10kB\", \"1MB\"]]";
    let plan = with(list, "tool = \"http\"");
    assert_snapshot!(cells(&plan), @"download_sizes: 1kB, 10kB 1MB");
}

#[test]
fn order_depends_only_on_the_seed() {
    let order = |seed: u64| {
        let plan = plan(&format!("{PLAN}[run]\nseed = {seed}\nrepetitions = 2"));
        let runs = crate::schedule::runs(&plan);
        runs.iter()
            .map(crate::schedule::Planned::name)
            .collect::<Vec<_>>()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    let repetitions: Vec<_> = order(1).iter().map(|name| name[14..].to_owned()).collect();
    assert_eq!(
        repetitions,
        ["r01", "r01", "r01", "r01", "r02", "r02", "r02", "r02"]
    );
}

#[test]
fn example_is_a_baseline_of_126_cells() {
    let plan = example("single-flow-baseline");
    assert_eq!(plan.cells.len(), 7 * 3 * 3 * 2);
    assert_eq!(
        plan.varied,
        ["delay_ms", "rate_mbps", "buffer_packets", "cc"]
    );
}

#[test]
fn cells_of_the_example_with_random_loss_have_the_percentages_of_the_plan() {
    let plan = example("random-loss");
    assert_eq!(plan.varied, ["cc", "loss_percent"]);
    for (cell, percent) in plan.cells.iter().zip([0.7, 2.0].repeat(4)) {
        let loss = &cell.parameters["loss_percent"];
        assert_eq!(*loss, Some(Parameter::Number(percent)));
    }
}

fn example(name: &str) -> Plan {
    let plans = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plans");
    Plan::read(&plans.join(format!("{name}.toml"))).unwrap()
}

#[test]
fn an_expectation_is_about_traffic_and_cells_of_the_plan() {
    let with = |expect: &str| format!("{PLAN}\n[[expect]]\n{expect}\n");
    let expected = plan(&with(
        "that = \"rtt_p95_ms < 80\"\nof = \"bulk\"\nonly = { cc = \"reno\", rate_mbps = 10 }",
    ))
    .expected;
    let [one] = expected.as_slice() else {
        panic!("{expected:?}");
    };
    assert_eq!(one.expectation.to_string(), "rtt_p95_ms < 80");
    assert_eq!(one.class.as_deref(), Some("bulk"));
    assert_eq!(one.only.to_string(), "cc=reno rate_mbps=10");
    assert_snapshot!(refusal(&with("that = \"rtt_p95_ms ~ 80\"")), @r#"plan.toml:17: expect[1].that: expected MEASURE < NUMBER, with <, <=, > or >=, such as "rtt_p95_ms < 80""#);
    assert_snapshot!(refusal(&with("that = \"jain > 0.9\"\nof = \"bluk\"")), @r#"plan.toml:18: expect[1].of: no traffic is named bluk"#);
    assert_snapshot!(refusal(&with("that = \"jain > 0.9\"\nonly = { cca = \"reno\" }")), @r#"plan.toml:18: expect[1].only: no cell has a parameter cca; the parameters are base_rtt_ms, buffer_packets, cc, delay_ms, duration_s, generators, queue, rate_mbps"#);
    assert_snapshot!(refusal(&with("that = \"jain > 0.9\"\nonly = { cc = \"bbr\" }")), @r#"plan.toml:18: expect[1].only: no cell has cc=bbr"#);
}

#[test]
fn expectations_change_no_cell() {
    let hashes = |text: &str| -> Vec<String> {
        plan(text).cells.into_iter().map(|cell| cell.hash).collect()
    };
    let expecting = format!("{PLAN}\n[[expect]]\nthat = \"jain > 0.9\"\n");
    assert_eq!(hashes(PLAN), hashes(&expecting));
}

#[test]
fn runs_are_selected_by_name_or_by_the_parameters_of_their_cells() {
    let plan = plan(PLAN);
    let all: Vec<String> = schedule::runs(&plan)
        .iter()
        .map(schedule::Planned::name)
        .collect();
    let selected = |only: &str| schedule::selected(&plan, only).map_err(|error| error.to_string());
    assert_eq!(selected(&all[1]), Ok(vec![all[1].clone()]));
    assert_eq!(selected(&all.join(",")), Ok(all.clone()));
    assert_eq!(selected("cc=reno").map(|names| names.len()), Ok(2));
    assert_eq!(
        selected("cc=reno,cubic,rate_mbps=2").map(|names| names.len()),
        Ok(2)
    );
    assert!(selected("0001").is_err_and(|why| why.contains("no run 0001")));
    assert!(selected("cc=bbr").is_err_and(|why| why.contains("cc=bbr")));
    assert!(selected("rate=2").is_err_and(|why| why.contains("rate_mbps")));
}

#[test]
fn an_entry_for_all_sources_is_repeated_for_each() {
    let hosts = "kind = \"lab\"\nlab.sources = 3\nlab.sinks = 2\n";
    let text = PLAN.replace("kind = \"lab\"\n", hosts);
    let all = |ends: &str| {
        let plan = plan(&text.replace("tool = ", &format!("{ends}\ncount = 2\ntool = ")));
        let runs = schedule::runs(&plan);
        let generators = crate::site::generators(&runs[0]);
        let ends = generators.iter().map(|generator| {
            let record = &generator.record;
            let [from, to] = [&record.from, &record.to].map(|ip| ip.replace("172.16.", ""));
            format!("{} {from} {to} {}", record.name, record.port.unwrap())
        });
        let classes = generators
            .iter()
            .all(|generator| generator.record.class == "bulk");
        assert!(classes);
        assert_eq!(plan.varied, ["cc", "rate_mbps"]);
        ends.collect::<Vec<_>>().join(", ")
    };
    assert_snapshot!(all("from = \"all\""), @"bulk-1 10.3 11.2 5201, bulk-2 10.3 11.2 5202, bulk-3 10.4 11.2 5203, bulk-4 10.4 11.2 5204, bulk-5 10.5 11.2 5205, bulk-6 10.5 11.2 5206");
    assert_snapshot!(all("from = \"all\"\nto = \"all\""), @"bulk-1 10.3 11.2 5201, bulk-2 10.3 11.2 5202, bulk-3 10.4 11.3 5203, bulk-4 10.4 11.3 5204, bulk-5 10.5 11.2 5205, bulk-6 10.5 11.2 5206");
    assert_snapshot!(all("to = \"all\""), @"bulk-1 10.3 11.2 5201, bulk-2 10.3 11.2 5202, bulk-3 10.3 11.3 5203, bulk-4 10.3 11.3 5204");
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

#[test]
fn varied_key_without_a_column_gets_one_with_the_text_of_the_plan() {
    let with = |lists: &str| {
        let text = PLAN.replace("rate = [\"2mbit\", \"10mbit\"]", lists);
        let text = text.replace("[path.forward]", "[path.forward]\nrate = \"5mbit\"");
        cells(&plan(&text))
    };
    let red = "path.forward.queue = [\"red\"]\npath.forward.red_probability = [\"2%\", \"10%\"]";
    assert_snapshot!(with(red), @"cc red_probability: cubic 2%, cubic 10%, reno 2%, reno 10%");
    let queues = "link = [{ queue = \"sfq\", path.forward.flow_queues = 8 }, { queue = \"sfq\", path.forward.flow_queues = 16 }]";
    assert_snapshot!(with(queues), @"cc flow_queues: cubic 8, cubic 16, reno 8, reno 16");
    assert_snapshot!(with("traffic.bulk.start = [\"0s\", \"1s\"]"), @"cc bulk_start: cubic 0s, cubic 1s, reno 0s, reno 1s");
    assert_snapshot!(with("path.reverse.jitter = [\"1ms\"]\npath.reverse.jitter_reorders = [false, true]"), @"cc reverse_jitter_reorders: cubic false, cubic true, reno false, reno true");
    let burst = |enter: &str, leave: &str| {
        let loss = "path.forward.loss";
        format!("{{ {loss}.enter_bad = \"{enter}\", {loss}.leave_bad = \"{leave}\" }}")
    };
    let bursts = format!("burst = [{}, {}]", burst("1%", "10%"), burst("2%", "20%"));
    assert_snapshot!(with(&bursts), @"cc loss_enter_bad loss_leave_bad: cubic 1% 10%, cubic 2% 20%, reno 1% 10%, reno 2% 20%");
    // The name of a table is a column already.
    assert_snapshot!(with("at = [{ name = \"soon\", traffic.bulk.start = \"0s\" }, { name = \"late\", traffic.bulk.start = \"1s\" }]"), @"cc at: cubic soon, cubic late, reno soon, reno late");
}

#[test]
fn reverse_delay_is_a_parameter_of_all_cells_or_of_none() {
    let with = |lists: &str| {
        let text = PLAN.replace("rate = [\"2mbit\", \"10mbit\"]", lists);
        cells(&plan(&text.replace("buffer = \"30p\"\n", "")))
    };
    assert_snapshot!(with("path.reverse.delay = [\"10ms\", \"20ms\"]"), @"cc reverse_delay_ms: cubic 10, cubic 20, reno 10, reno 20");
    assert_snapshot!(with("delay = [\"10ms\", \"20ms\"]"), @"cc delay_ms: cubic 10, cubic 20, reno 10, reno 20");
    let fixed = PLAN
        .replace("rate = [", "delay = [\"10ms\", \"20ms\"]\nrate = [")
        .replace(
            "[[traffic]]",
            "[path.reverse]\ndelay = \"20ms\"\n[[traffic]]",
        );
    assert_snapshot!(cells(&plan(&fixed)), @"cc delay_ms rate_mbps: cubic 10 2, cubic 10 10, cubic 20 2, cubic 20 10, reno 10 2, reno 10 10, reno 20 2, reno 20 10");
}

#[test]
fn base_rtt_of_the_first_source_has_the_delay_of_its_flow() {
    let with = |flow: &str| {
        let text = PLAN.replace("kind = \"lab\"\n", "kind = \"lab\"\nlab.sources = 2\n");
        let text = text.replace("[[traffic]]", &format!("{flow}[[traffic]]"));
        plan(&text).cells[0].setup.clone()
    };
    let sources: Vec<String> = with("")
        .of_role(Role::Source)
        .map(|(_, host)| host.address.unwrap().to_string())
        .collect();
    let rtts = |source: &str| {
        let setup = with(&format!(
            "[[path.forward.flows]]\nsource = \"{source}\"\ndelay = \"80ms\"\n"
        ));
        [setup.base_rtt(), setup.longest_rtt()].map(|rtt| rtt.to_string())
    };
    assert_eq!(rtts(&sources[0]), ["160.000 ms", "160.000 ms"]);
    assert_eq!(rtts(&sources[1]), ["20.000 ms", "160.000 ms"]);
}

#[test]
fn routers_in_a_row_have_paths_of_their_own() {
    let text = PLAN.replace("kind = \"lab\"\n", "kind = \"lab\"\nlab.routers = 3\n");
    let hop = "[hops.rtr2.forward]\nrate = \"5mbit\"\ndelay = \"5ms\"\nbuffer = \"9p\"\n";
    let plan = plan(&format!("{text}{hop}"));
    let setup = &plan.cells[0].setup;
    let paths: Vec<_> = setup
        .paths()
        .map(|(name, _, path)| format!("{name} {}", path.base_rtt()))
        .collect();
    assert_eq!(paths, ["rtr1 20.000 ms", "rtr2 10.000 ms", "rtr3 0 ns"]);
    assert_eq!(setup.base_rtt().to_string(), "30.000 ms");
    let rate = plan.cells[0].parameters.get("rtr2_rate_mbps");
    assert_eq!(rate, Some(&Some(Parameter::Number(5.0))));
    let address = |name: &str| setup.hosts[name].address.unwrap().to_string();
    assert_eq!(
        ["src1", "xsrc1", "xdst1", "xsrc3", "xdst3", "dst1"].map(address),
        [
            "172.16.10.3",
            "172.16.10.200",
            "172.16.11.201",
            "172.16.12.200",
            "172.16.13.201",
            "172.16.13.2"
        ]
    );
    let wrong = refusal(&format!("{text}{}", hop.replace("rtr2", "rtr1")));
    assert_snapshot!(wrong, @"plan.toml:16: hops.rtr1: expected the name of a router after the first, such as rtr2");
    let wrong = refusal(&format!(
        "{text}{}",
        hop.replace("buffer = \"9p\"", "queue = \"pie\"\nred_min = \"3kB\"")
    ));
    assert_snapshot!(wrong, @"plan.toml:20: hops.rtr2.forward.red_min: forward.red_min does not apply to pie: expected red");
    assert_snapshot!(refusal(&format!("{PLAN}{hop}")), @"plan.toml:15: hops.rtr2: expected no hops: there is one router, whose path is path");
}
