//! The traps of FreeBSD's dummynet.

use netem_ctl::{Bottleneck, Os, plan};

use super::{PLAIN, lines, refused, router};

#[test]
fn dummynet_matches_packets_on_their_way_out_only() {
    let plan = plan(&Bottleneck::from_toml(PLAIN).unwrap(), &router(Os::FreeBsd)).unwrap();
    let rules = lines(&plan.apply);
    let mut rules = rules.iter().filter(|line| line.starts_with("ipfw -q add "));
    assert!(rules.all(|rule| rule.contains(" out via ")));
}

#[test]
fn dummynet_delays_in_pipes_of_their_own_and_tells_local_senders_no_error() {
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
fn dummynet_gets_the_room_that_its_defaults_do_not_allow() {
    let deep = "[forward]\nrate = '100mbit'\ndelay = '20ms'\nbuffer = '50000p'";
    let plan = plan(&Bottleneck::from_toml(deep).unwrap(), &router(Os::FreeBsd)).unwrap();
    let lines = lines(&plan.apply);
    assert!(lines.contains(&"sysctl net.inet.ip.dummynet.pipe_slot_limit=50000".into()));
    assert!(lines.contains(&"sysctl net.inet.ip.dummynet.pipe_byte_limit=75700000".into()));
}

#[test]
fn queue_management_comes_last_in_a_pipe_as_ipfw_takes_all_behind_it_for_its_own() {
    let codel = "[forward]\nrate = '10mbit'\nqueue = 'codel'";
    let plan = plan(&Bottleneck::from_toml(codel).unwrap(), &router(Os::FreeBsd)).unwrap();
    let lines = lines(&plan.apply);
    let line = lines.iter().find(|line| line.contains(" codel ")).unwrap();
    assert!(line.ends_with("queue 1000 noerror codel target 5000us interval 100000us noecn"));
}

#[test]
fn what_dummynet_cannot_do_is_refused_and_not_left_out() {
    for (more, refusal) in [
        (
            "jitter = '1ms'",
            "forward.jitter: dummynet cannot do that; its delays are constant",
        ),
        (
            "reorder = '1%'",
            "forward.reorder: dummynet cannot do that; it keeps the order",
        ),
        (
            "duplicate = '1%'",
            "forward.duplicate: dummynet cannot do that; it copies no packets",
        ),
    ] {
        assert_eq!(refused(&format!("{PLAIN}\n{more}"), Os::FreeBsd), refusal);
    }
    assert_eq!(
        refused("[forward]\ndelay = '1.5ms'", Os::FreeBsd),
        "forward.delay: dummynet cannot do that; its delays are whole milliseconds"
    );
}
