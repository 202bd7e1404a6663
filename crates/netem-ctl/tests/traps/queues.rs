//! The traps of each queue.

use netem_ctl::Os;

use super::{PLAIN, lines, made, number, of_each_queue, planned, refused};

#[test]
fn the_limit_of_the_queue_does_not_depend_on_the_delay() {
    for delay in ["0ms", "20ms", "300ms"] {
        let plan = planned(&PLAIN.replace("20ms", delay));
        assert_eq!(number(&made(&plan, "pfifo")[0], "limit"), 90);
    }
}

#[test]
fn every_queue_has_an_explicit_limit() {
    for (queue, plan) in of_each_queue() {
        let last = lines(&plan.apply).pop().unwrap();
        assert!(last.contains("limit "), "{queue}: {last}");
    }
    let without = "[forward]\nrate = '10mbit'\nqueue = 'fq_codel'";
    assert_eq!(
        number(&made(&planned(without), "fq_codel")[0], "limit"),
        10_240
    );
    assert_eq!(
        refused("[forward]\nrate = '10mbit'", Os::Linux),
        "forward.queue needs a buffer, such as buffer = \"1bdp\""
    );
}

#[test]
fn ecn_is_explicit_and_refused_for_queues_that_cannot_mark() {
    let queue = |queue: &str, more: &str| {
        planned(&format!(
            "[forward]\nrate = '10mbit'\nqueue = '{queue}'{more}"
        ))
    };
    for name in ["codel", "fq_codel", "pie", "fq_pie"] {
        let off = lines(&queue(name, "").apply).pop().unwrap();
        assert!(off.split(' ').any(|word| word == "noecn"), "{off}");
        let on = lines(&queue(name, "\necn = true").apply).pop().unwrap();
        assert!(on.split(' ').any(|word| word == "ecn"), "{on}");
    }
    assert_eq!(
        refused(&(PLAIN.to_owned() + "\necn = true"), Os::Linux),
        "forward.ecn does not apply to pfifo: expected red, codel, fq_codel, pie, fq_pie or \
         cake"
    );
    assert_eq!(
        refused(
            "[forward]\nrate = '1mbit'\nqueue = 'cake'\necn = false",
            Os::Linux
        ),
        "forward.ecn is false: expected true or no value: cake always marks"
    );
}

#[test]
fn cake_shapes_without_an_htb_above_it() {
    let plan = planned("[forward]\nrate = '10mbit'\nqueue = 'cake'");
    assert!(made(&plan, "htb").is_empty());
    assert!(made(&plan, "cake")[0].contains("root handle 7b1: cake bandwidth 10mbit"));
}

#[test]
fn sfq_gets_enough_flows_to_hold_its_limit() {
    let plan = planned("[forward]\nrate = '10mbit'\nbuffer = '30000p'\nqueue = 'sfq'");
    let line = &made(&plan, "sfq")[0];
    assert!(
        number(line, "flows") * number(line, "depth") >= 30_000,
        "{line}"
    );
}

#[test]
fn memory_limits_do_not_drop_before_packet_limits() {
    let plan = planned("[forward]\nrate = '1gbit'\nbuffer = '100000p'\nqueue = 'fq_codel'");
    let line = &made(&plan, "fq_codel")[0];
    assert!(number(line, "memory_limit") >= 100_000 * 2_304, "{line}");
}
