//! Bottlenecks that are made, changed in place and cleared.

use netem_ctl::{Control, Os};

use super::{FAST, Namespace, SLOW, plainly, planned};

#[test]
fn applying_twice_and_clearing_twice_restores_the_router() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let plan = planned(SLOW);
    for _ in 0..2 {
        control.apply(&plan, plainly()).unwrap();
        control.verify(&plan).unwrap();
    }
    assert_eq!(
        control.clear(Os::Linux).unwrap().owner.as_deref(),
        Some("test")
    );
    assert_eq!(control.clear(Os::Linux).unwrap().owner, None);
    assert_eq!(here.state(), before);
}

#[test]
fn a_change_is_made_in_place_and_read_back() {
    let Some(here) = Namespace::new() else { return };
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let [slow, fast] = [SLOW, FAST].map(planned);
    control.apply(&slow, plainly()).unwrap();
    let changed = control.change(&slow, &fast, None).unwrap();
    assert!(changed.ended > changed.began && changed.began.is_some());
    let wrong = control.verify(&slow).unwrap_err().to_string();
    assert!(
        wrong.contains("limit of pfifo on r1 is 90, not 50"),
        "{wrong}"
    );
    assert!(
        wrong.contains("rate of class 7b1:10 on r1 is 20000000"),
        "{wrong}"
    );
    let counters = control.counters(&fast).unwrap();
    assert_eq!(counters.forward.unwrap().drops, 0);
    assert_eq!(counters.unshaped_packets, 0);
    control.clear(Os::Linux).unwrap();
}
