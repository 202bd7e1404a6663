//! The traps of FreeBSD's dummynet.

use netem_ctl::{Bottleneck, Os, plan};

use super::{PLAIN, lines, refused, router};

#[test]
fn dummynet_matches_outgoing_packets_only() {
    let plan = plan(&Bottleneck::from_toml(PLAIN).unwrap(), &router(Os::FreeBsd)).unwrap();
    let rules = lines(&plan.apply);
    let mut rules = rules.iter().filter(|line| line.starts_with("ipfw -q add "));
    assert!(rules.all(|rule| rule.contains(" out via ")));
}

#[test]
fn dummynet_delays_in_separate_pipes_and_with_noerror() {
    let plan = plan(&Bottleneck::from_toml(PLAIN).unwrap(), &router(Os::FreeBsd)).unwrap();
    for line in lines(&plan.apply)
        .iter()
        .filter(|line| line.contains("pipe") && line.contains(" config "))
    {
        assert!(line.contains(" bw ") != line.contains(" delay "), "{line}");
        assert!(line.split(' ').any(|word| word == "noerror"), "{line}");
    }
}

#[test]
fn dummynet_limits_are_raised_above_their_defaults() {
    let deep = "[forward]\nrate = '100mbit'\ndelay = '20ms'\nbuffer = '50000p'";
    let plan = plan(&Bottleneck::from_toml(deep).unwrap(), &router(Os::FreeBsd)).unwrap();
    let lines = lines(&plan.apply);
    assert!(lines.contains(&"sysctl net.inet.ip.dummynet.pipe_slot_limit=50000".into()));
    assert!(lines.contains(&"sysctl net.inet.ip.dummynet.pipe_byte_limit=75000000".into()));
}

#[test]
fn queue_management_is_the_last_option_of_a_pipe() {
    let codel = "[forward]\nrate = '10mbit'\nqueue = 'codel'";
    let plan = plan(&Bottleneck::from_toml(codel).unwrap(), &router(Os::FreeBsd)).unwrap();
    let lines = lines(&plan.apply);
    let line = lines.iter().find(|line| line.contains(" codel ")).unwrap();
    assert!(line.ends_with("queue 1000 noerror codel target 5000us interval 100000us noecn"));
}

#[test]
fn options_unsupported_by_dummynet_are_refused() {
    for (more, refusal) in [
        (
            "jitter = '1ms'",
            "forward.jitter: dummynet does not support it; its delays are constant",
        ),
        (
            "reorder = '1%'",
            "forward.reorder: dummynet does not support it; it keeps the order",
        ),
        (
            "duplicate = '1%'",
            "forward.duplicate: dummynet does not support it; it copies no packets",
        ),
    ] {
        assert_eq!(refused(&format!("{PLAIN}\n{more}"), Os::FreeBsd), refusal);
    }
    assert_eq!(
        refused("[forward]\ndelay = '1.5ms'", Os::FreeBsd),
        "forward.delay: dummynet does not support it; its delays are whole milliseconds"
    );
}
