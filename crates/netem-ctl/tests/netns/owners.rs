//! The owner of a router, and owners that lose it.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use netem_ctl::{ApplyOptions, Control, ControlError, Os, Output, RunError, Runner, Script};

use super::{FAST, Namespace, SLOW, plainly, planned};

/// Reaches a router that another owner takes over before its state is read back.
struct TakenOver<'a> {
    runner: &'a dyn Runner,
    takes_over: &'a (dyn Fn() + Sync),
    scripts: AtomicUsize,
}

impl Runner for TakenOver<'_> {
    fn host(&self) -> &str {
        self.runner.host()
    }

    fn run(&self, script: &Script) -> Result<Output, RunError> {
        // The first two are the check of the router and the bottleneck.
        if self.scripts.fetch_add(1, Ordering::Relaxed) == 2 {
            (self.takes_over)();
        }
        self.runner.run(script)
    }

    fn fetch(&self, remote: &str, local: &Path, timeout: Duration) -> Result<(), RunError> {
        self.runner.fetch(remote, local, timeout)
    }

    fn upload(&self, local: &Path, remote: &str, timeout: Duration) -> Result<(), RunError> {
        self.runner.upload(local, remote, timeout)
    }
}

#[test]
fn an_owner_that_has_lost_the_router_leaves_the_new_bottleneck() {
    let Some(here) = Namespace::new() else { return };
    let runner = here.runner();
    let second = Control::new(&runner, "second");
    let fast = planned(FAST);
    let taken_over = TakenOver {
        runner: &runner,
        takes_over: &|| {
            let take_over = ApplyOptions {
                take_over: true,
                ..plainly()
            };
            second.apply(&fast, take_over).unwrap();
        },
        scripts: AtomicUsize::new(0),
    };
    let refused = Control::new(&taken_over, "first").apply(&planned(SLOW), plainly());
    assert!(
        matches!(refused, Err(ControlError::Mismatch { .. })),
        "{refused:?}"
    );
    second.verify(&fast).unwrap();
    second.clear(Os::Linux).unwrap();
}

#[test]
fn a_router_has_one_holder_and_can_be_taken_over() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let (first, second) = (
        Control::new(&runner, "first"),
        Control::new(&runner, "second"),
    );
    let [slow, fast] = [SLOW, FAST].map(planned);
    first.apply(&slow, plainly()).unwrap();
    let refused = second.apply(&fast, plainly()).unwrap_err();
    assert!(matches!(&refused, ControlError::Held { .. }), "{refused}");
    assert!(
        refused.to_string().contains("held by first since "),
        "{refused}"
    );
    let refused = second.change(&slow, &fast, None).unwrap_err();
    assert!(matches!(&refused, ControlError::Held { .. }), "{refused}");
    first.verify(&slow).unwrap();
    let take_over = ApplyOptions {
        take_over: true,
        ..plainly()
    };
    second.apply(&fast, take_over).unwrap();
    // Who lost it does not take it from its new owner.
    assert_eq!(first.release(Os::Linux).unwrap().owner, None);
    let holder = second.show(Os::Linux).unwrap().holder.unwrap();
    assert_eq!(holder.owner, "second");
    assert_eq!(holder.bottleneck.as_ref(), Some(&fast.bottleneck));
    let released = second.release(Os::Linux).unwrap();
    assert_eq!(released.owner.as_deref(), Some("second"));
    assert_eq!(here.state(), before);
}

#[test]
fn the_router_clears_itself_when_the_lease_expires() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let soon = ApplyOptions {
        clear_after: Some(Duration::from_secs(2)),
        ..plainly()
    };
    control.apply(&planned(SLOW), soon).unwrap();
    // A sign of life sets the timer anew, and clearing takes it away.
    control
        .keep_alive(Os::Linux, Duration::from_secs(1))
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while here.state() != before && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(here.state(), before);
    assert_eq!(control.clear(Os::Linux).unwrap().owner, None);
}
