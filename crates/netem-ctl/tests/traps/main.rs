//! Pitfalls of path emulation, with a test for each.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

mod dummynet;
mod queues;

use netem_ctl::{Bottleneck, ChangeError, Os, Plan, Queue, Router, Step, clear, plan};

fn router(os: Os) -> Router {
    Router {
        os,
        left: "eth1".parse().unwrap(),
        right: "eth2".parse().unwrap(),
    }
}

fn planned(toml: &str) -> Plan {
    plan(&Bottleneck::from_toml(toml).unwrap(), &router(Os::Linux)).unwrap()
}

fn refused(toml: &str, os: Os) -> String {
    let error = plan(&Bottleneck::from_toml(toml).unwrap(), &router(os)).unwrap_err();
    error.to_string()
}

fn lines(steps: &[Step]) -> Vec<String> {
    steps.iter().map(Step::line).collect()
}

/// The commands that make something of a kind.
fn made(plan: &Plan, word: &str) -> Vec<String> {
    let lines = lines(&plan.apply).into_iter();
    lines
        .filter(|line| line.contains(" add ") && line.contains(word))
        .collect()
}

/// Returns the number after a word.
fn number(line: &str, word: &str) -> u64 {
    let mut words = line.split(' ').skip_while(|found| *found != word);
    words.nth(1).unwrap().parse().unwrap()
}

/// One bottleneck for each queue, everything else alike.
fn of_each_queue() -> impl Iterator<Item = (Queue, Plan)> {
    Queue::ALL.into_iter().map(|queue| {
        let toml = format!(
            "[forward]\nrate = '10mbit'\ndelay = '20ms'\nbuffer = '100p'\nqueue = '{queue}'"
        );
        (queue, planned(&toml))
    })
}

const PLAIN: &str = "[forward]\nrate = '10mbit'\ndelay = '20ms'\nbuffer = '90p'";

#[test]
fn an_htb_root_is_deleted_and_added_but_never_replaced() {
    for (_, plan) in of_each_queue() {
        let lines = lines(&plan.apply);
        assert!(lines.iter().all(|line| !line.contains(" replace ")));
        let at = |start: &str| lines.iter().position(|line| line.starts_with(start));
        let deleted = at("tc qdisc del dev eth2 root handle 7b1:").unwrap();
        assert!(deleted < at("tc qdisc add dev eth2 root handle 7b1:").unwrap());
    }
}

#[test]
fn deleting_may_fail_and_creating_must_succeed() {
    for (_, plan) in of_each_queue() {
        for step in &plan.apply {
            let line = step.line();
            let may = [" del ", "ethtool ", " addrgenmode "];
            let may = may.iter().any(|word| line.contains(word));
            assert_eq!(step.may_fail, may, "{line}");
        }
        assert!(plan.clear.iter().all(|step| step.may_fail));
    }
}

#[test]
fn our_filters_are_deleted_before_they_are_added() {
    let lines = lines(&planned(PLAIN).apply);
    let at = |start: &str| lines.iter().position(|line| line.starts_with(start));
    let deleted = at("tc filter del dev eth1 ingress pref 7103").unwrap();
    let added = at("tc filter add dev eth1 ingress protocol all pref 7103").unwrap();
    assert!(deleted < added);
}

#[test]
fn netem_is_only_on_our_ifb_devices() {
    for (_, plan) in of_each_queue() {
        for line in made(&plan, "netem") {
            assert!(line.starts_with("tc qdisc add dev tcxd-"), "{line}");
        }
    }
}

#[test]
fn netem_limit_exceeds_its_default_of_1000_where_needed() {
    let long = planned("[forward]\nrate = '1gbit'\ndelay = '100ms'\nbuffer = '1bdp'");
    // 1.5 times the packets of 84 bytes that a link of 10 Gbit/s delivers in 100 ms.
    assert_eq!(number(&made(&long, "netem")[0], "limit"), 2_232_143);
    let short = planned("[forward]\nrate = '1mbit'\ndelay = '10us'\nbuffer = '9p'");
    assert_eq!(number(&made(&short, "netem")[0], "limit"), 1_000);
}

#[test]
fn delay_and_rate_never_share_a_netem() {
    for (queue, plan) in of_each_queue() {
        for line in made(&plan, "netem") {
            assert!(
                line.contains(" delay ") && !line.contains(" rate "),
                "{queue}: {line}"
            );
        }
    }
}

#[test]
fn netem_is_always_a_root_and_never_the_parent_or_the_child_of_a_queue() {
    let flows = "[[forward.flows]]\nsource_port = 80\ndelay = '9ms'";
    let many = planned(&format!("{PLAIN}\n{flows}"));
    let plans = of_each_queue().map(|(_, plan)| plan).chain([many]);
    for plan in plans {
        for line in made(&plan, "netem") {
            assert!(line.contains(" root handle 7d"), "{line}");
        }
        let adds = lines(&plan.apply);
        assert!(adds.iter().all(|line| !line.contains("parent 7d")));
    }
}

#[test]
fn offloads_are_disabled_before_any_queue_counts_packets() {
    let lines = lines(&planned(PLAIN).apply);
    for device in ["eth1", "eth2"] {
        let off = format!("ethtool -K {device} tso off gso off gro off lro off");
        assert!(lines[..4].contains(&off), "{off}");
    }
}

#[test]
fn burst_is_small_and_holds_a_packet_even_when_tc_rounds_it_down() {
    for (rate, burst) in [
        ("800kbit", 3_028),
        ("10mbit", 3_028),
        ("100mbit", 3_125),
        ("1gbit", 31_250),
    ] {
        let plan = planned(&PLAIN.replace("10mbit", rate));
        let class = &made(&plan, "htb rate")[0];
        assert_eq!(number(class, "burst"), burst, "{rate}");
        assert_eq!(number(class, "cburst"), burst, "{rate}");
        // tc counts bursts in steps of 64 ns at the rate.
        let step = plan.bottleneck.forward.rate.unwrap().as_bps() * 64 / 8 / 1_000_000_000;
        assert!(burst - step > 1_514, "{rate}");
    }
}

#[test]
fn htb_has_a_default_class_for_unclassified_packets() {
    for line in made(&planned(PLAIN), "root handle 7b1: htb") {
        assert!(line.ends_with("htb default 10"), "{line}");
    }
    assert_eq!(made(&planned(PLAIN), "classid 7b1:10").len(), 1);
}

#[test]
fn htb_has_an_explicit_quantum() {
    assert_eq!(
        number(&made(&planned(PLAIN), "htb rate")[0], "quantum"),
        1_514
    );
}

#[test]
fn a_bandwidth_delay_product_counts_full_packets_and_the_whole_round_trip() {
    let plan = planned(
        "[forward]\nrate = '10mbit'\ndelay = '20ms'\nbuffer = '1bdp'\n[reverse]\ndelay = '40ms'",
    );
    let size = plan.queues[0].unwrap();
    // 10 Mbit/s · 60 ms = 75 000 bytes = 49.5 frames of 1514 bytes.
    assert_eq!((size.bytes, size.packets), (75_000, 50));
    assert_eq!(number(&made(&plan, "pfifo")[0], "limit"), 50);
    let twice =
        planned("[forward]\nrate = '10mbit'\ndelay = '30ms'\nbuffer = '2bdp'\nqueue = 'bfifo'");
    assert_eq!(number(&made(&twice, "bfifo")[0], "limit"), 150_000);
    assert_eq!(
        refused("[forward]\nrate = '10mbit'\nbuffer = '1bdp'", Os::Linux),
        "forward.buffer is 1bdp: expected packets, bytes or a time: the path has no delay to \
         multiply by"
    );
}

#[test]
fn rates_reach_tc_exactly() {
    let plan = planned(&PLAIN.replace("10mbit", "1.4mbit"));
    assert!(made(&plan, "htb rate")[0].contains(" rate 1.4mbit ceil 1.4mbit "));
}

#[test]
fn the_bottleneck_queues_and_never_polices() {
    for (queue, plan) in of_each_queue() {
        let lines = lines(&plan.apply);
        assert!(lines.iter().all(|line| !line.contains("police")), "{queue}");
    }
}

#[test]
fn jitter_keeps_the_order_unless_reordering_is_requested() {
    let jitter = PLAIN.to_owned() + "\njitter = '2ms'";
    let line = &made(&planned(&jitter), "netem")[0];
    assert!(line.ends_with("delay 20ms 2ms rate 100gbit"), "{line}");
    let line = &made(&planned(&(jitter + "\njitter_reorders = true")), "netem")[0];
    assert!(line.ends_with("delay 20ms 2ms"), "{line}");
    assert_eq!(
        refused("[forward]\ndelay = '1ms'\njitter = '2ms'", Os::Linux),
        "forward.jitter is 2ms: expected at most the delay: no packet arrives before it is sent"
    );
}

#[test]
fn nothing_is_flushed_on_either_system() {
    for os in [Os::Linux, Os::FreeBsd] {
        let plan = plan(&Bottleneck::from_toml(PLAIN).unwrap(), &router(os)).unwrap();
        for line in lines(&plan.apply).iter().chain(&lines(&plan.clear)) {
            assert!(
                !line.contains("flush") && !line.contains("iptables"),
                "{line}"
            );
        }
    }
}

#[test]
fn clearing_deletes_by_our_own_numbers_and_needs_only_the_router() {
    let with_flows = format!("{PLAIN}\n[[forward.flows]]\nsource_port = 80\ndelay = '9ms'");
    assert_eq!(planned(&with_flows).clear, clear(&router(Os::Linux)));
    assert_eq!(planned(PLAIN).clear, clear(&router(Os::Linux)));
    for line in lines(&clear(&router(Os::Linux))) {
        let ours = ["handle 7b", "pref 710", "group 7700", "clsact"];
        assert!(ours.iter().any(|own| line.contains(own)), "{line}");
    }
}

#[test]
fn handles_are_hexadecimal_and_names_of_devices_are_short_enough() {
    let flows = "[[forward.flows]]\nsource_port = 80\ndelay = '9ms'\n".repeat(30);
    let plan = planned(&format!("{PLAIN}\n{flows}"));
    for line in made(&plan, "type ifb") {
        let name = line.split(' ').nth(3).unwrap();
        assert!(name.len() <= 15, "{name}");
    }
    let refusal = refused(&format!("{PLAIN}\n{flows}{flows}"), Os::Linux);
    assert_eq!(
        refusal,
        "forward.flows is 60 flows: expected at most 30 flows"
    );
}

#[test]
fn duplication_has_a_tree_of_its_own() {
    let plan = planned(&(PLAIN.to_owned() + "\nduplicate = '1%'"));
    let with_it: Vec<String> = made(&plan, "duplicate");
    assert_eq!(with_it.len(), 1);
    assert!(
        with_it[0].starts_with("tc qdisc add dev tcxd-l root "),
        "{}",
        with_it[0]
    );
}

#[test]
fn a_changed_netem_repeats_every_option_and_changes_none_that_the_kernel_keeps() {
    let before = planned(&(PLAIN.to_owned() + "\nloss = '1%'"));
    let after = planned(&(PLAIN.replace("20ms", "40ms") + "\nloss = '1%'"));
    let steps = lines(&before.change_to(&after).unwrap());
    assert_eq!(
        steps,
        [
            "tc qdisc change dev tcxd-l root handle 7d1: netem limit 89286 delay 40ms loss random 1% reorder 0%",
            "tc qdisc change dev tcxd-r root handle 7d2: netem limit 89286 delay 40ms reorder 0%"
        ]
    );
    let ordered = planned(&(PLAIN.to_owned() + "\njitter = '1ms'"));
    assert_eq!(
        before.change_to(&ordered).unwrap_err(),
        ChangeError::Fixed("the delay stage tcxd-l".into())
    );
}

#[test]
fn changes_that_kernels_refuse_are_not_attempted() {
    let of = |queue: &str, buffer: &str| {
        planned(&format!(
            "[forward]\nrate = '10mbit'\nbuffer = '{buffer}'\nqueue = '{queue}'"
        ))
    };
    // fq_codel and fq_pie refuse a change that names the number of flows, even the same.
    for queue in ["fq_codel", "fq_pie"] {
        let steps = lines(&of(queue, "100p").change_to(&of(queue, "200p")).unwrap());
        assert_eq!(steps.len(), 1);
        assert!(!steps[0].contains("flows"), "{}", steps[0]);
    }
    // sfq cannot be changed at all, and no queue into another one.
    let error = of("sfq", "100p").change_to(&of("sfq", "120p")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the queue forward cannot be changed in place: apply the new bottleneck instead"
    );
    assert!(of("pie", "100p").change_to(&of("codel", "100p")).is_err());
    assert!(
        of("pfifo", "100p")
            .change_to(&of("pfifo", "100p"))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn keys_without_their_required_keys_are_refused() {
    for (toml, refusal) in [
        (
            "[forward]\nbuffer = '9p'",
            "forward.buffer needs a rate, because no queue forms without one",
        ),
        (
            "[forward]\nreorder = '1%'",
            "forward.reorder needs a delay that some packets skip",
        ),
        (
            "[forward]\ndelay = '1ms'\njitter_reorders = true",
            "forward.jitter_reorders needs jitter",
        ),
        (
            "[[forward.flows]]\ndelay = '1ms'",
            "forward.flows[1]: identifies no packets: expected source, destination or a port",
        ),
        (
            "[[forward.flows]]\nsource = '10.0.0.1'\ndestination = 'fd00::1'\ndelay = '1ms'",
            "forward.flows[1]: source and destination are of different IP versions",
        ),
        (
            "[forward]\nrate = '10mbit'\nbuffer = '100B'",
            "forward.buffer is 100B: expected room for at least one full packet, 1514 bytes as the rate counts them",
        ),
        (
            "[forward]\nrate = '10mbit'\nbuffer = '9p'\ntarget = '5ms'",
            "forward.target does not apply to pfifo: expected codel, fq_codel, pie or fq_pie",
        ),
    ] {
        assert_eq!(refused(toml, Os::Linux), refusal);
    }
}

#[test]
fn shares_of_zero_are_neither_set_nor_verified_but_can_be_changed() {
    let zero = "[forward]\nrate = '10mbit'\nloss = '0%'\nduplicate = '0%'\nbuffer = '90p'";
    let none = planned(zero);
    let stages = made(&none, "netem");
    assert_eq!(stages.len(), 1, "{stages:?}");
    assert!(!stages[0].contains('%'), "{stages:?}");
    let loss = planned(&zero.replace("loss = '0%'", "loss = '1%'"));
    let change = lines(&none.change_to(&loss).unwrap());
    assert!(change[0].contains("loss random 1%"), "{change:?}");
    let back = lines(&loss.change_to(&none).unwrap());
    assert!(!back[0].contains("loss"), "{back:?}");

    let freebsd = plan(
        &Bottleneck::from_toml(&format!(
            "{zero}\njitter = '0ms'\nreorder = '0%'\ndelay = '2ms'"
        ))
        .unwrap(),
        &router(Os::FreeBsd),
    );
    let lines = lines(&freebsd.unwrap().apply);
    assert!(lines.iter().all(|line| !line.contains("plr")), "{lines:?}");
}
