//! Plans that are refused, with the reason.

use insta::assert_snapshot;

use super::*;

#[test]
fn kernel_settings_that_cannot_be_made_are_refused() {
    let with = |more: &str| {
        refusal(&PLAN.replace("kind = \"lab\"\n", &format!("kind = \"lab\"\n{more}\n")))
    };
    assert_snapshot!(with("prepare.module.hystart = 0"), @r#"plan.toml:2: prepare.module: hystart = "0" is not a parameter of a module: expected a key such as tcp_cubic.hystart"#);
    assert_snapshot!(with("prepare.module.tcp_cubic.hystart = 0.5"), @"plan.toml:2: prepare.module.tcp_cubic.hystart: invalid type: floating point `0.5`, expected the value of a kernel setting: a whole number, text, true or false");
    assert_snapshot!(with("prepare.sysctl.net.ipv4.tcp_ecn = \"1; reboot\""), @r#"plan.toml:2: prepare.sysctl: net.ipv4.tcp_ecn = "1; reboot" is not a kernel setting"#);
    assert_snapshot!(with("prepare.sysctl.net.ipv4.tcp_ecn = 1\nprepare.sysctl.\"net.ipv4\".tcp_ecn = 2"), @"plan.toml:3: net.ipv4.tcp_ecn is set twice");
    assert_snapshot!(with("prepare.source.module.tcp_cubic.hystart = 0\nprepare.sink.module.tcp_cubic.hystart = 1"), @"plan.toml:2: prepare: tcp_cubic.hystart is 1 on dst1 and 0 on src1, but these hosts share one kernel");
    assert_snapshot!(with("prepare.sources.sysctl.net.ipv4.tcp_ecn = 1"), @"plan.toml:2: prepare.sources: unknown field `sources`, expected one of `keep_offloads`, `initcwnd`, `mtu`, `sysctl`, `module`, `source`, `sink`, `router`");
}

#[test]
fn a_text_in_place_of_a_number_is_refused_with_the_range_of_the_number() {
    let with = |more: &str| {
        refusal(&PLAN.replace("kind = \"lab\"\n", &format!("kind = \"lab\"\n{more}\n")))
    };
    assert_snapshot!(with("run.repetitions = \"5S\""), @r#"plan.toml:2: run.repetitions: invalid type: string "5S", expected a whole number from 0 to 4294967295"#);
}

#[test]
fn error_names_line_and_key() {
    assert_snapshot!(refusal_of("\"10mbit\"]", "\"10mbits\"]"), @r#"plan.toml:5: matrix.rate[2]: "10mbits" is not a rate: expected bits per second such as "800kbit", "1.5mbit" or "1gbit""#);
    assert_snapshot!(refusal_of("delay = \"10ms\"", "delay = 10"), @r#"plan.toml:8: path.forward.delay: invalid type: integer `10`, expected a string with a time such as "500us", "20ms", "1.5s" or "2min""#);
    assert_snapshot!(refusal_of("buffer =", "bufer ="), @"plan.toml:9: path.forward.bufer: unknown field `bufer`, expected one of `rate`, `linklayer`, `overhead`, `police`, `police_burst`, `slot`, `slot_most`, `slot_packets`, `slot_bytes`, `trace`, `delay`, `jitter`, `jitter_distribution`, `jitter_reorders`, `loss`, `reorder`, `duplicate`, `buffer`, `queue`, `ecn`, `target`, `interval`, `update_interval`, `ce_threshold`, `flow_queues`, `red_min`, `red_max`, `red_probability`, `isolation`, `flows`");
    assert_snapshot!(refusal_of("tool = \"iperf3\"", "tool = \"iperf9\""), @"plan.toml:13: traffic[1].tool: unknown variant `iperf9`, expected one of `iperf3`, `iperf`, `udp`, `request-response`, `netperf`, `http`, `video`, `rsync`, `scp`, `ping`, `command`");
    assert_snapshot!(refusal_of("duration = \"10s\"", "durations = \"10s\""), @"plan.toml:14: traffic[1].durations: unknown field `durations`, expected one of `name`, `tool`, `from`, `to`, `start`, `duration`, `bytes`, `count`, `stagger`, `cc`, `mss`, `window`, `rate`, `packet_bytes`, `interval`, `request`, `reply`, `sizes`, `bitrates`, `segment`, `length`, `buffer`, `dscp`, `port`, `command`, `server`");
    assert_snapshot!(refusal_of("duration = \"10s\"", "duration = \"1500ms\""), @"plan.toml:14: traffic[1].duration: expected whole seconds with iperf3; iperf takes parts of a second");
    assert_snapshot!(refusal_of("duration = \"10s\"", "duration = \"25h\""), @"plan.toml:14: traffic[1].duration: expected at most 86400.000 s: iperf3 takes no longer time");
    assert_snapshot!(refusal_of("duration = \"10s\"", ""), @"plan.toml:13: traffic[1].tool: iperf3 needs duration or bytes");
    assert_snapshot!(refusal_of("duration = \"10s\"", "duration = \"10s\"\nsizes = [\"1kB\"]"), @"plan.toml:15: traffic[1].sizes: iperf3 has no sizes; it takes duration, bytes, cc, mss, window, rate, dscp, port");
    assert_snapshot!(refusal_of("duration = \"10s\"", "duration = \"10s\"\nto = \"dst9\""), @"plan.toml:15: traffic[1].to: expected one of dst1, src1, or all");
    assert_snapshot!(refusal_of("cc = [", "cca = ["), @"plan.toml:4: matrix.cca: expected the key of a parameter, such as path.forward.rate or traffic.NAME.cc, or a short name: rate, trace, linklayer, overhead, delay, jitter, loss, buffer, queue, ecn, cc, mss, duration, count, dscp, initcwnd, mtu");
    assert_snapshot!(refusal_of("cc = [", "traffic.bluk.cc = ["), @"plan.toml:4: matrix.traffic.bluk.cc: no traffic is named bluk");
    assert_snapshot!(refusal_of("\"reno\"]", "\"cubic\"]"), @"plan.toml:5: matrix.rate[1]: this cell is in the grid twice");
    assert_snapshot!(refusal_of("\"reno\"]", "\"reno; reboot\"]"), @r#"plan.toml:4: matrix.cc[2]: expected a name such as "cubic""#);
    assert_snapshot!(refusal_of("kind = \"lab\"", "kind = \"moon\""), @"plan.toml:1: kind: unknown variant `moon`, expected one of `ssh`, `lab`, `netns`");
    assert_snapshot!(refusal_of("kind = \"lab\"", "kind = \"ssh\""), @r#"plan.toml:1: expected a host whose role is "source""#);
    assert_snapshot!(refusal_of("kind = \"lab\"", "kind = lab"), @"plan.toml:1: string values must be quoted, expected literal string");
    assert_snapshot!(refusal_of("[[traffic]]", "[[change]]\nat = \"3s\"\nrate = \"5\"\n[[traffic]]"), @r#"plan.toml:13: change[1].rate: "5" is not a rate: expected bits per second such as "800kbit", "1.5mbit" or "1gbit""#);
    assert_snapshot!(refusal("kind = \"lab\"\n[path.forward]\n"), @"plan.toml:1: expected at least one [[traffic]]");
    assert_snapshot!(refusal("kind = \"lab\"\n[[traffic]]\nname = \"a\"\ntool = \"ping\"\nduration = \"1s\""), @"plan.toml:1: missing field `path`");
    assert_snapshot!(
        refusal(&PLAN.replace("\"lab\"", "\"ssh\"\nhosts.a = { role = \"source\", interface = \"eth1\" }")),
        @"plan.toml:2: hosts.a.role: a source needs address"
    );
}

#[test]
fn exclusion_by_a_bare_name_or_without_keys_is_refused() {
    let links =
        "link = [{ name = \"near\", rate = \"2mbit\" }, { name = \"far\", rate = \"9mbit\" }]";
    let with = |more: &str| {
        refusal_of(
            "rate = [\"2mbit\", \"10mbit\"]",
            &format!("{links}\n{more}"),
        )
    };
    assert_snapshot!(with("exclude = [{ name = \"far\", cc = \"reno\" }]"), @r#"plan.toml:6: matrix.exclude[1].name: expected link = "far": the key is the name of the list"#);
    assert_snapshot!(with("exclude = [{ name = \"far\" }]\ninclude = [{ rate = \"3mbit\" }]"), @r#"plan.toml:6: matrix.exclude[1].name: expected link = "far": the key is the name of the list"#);
    assert_snapshot!(with("exclude = [{ name = \"afar\" }]"), @r#"plan.toml:6: matrix.exclude[1].name: expected the name of a list and of a table in it; no list has a table named "afar""#);
    assert_snapshot!(with("exclude = [{}]"), @"plan.toml:6: matrix.exclude[1]: expected keys and values of the cells to leave out");
    assert_snapshot!(with("include = [{ name = \"slow\", rate = \"3mbit\" }]"), @"plan.toml:6: matrix.include[1].name: expected no name: only tables in a list have names");
    assert_snapshot!(refusal_of("cc = [", "link = [{ name = 7, delay = \"1ms\" }]\ncc = ["), @"plan.toml:4: matrix.link[1].name: expected text, which names the table");
    let text = PLAN.replace(
        "rate = [\"2mbit\", \"10mbit\"]",
        &format!("{links}\nexclude = [{{ link = \"far\", cc = \"reno\" }}]"),
    );
    assert_snapshot!(cells(&plan(&text)), @"cc link rate_mbps: cubic near 2, cubic far 9, reno near 2");
}

#[test]
fn two_values_of_one_parameter_are_refused() {
    let matrix = |list: &str| refusal_of("[matrix]\n", &format!("[matrix]\n{list}\n"));
    assert_snapshot!(matrix("traffic.bulk.cc = [\"bbr\"]"), @"plan.toml:5: matrix.cc: expected another key, because traffic.bulk.cc sets it too");
    assert_snapshot!(matrix("loss = [{ enter_bad = \"1%\", leave_bad = \"9%\" }]\nlink = [{ loss = \"1%\" }]"), @"plan.toml:5: matrix.link[1].loss: expected another key, because loss sets it too");
    assert_snapshot!(matrix("link = [{ delay = \"1ms\", path.forward.delay = \"2ms\" }]"), @"plan.toml:4: matrix.link[1].path.forward.delay: expected another key, because delay sets it too");
    assert_snapshot!(matrix("path.forward.delay = [\"1ms\"]\n\"path.forward.delay\" = [\"2ms\"]"), @"plan.toml:5: matrix.path.forward.delay: expected another key, because path.forward.delay sets it too");
    assert_snapshot!(matrix("include = [{ cc = \"bbr\", traffic.bulk.cc = \"vegas\" }]"), @"plan.toml:4: matrix.include[1].traffic.bulk.cc: expected another key, because cc sets it too");
    let change = |keys: &str| {
        refusal_of(
            "[[traffic]]",
            &format!("[[change]]\nat = \"3s\"\n{keys}\n[[traffic]]"),
        )
    };
    assert_snapshot!(change("rate = \"1mbit\"\nforward.rate = \"2mbit\""), @"plan.toml:14: change[1].forward.rate: expected another key, because rate sets it too");
    assert_snapshot!(change("path.forward.delay = \"1ms\"\ndelay = \"2ms\""), @"plan.toml:14: change[1].delay: expected another key, because path.forward.delay sets it too");
    // Each table of a list is a cell of its own, and each generator a parameter of its own.
    let lists = "[matrix]\nlink = [{ delay = \"1ms\" }, { path.forward.delay = \"2ms\" }]\n";
    let text = PLAN.replace("[matrix]\n", lists);
    assert_eq!(plan(&text).cells.len(), 8);
}

#[test]
fn error_about_an_unknown_table_names_all_tables_of_a_plan() {
    let unknown = |key: &str| refusal_of("[matrix]", &format!("[{key}]\n[matrix]"));
    assert_snapshot!(unknown("changes"), @"plan.toml:3: changes: unknown field `changes`, expected one of `calibration`, `capture`, `change`, `expect`, `hops`, `hosts`, `include`, `kind`, `lab`, `log`, `loggers`, `matrix`, `name`, `path`, `prepare`, `run`, `traffic`");
}

#[test]
fn interval_that_ping_cuts_is_refused() {
    let with = |tool: &str| {
        let text = PLAN.replace("cc = [\"cubic\", \"reno\"]\n", "");
        text.replace("tool = \"iperf3\"", tool)
    };
    let ping = |interval: &str| with(&format!("tool = \"ping\"\ninterval = \"{interval}\""));
    assert_snapshot!(refusal(&ping("500us")), @"plan.toml:13: traffic[1].interval: expected a whole number of milliseconds, to which ping cuts its interval");
    assert_snapshot!(refusal(&ping("2500us")), @"plan.toml:13: traffic[1].interval: expected a whole number of milliseconds, to which ping cuts its interval");
    plan(&ping("2ms"));
    assert_snapshot!(refusal_of("[matrix]", "loggers.ping = \"2500us\"\n[matrix]"), @"plan.toml:3: loggers.ping: expected a whole number of milliseconds, to which ping cuts its interval");
    // Other tools take parts of a millisecond.
    plan(&with(
        "tool = \"request-response\"\nrequest = \"1kB\"\ninterval = \"2500us\"",
    ));
}

#[test]
fn mss_above_a_known_mtu_is_refused() {
    let with = |top: &str, mss: u32| {
        let text = PLAN.replace("kind = \"lab\"", &format!("kind = \"lab\"\n{top}"));
        let text = text.replace(
            "tool = \"iperf3\"",
            &format!("tool = \"iperf3\"\nmss = {mss}"),
        );
        Plan::parse(Path::new("plan.toml"), &text)
    };
    let refusal = |top: &str, mss: u32| with(top, mss).unwrap_err().to_string();
    assert_snapshot!(refusal("", 9_000), @"plan.toml:15: traffic[1].mss: expected at most 1460 bytes: the MTU is 1500");
    assert_snapshot!(refusal("lab.ipv6 = true", 1_441), @"plan.toml:15: traffic[1].mss: expected at most 1440 bytes: the MTU is 1500");
    assert_snapshot!(refusal("prepare.mtu = 1280", 1_241), @"plan.toml:15: traffic[1].mss: expected at most 1240 bytes: the MTU is 1280");
    assert!(with("", 1_460).is_ok());
    assert!(with("lab.ipv6 = true", 1_440).is_ok());
}

#[test]
fn grid_that_is_too_large_is_refused_with_its_count() {
    let values: Vec<String> = (1..=400).map(|value| format!("\"{value}ms\"")).collect();
    let values = values.join(", ");
    let lists = [
        "path.forward.delay",
        "path.reverse.delay",
        "path.forward.target",
    ];
    let lists: String = lists.map(|list| format!("{list} = [{values}]\n")).concat();
    let text = PLAN.replace("[matrix]\n", &format!("[matrix]\n{lists}"));
    assert!(
        refusal(&text).contains("expected at most 100000 cells, but the lists yield 256000000"),
        "{}",
        refusal(&text)
    );
}

#[test]
fn exclusion_that_matches_no_cell_is_refused() {
    let wrong = "[matrix]\nexclude = [{ cc = \"reno\", rate = \"10 mbit\" }]\n";
    assert_snapshot!(refusal(&PLAN.replace("[matrix]\n", wrong)), @"plan.toml:4: matrix.exclude[1].cc: expected keys and values of the lists; no cell matches all of these");
}

#[test]
fn ports_above_the_range_are_refused() {
    let port = "duration = \"10s\"\nport = 65535\ncount = 2";
    assert_snapshot!(refusal_of("duration = \"10s\"", port), @"plan.toml:15: traffic[1].port: 2 servers need ports up to 65536: expected at most 65535");
}

#[test]
fn testbeds_that_the_lab_cannot_make_are_refused() {
    let lab = "kind = \"lab\"\nlab.sources = 65";
    assert_snapshot!(refusal_of("kind = \"lab\"", lab), @"plan.toml:2: lab.sources: expected 1 to 64 sources on the testbed, found 65");
    let lab = "kind = \"lab\"\nlab.memory_mib = 100";
    assert_snapshot!(refusal_of("kind = \"lab\"", lab), @"plan.toml:2: lab.memory_mib: expected at least 512 MiB, found 100");
    let hosts: Vec<String> = (0..65)
        .map(|number| format!("hosts.s{number}.role = \"sink\"\n"))
        .collect();
    let lab = format!("kind = \"lab\"\n{}", hosts.concat());
    assert_snapshot!(refusal_of("kind = \"lab\"", &lab), @"plan.toml:2: hosts: expected 1 to 64 sinks on the testbed, found 65");
}

#[test]
fn traffic_that_cannot_run_concurrently_is_refused() {
    let with = |more: &str| {
        refusal(&format!(
            "kind = \"lab\"\n[path.forward]\n[[traffic]]\n{more}"
        ))
    };
    let pages = "name = \"pages\"\ntool = \"http\"\nsizes = [\"1kB\"]\n";
    assert_snapshot!(with(&format!("{pages}port = 80\n[[traffic]]\nname = \"more\"\ntool = \"rsync\"\nbytes = \"1kB\"\nport = 80")), @"plan.toml:12: traffic[2].port: 80 is already in use on src1");
    assert_snapshot!(with(&format!("{pages}cc = \"bbr\"\n[[traffic]]\nname = \"more\"\ntool = \"scp\"\nbytes = \"1kB\"\ncc = \"cubic\"")), @r#"plan.toml:7: traffic[1].cc: expected cc = "cubic", because more runs on src1 at the same time and cannot set its own"#);
    assert_snapshot!(with(&format!("{pages}cc = \"bbr\"\n[[traffic]]\nname = \"more\"\ntool = \"iperf\"\nbytes = \"1kB\"")), @r#"plan.toml:10: traffic[2].tool: expected cc = "bbr", because pages runs on src1 at the same time and cannot set its own"#);
    assert_snapshot!(with("name = \"asks\"\ntool = \"request-response\"\nduration = \"1s\"\nrequest = \"1kB\"\nreply = \"2kB\""), @"plan.toml:8: traffic[1].reply: iperf echoes its request: expected the size of request; netperf supports two sizes");
}

#[test]
fn video_that_cannot_play_is_refused() {
    let with = |more: &str| {
        refusal(&format!(
            "kind = \"lab\"\n[path.forward]\n[[traffic]]\nname = \"film\"\ntool = \"video\"\n{more}"
        ))
    };
    let (rates, times) = (
        "bitrates = [\"1mbit\", \"2mbit\"]\n",
        "segment = \"4s\"\nlength = \"1min\"\n",
    );
    assert_snapshot!(with(rates), @"plan.toml:5: traffic[1].tool: video needs segment");
    assert_snapshot!(with(&format!("bitrates = [\"2mbit\", \"1mbit\"]\n{times}")), @r"plan.toml:6: traffic[1].bitrates: expected bitrates above 0 in ascending order");
    assert_snapshot!(with(&format!("{rates}segment = \"0s\"\nlength = \"1min\"")), @r"plan.toml:7: traffic[1].segment: expected 1.000 ms or more");
    assert_snapshot!(with(&format!("{rates}segment = \"4s\"\nlength = \"3s\"")), @r"plan.toml:8: traffic[1].length: expected at least one segment of 4.000 s");
    assert_snapshot!(with(&format!("{rates}{times}buffer = \"7s\"")), @r"plan.toml:9: traffic[1].buffer: expected two segments, 8.000 s, or more");
}

#[test]
fn impossible_path_is_refused_before_any_change() {
    assert_snapshot!(refusal_of("buffer = \"30p\"", "rate = \"2mbit\""), @r#"plan.toml:7: path.forward: forward.queue needs a buffer, such as buffer = "1bdp""#);
    assert_snapshot!(refusal_of("[[traffic]]", "[[change]]\nat = \"3s\"\npath.forward.queue = \"codel\"\n[[traffic]]"), @"plan.toml:11: change[1]: the queue forward cannot be changed in place: apply the new bottleneck instead");
}

#[test]
fn traffic_whose_process_has_the_name_of_another_one_is_refused() {
    let named = |name: &str| refusal_of("name = \"bulk\"", &format!("name = {name:?}"));
    assert_snapshot!(named("src1"), @"plan.toml:12: traffic[1].name: src1 on src1 is already the name of a capture or logger");
    assert_snapshot!(named("src1-ping"), @"plan.toml:12: traffic[1].name: src1-ping on src1 is already the name of a capture or logger");
    let more = |second: &str| {
        let second = format!(
            "[[traffic]]\nname = {second:?}\ntool = \"ping\"\nduration = \"1s\"\n[[traffic]]\ncount = 2"
        );
        refusal_of("[[traffic]]", &second)
    };
    assert_snapshot!(more("bulk-2"), @"plan.toml:17: traffic[2].name: bulk-2 on src1 is already the name of other traffic");
}

#[test]
fn times_beyond_any_experiment_are_refused() {
    let with =
        |more: &str| refusal_of("duration = \"10s\"", &format!("duration = \"10s\"\n{more}"));
    assert_snapshot!(with("count = 3\nstagger = \"2562047h\""), @"plan.toml:16: traffic[1].stagger: expected at most 366 days from the start of a run");
    assert_snapshot!(with("start = \"2562047h\""), @"plan.toml:15: traffic[1].start: expected at most 366 days from the start of a run");
}

#[test]
fn stagger_of_one_instance_is_refused() {
    let with =
        |more: &str| refusal_of("duration = \"10s\"", &format!("duration = \"10s\"\n{more}"));
    assert_snapshot!(with("stagger = \"1s\""), @"plan.toml:15: traffic[1].stagger: needs count: there is one instance");
    let varied = |count: &str| {
        let matrix =
            format!("traffic.bulk.count = {count}\ntraffic.bulk.stagger = [\"0s\", \"1s\"]");
        refusal_of("cc = [\"cubic\", \"reno\"]", &matrix)
    };
    assert_snapshot!(varied("[1, 3]"), @"plan.toml:6: matrix.rate[1]: this cell equals another one in the grid: stagger changes nothing with one instance");
}

#[test]
fn keys_that_all_cells_share_are_refused_in_the_matrix() {
    let with = |key: &str| {
        refusal_of(
            "cc = [\"cubic\", \"reno\"]",
            &format!("{key:?} = [\"a\", \"b\"]"),
        )
    };
    assert_snapshot!(with("hosts.src1.ssh"), @"plan.toml:4: matrix.hosts.src1.ssh: expected another key, because all cells share hosts.src1.ssh");
    assert_snapshot!(with("hosts.src1"), @"plan.toml:4: matrix.hosts.src1: expected another key, because all cells share hosts");
    assert_snapshot!(with("lab.sources"), @"plan.toml:4: matrix.lab.sources: expected another key, because all cells share lab");
}

#[test]
fn numbers_that_no_tool_can_use_are_refused() {
    let with =
        |more: &str| refusal_of("duration = \"10s\"", &format!("duration = \"10s\"\n{more}"));
    assert_snapshot!(with("mss = 20"), @"plan.toml:15: traffic[1].mss: expected at least 88 bytes");
    assert_snapshot!(with("port = 0"), @"plan.toml:15: traffic[1].port: expected 1 to 65535");
    assert_snapshot!(with("rate = \"0bit\""), @"plan.toml:15: traffic[1].rate: expected more than 0 bit/s");
    assert_snapshot!(with("to = \"src1\"\nfrom = \"dst1\"\n[[traffic]]\nname = \"all\"\ntool = \"ping\"\nduration = \"1s\""), @"plan.toml:18: traffic[2].name: expected another name: this one stands for all traffic in results");
    let first = |more: &str| {
        refusal(&PLAN.replace("kind = \"lab\"\n", &format!("kind = \"lab\"\n{more}\n")))
    };
    assert_snapshot!(first("loggers.ss = \"0s\""), @"plan.toml:2: loggers.ss: expected more than 0s");
    assert_snapshot!(first("capture.snaplen = 1"), @"plan.toml:2: capture.snaplen: expected at least 54 bytes, the headers of a TCP segment, or 0 for whole packets");
    assert_snapshot!(first("run.cooldown = \"-5s\""), @"plan.toml:2: run.cooldown: expected a time of 0s or more");
    assert_snapshot!(first("run.repetitions = 4000000000"), @"plan.toml:2: run.repetitions: expected at most 1000000 runs, found 16000000000");
    assert_snapshot!(refusal_of("[[traffic]]", "[[change]]\nat = \"-1s\"\nrate = \"5mbit\"\n[[traffic]]"), @"plan.toml:12: change[1].at: expected a time of 0s or later");
}

#[test]
fn traffic_that_sends_nothing_is_refused() {
    let with = |more: &str| refusal(&format!("{PLAN}{more}\n"));
    let command = "[[traffic]]\nname = \"other\"\ntool = \"command\"\nduration = \"1s\"\n";
    assert_snapshot!(with(&format!("{command}command = []")), @"plan.toml:19: traffic[2].command: expected a list of words");
    assert_snapshot!(with(&format!("{command}command = [\"true\"]\nserver = [\"\"]")), @"plan.toml:20: traffic[2].server: expected a list of words");
    assert_snapshot!(with("count = 0"), @"plan.toml:15: traffic[1].count: expected at least 1 in one [[traffic]], found 0 in all");
    assert_snapshot!(refusal_of("cc = [\"cubic\", \"reno\"]", "traffic.bulk.count = [1, 0]"), @"plan.toml:4: matrix.traffic.bulk.count[2]: expected at least 1 in one [[traffic]], found 0 in all");
}

#[test]
fn traffic_between_hosts_of_one_side_is_refused() {
    let two = PLAN.replace("kind = \"lab\"\n", "kind = \"lab\"\nlab.sources = 2\n");
    let text = two.replace(
        "duration = \"10s\"",
        "duration = \"10s\"\nfrom = \"src1\"\nto = \"src2\"",
    );
    assert_snapshot!(refusal(&text), @"plan.toml:17: traffic[1].to: expected a host on the other side of the router: src1 and src2 are on the same side");
}

#[test]
fn lists_that_set_one_place_are_refused() {
    let with = |more: &str| refusal_of("cc = [\"cubic\", \"reno\"]", more);
    assert_snapshot!(with("link = [{ name = \"slow\", rate = \"2mbit\" }, { name = \"fast\", rate = \"20mbit\" }]"), @"plan.toml:5: matrix.rate: expected another key, because link sets it too");
    assert_snapshot!(with("link = [{ name = \"a\", delay = \"2ms\" }, { name = \"a\", delay = \"3ms\" }]"), @r#"plan.toml:4: matrix.link[2].delay: expected a name of its own, found "a" twice"#);
}
