//! The cells of a plan and their parameters.

use insta::assert_snapshot;

use super::*;

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
fn list_of_a_parameter_may_have_tables_among_its_values() {
    let bursts = "{ enter_bad = \"1%\", leave_bad = \"20%\" }";
    let with = |list: &str| {
        let text = PLAN.replace("rate = [\"2mbit\", \"10mbit\"]", list);
        text.replace("[path.forward]\n", "[path.forward]\nrate = \"2mbit\"\n")
    };
    let lists = |key: &str| {
        let list = format!("{key} = [\"2%\", {bursts}]");
        let plan = plan(&with(&list));
        let loss = |cell: &Cell| cell.setup.path.forward.loss.unwrap();
        let losses: Vec<netem_ctl::Loss> = plan.cells.iter().map(loss).collect();
        assert!(matches!(
            losses.as_slice(),
            [
                netem_ctl::Loss::Random(_),
                netem_ctl::Loss::Bursts(_),
                netem_ctl::Loss::Random(_),
                netem_ctl::Loss::Bursts(_),
            ]
        ));
    };
    lists("loss");
    lists("path.forward.loss");
    // A short name leads into a table of other parameters too.
    let link = format!("link = [{{ rate = \"2mbit\", loss = {bursts} }}]");
    let plan = plan(&with(&link));
    let loss = plan.cells[0].setup.path.forward.loss;
    assert!(matches!(loss, Some(netem_ctl::Loss::Bursts(_))));
    let half = with("loss = [\"2%\", { enter_bad = \"1%\" }]");
    assert_snapshot!(refusal(&half), @"plan.toml:5: matrix.loss[2].enter_bad: missing field `leave_bad`");
}
