//! Tests with the output of iproute2 6.1 on Linux 6.1 and of FreeBSD's ipfw.

use super::*;
use crate::plan::check::OptionFact;

/// Output of `tc -j -s qdisc show dev r1` with a rate stage and a queue.
const QUEUES: &str = r#"[{"kind":"htb","handle":"7b1:","root":true,"refcnt":2,"options":{"r2q":10,"default":"0x10","direct_packets_stat":0,"direct_qlen":1000},"bytes":0,"packets":0,"drops":0,"overlimits":0,"requeues":0,"backlog":0,"qlen":0},{"kind":"codel","handle":"7c1:","parent":"7b1:10","options":{"limit":1000,"target":4999,"interval":99999,"ecn":true},"bytes":0,"packets":0,"drops":0,"overlimits":0,"requeues":0,"backlog":0,"qlen":0,"count":0,"lastcount":0,"ldelay":0,"drop_next":0,"maxpacket":0,"ecn_mark":0,"drop_overlimit":0}]"#;

fn codel(options: Vec<OptionFact>) -> Must {
    Must::Qdiscs(vec![QdiscFact {
        device: "r1".into(),
        kind: "codel".into(),
        handle: "7c1:".into(),
        parent: Some("7b1:10".into()),
        options,
    }])
}

fn wrong(must: Must, output: &str) -> Vec<String> {
    let check = Check {
        argv: Vec::new(),
        must,
    };
    let wrong = check.compare(output);
    wrong.iter().map(ToString::to_string).collect()
}

#[test]
fn times_rounded_by_the_kernel_are_accepted() {
    let facts = vec![
        OptionFact::number("target", 5_000.0, 2.1),
        OptionFact::switch("ecn", true),
        OptionFact::absent("ce_threshold"),
    ];
    assert_eq!(wrong(codel(facts), QUEUES), [""; 0]);
}

#[test]
fn mismatch_names_what_differs() {
    let facts = vec![
        OptionFact::count("limit", 90),
        OptionFact::switch("ecn", false),
        OptionFact::number("ce_threshold", 1_000.0, 2.1),
    ];
    assert_eq!(
        wrong(codel(facts), QUEUES),
        [
            "limit of codel on r1 is 1000, not 90",
            "ecn of codel on r1 is true, not off",
            "ce_threshold of codel on r1 is missing, not 1000"
        ]
    );
    let root = Must::Qdiscs(vec![QdiscFact {
        device: "r1".into(),
        kind: "cake".into(),
        handle: "7b1:".into(),
        parent: None,
        options: Vec::new(),
    }]);
    assert_eq!(
        wrong(root.clone(), QUEUES),
        ["the queue at the root of r1 is htb 7b1:, not cake 7b1:"]
    );
    assert_eq!(
        wrong(root, "[]"),
        ["the queue at the root of r1 is missing, not cake 7b1:"]
    );
}

#[test]
fn classes_are_read_as_text_and_as_json() {
    let class = |rate| Must::Class {
        device: "r1".into(),
        id: "7b1:10".into(),
        rate: BitRate::from_bps(rate),
    };
    let text = "class htb 7b1:10 root leaf 7c1: prio 0 rate 12345Kbit ceil 12345Kbit burst 3026b \
                cburst 3026b \n";
    assert_eq!(wrong(class(12_345_678), text), [""; 0]);
    assert_eq!(
        wrong(class(10_000_000), text),
        [
            "rate of class 7b1:10 on r1 is 12345000, not 10000000 bit/s",
            "ceil of class 7b1:10 on r1 is 12345000, not 10000000 bit/s"
        ]
    );
    let json = r#"[{"class":"htb","handle":"7b1:10","rate":1250000,"ceil":1250000}]"#;
    assert_eq!(wrong(class(10_000_000), json), [""; 0]);
    assert_eq!(
        wrong(class(10_000_000), ""),
        ["class 7b1:10 on r1 is missing, not htb with rate 10mbit"]
    );
}

#[test]
fn a_duplicate_of_our_filter_is_a_mismatch() {
    let to = vec![(7_103, "all".into(), "tcxd-l".into())];
    let must = || Must::Redirects {
        device: "r0".into(),
        to: to.clone(),
    };
    let filter = r#"{"protocol":"all","pref":7103,"kind":"u32","chain":0,"options":{"fh":"802::800","match":{"value":"0"},"match":{"value":"1"},"actions":[{"order":1,"kind":"mirred","mirred_action":"redirect","direction":"egress","to_dev":"tcxd-l"}]}}"#;
    let head = r#"{"protocol":"all","pref":7103,"kind":"u32","chain":0}"#;
    assert_eq!(wrong(must(), &format!("[{head},{filter}]")), [""; 0]);
    assert_eq!(
        wrong(must(), &format!("[{filter},{filter}]")),
        [
            "what enters r0 is all (pref 7103) to tcxd-l, all (pref 7103) to tcxd-l, not all (pref 7103) to tcxd-l"
        ]
    );
    assert_eq!(
        wrong(must(), ""),
        ["what enters r0 is redirected nowhere, not all (pref 7103) to tcxd-l"]
    );
}

#[test]
fn enabled_offload_is_a_mismatch_and_fixed_off_is_not() {
    let must = Must::NoOffload {
        device: "r0".into(),
    };
    let output = "Features for r0:\ntcp-segmentation-offload: off\n\
                  generic-segmentation-offload: off\n\
                  generic-receive-offload: on\nlarge-receive-offload: off [fixed]\n";
    assert_eq!(
        wrong(must, output),
        ["generic-receive-offload of r0 is on, not off"]
    );
}

#[test]
fn offloads_that_ethtool_does_not_list_are_mismatches() {
    let must = || Must::NoOffload {
        device: "r0".into(),
    };
    assert_eq!(wrong(must(), "").len(), OFFLOADS.len());
    let output = "Features for r0:\ntcp-segmentation-offload: off\n\
                  generic-segmentation-offload: off\ngeneric-receive-offload: off\n";
    assert_eq!(
        wrong(must(), output),
        ["large-receive-offload of r0 is missing, not off"]
    );
}

#[test]
fn pipes_of_dummynet_are_read_back() {
    let must = |millis| Must::Pipe {
        number: 7_101,
        rate: Some(BitRate::from_bps(10_000_000)),
        delay: tcpexp_units::TimeDelta::from_millis(millis),
        words: vec![" 90 sl.".into(), "droptail".into()],
    };
    let output = "07101:  10.000 Mbit/s    0 ms burst 0 \n\
                  q138173  90 sl. 0 flows (1 buckets) sched 72637 weight 0 lmax 0 pri 0 droptail\n \
                  sched 72637 type FIFO flags 0x0 0 buckets 0 active\n";
    assert_eq!(wrong(must(0), output), [""; 0]);
    assert_eq!(
        wrong(must(20), output),
        ["delay of pipe 7101 is 0 ms, not 20 ms"]
    );
    let free = Must::Pipe {
        number: 7_110,
        rate: None,
        delay: tcpexp_units::TimeDelta::from_millis(20),
        words: Vec::new(),
    };
    let output = "07110: unlimited        20 ms burst 0 \nq138182 10000 sl. 0 flows\n";
    assert_eq!(wrong(free, output), [""; 0]);
}

#[test]
fn ipfw_rules_of_our_set_are_compared_without_their_numbers() {
    let must = Must::Rules(vec![
        "pipe 7111 ip from 172.16.10.4/32 to any out via vtnet2".into(),
        "pipe 7101 ip from any to any out via vtnet2".into(),
    ]);
    let output = "07102 pipe 7111 ip from 172.16.10.4 to any out via vtnet2\n\
                  07299 pipe 7101 ip from any to any out via vtnet2\n";
    assert_eq!(wrong(must, output), [""; 0]);
}

#[test]
fn a_limit_higher_than_needed_is_accepted() {
    let must = |exact| Must::Setting {
        name: "kern.hz".into(),
        value: 1_000,
        exact,
    };
    assert_eq!(wrong(must(false), "2000\n"), [""; 0]);
    assert_eq!(
        wrong(must(false), "100\n"),
        ["kern.hz is 100, not 1000 or more"]
    );
    assert_eq!(wrong(must(true), "2000\n"), ["kern.hz is 2000, not 1000"]);
}

/// Output of `tc filter show dev right egress pref 7104`.
const POLICER: &str = "filter protocol all matchall chain 0 \nfilter protocol all matchall chain 0 handle 0x1 \n  not_in_hw\n\taction order 1:  police 0x1bc0 rate 5Mbit burst 64000b mtu 2Kb action drop overhead 0b \n\tref 1 bind 1\n";

#[test]
fn policer_is_read_back_from_text() {
    let policer = |bps, burst| Must::Policer {
        device: "right".into(),
        rate: BitRate::from_bps(bps),
        burst,
    };
    assert_eq!(wrong(policer(5_000_000, 64_000), POLICER), [""; 0]);
    let in_powers = POLICER.replace("64000b", "63Kb");
    assert_eq!(wrong(policer(5_000_000, 64_000), &in_powers), [""; 0]);
    assert_eq!(
        wrong(policer(4_000_000, 32_000), POLICER),
        [
            "rate of the policer of right is 5000000 bit/s, not 4000000 bit/s",
            "burst of the policer of right is 64000, not 32000",
        ]
    );
    assert_eq!(
        wrong(policer(5_000_000, 64_000), ""),
        ["the policer of right is missing, not a rate of 5mbit"]
    );
}
