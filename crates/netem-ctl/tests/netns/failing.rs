//! Bottlenecks that cannot be made or changed leave the router as it was.

use std::time::Duration;

use netem_ctl::{Control, Os, Router, plan};

use super::{FAST, Faulty, Namespace, SLOW, plainly, planned};

/// Time limit of a script in tests of scripts that end by themselves.
const LONG: Duration = Duration::from_secs(30);

#[test]
fn a_change_that_fails_half_way_leaves_what_was_there() {
    let Some(here) = Namespace::new() else { return };
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let slow = planned(SLOW);
    let fast = planned(&FAST.replace("64kB", "90kB"));
    control.apply(&slow, plainly()).unwrap();
    // The forward queue changes first. The reverse queue is gone, so its change fails.
    assert_eq!(here.says("tc qdisc del dev r0 root").0, 0);
    let before = here.says("tc qdisc show; tc class show dev r1");
    let failed = control.change(&slow, &fast, None).unwrap_err().to_string();
    assert!(failed.contains("exit code"), "{failed}");
    assert_eq!(here.says("tc qdisc show; tc class show dev r1"), before);
    let holder = control.show(Os::Linux).unwrap().holder.unwrap();
    assert_eq!(holder.bottleneck.as_ref(), Some(&slow.bottleneck));
    control.clear(Os::Linux).unwrap();
}

#[test]
fn a_change_that_is_killed_half_way_leaves_what_was_there() {
    let Some(here) = Namespace::new() else { return };
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let slow = planned(SLOW);
    let fast = planned(&FAST.replace("64kB", "90kB"));
    control.apply(&slow, plainly()).unwrap();
    let before = here.says("tc qdisc show; tc class show dev r1");
    // The forward queue is at r1 and changes first. The second call of this kind makes the change undone.
    let kills = "case \"$*\" in *' dev r0 '*)\n\
                 [ -e \"$0.done\" ] || { : >\"$0.done\"; kill -s KILL $PPID; exit 1; } ;; esac";
    let faulty = Faulty::new(&here, "tc", kills, LONG);
    let broken = Control::new(&faulty, "test");
    let failed = broken.change(&slow, &fast, None).unwrap_err().to_string();
    assert!(failed.ends_with("ended by SIGKILL"), "{failed}");
    assert_eq!(here.says("tc qdisc show; tc class show dev r1"), before);
    control.clear(Os::Linux).unwrap();
}

#[test]
fn a_second_bottleneck_that_fails_half_way_leaves_the_first() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let slow = planned(SLOW);
    control.apply(&slow, plainly()).unwrap();
    let held = here.says("tc qdisc show; tc class show dev r1");
    let mut broken = planned(FAST);
    let last = broken.apply.len() - 1;
    broken.apply[last].argv.push("limit".into());
    let refused = control.apply(&broken, plainly()).unwrap_err().to_string();
    assert!(refused.contains("exit code"), "{refused}");
    // A bottleneck that differs from its plan once made is not kept either.
    let mut other = planned(FAST);
    other.verify = planned(&FAST.replace("90p", "80p")).verify;
    let refused = control.apply(&other, plainly()).unwrap_err().to_string();
    assert!(refused.contains("is 90, not 80"), "{refused}");
    control.verify(&slow).unwrap();
    assert_eq!(here.says("tc qdisc show; tc class show dev r1"), held);
    let holder = control.show(Os::Linux).unwrap().holder.unwrap();
    assert_eq!(holder.bottleneck.as_ref(), Some(&slow.bottleneck));
    // Another owner takes nothing back.
    let second = Control::new(&runner, "second");
    assert!(second.apply(&broken, plainly()).is_err());
    control.verify(&slow).unwrap();
    control.clear(Os::Linux).unwrap();
    assert_eq!(here.state(), before);
}

#[test]
fn remains_of_a_crash_are_cleared_even_without_saved_state() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    control.apply(&planned(SLOW), plainly()).unwrap();
    here.says("ip link add tcxd-l group 7700 type ifb; set -- $(ls -Li /proc/self/ns/net); rm -r /run/tcpexp-netem-$1");
    let cleared = Control::new(&runner, "another").clear(Os::Linux).unwrap();
    assert_eq!(cleared.owner.as_deref(), Some("somebody"));
    // Without its memory the router cannot know which offloads were on.
    here.says("for f in tso gso gro tx-udp-segmentation; do ethtool -K r0 $f on; done");
    let queues = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with("qdisc"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(queues(&here.state()), queues(&before));
    assert!(!here.state().contains("tcxd"), "{}", here.state());
}

#[test]
fn a_foreign_queue_is_left_unchanged() {
    let Some(here) = Namespace::new() else { return };
    assert_eq!(
        here.says("tc qdisc add dev r1 root handle 5: pfifo limit 7")
            .0,
        0
    );
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let refused = control
        .apply(&planned(SLOW), plainly())
        .unwrap_err()
        .to_string();
    assert_eq!(
        refused,
        format!(
            "{}: r1 has a foreign queue (pfifo 5:): remove it first, because it cannot be \
             restored",
            here.0
        )
    );
    assert_eq!(control.clear(Os::Linux).unwrap().owner, None);
    assert_eq!(here.state(), before);
}

#[test]
fn a_bottleneck_refused_by_the_kernel_leaves_nothing_behind() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let router = Router {
        os: Os::Linux,
        left: "r0".parse().unwrap(),
        right: "r7".parse().unwrap(),
    };
    let nowhere = plan(&planned(SLOW).bottleneck, &router).unwrap();
    let refused = control.apply(&nowhere, plainly()).unwrap_err().to_string();
    assert!(
        refused.contains("interface r7 does not exist: expected one of "),
        "{refused}"
    );
    // The kernel refuses a `limit` without a number, in the middle of the script.
    let mut broken = planned(SLOW);
    let last = broken.apply.len() - 1;
    broken.apply[last].argv.push("limit".into());
    let refused = control.apply(&broken, plainly()).unwrap_err().to_string();
    assert!(refused.contains("exit code"), "{refused}");
    assert!(refused.contains("of: tc qdisc add dev r0"), "{refused}");
    assert_eq!(here.state(), before);
}

#[test]
fn the_lease_of_an_apply_that_was_killed_early_is_cleared() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    here.says(
        "set -- $(ls -Li /proc/self/ns/net); mkdir /run/tcpexp-netem-$1; \
         echo test 1767225600 >/run/tcpexp-netem-$1/owner",
    );
    let runner = here.runner();
    let cleared = Control::new(&runner, "test").clear(Os::Linux).unwrap();
    assert_eq!(cleared.owner.as_deref(), Some("test"));
    assert_eq!(here.state(), before);
}

#[test]
fn offloads_that_cannot_be_turned_on_again_keep_the_lease() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    control.apply(&planned(SLOW), plainly()).unwrap();
    let refuses = "case \"$*\" in -K*on*) echo 'Device or resource busy' >&2; exit 1 ;; esac";
    let faulty = Faulty::new(&here, "ethtool", refuses, LONG);
    let broken = Control::new(&faulty, "test");
    for error in [
        broken.clear(Os::Linux).unwrap_err(),
        // Another bottleneck would save the offloads as they are now.
        broken.apply(&planned(FAST), plainly()).unwrap_err(),
    ] {
        let error = error.to_string();
        let left = "not cleared: offloads of r0 that are still off: tso gso";
        assert!(error.contains(left), "{error}");
    }
    let cleared = control.clear(Os::Linux).unwrap();
    assert_eq!(cleared.owner.as_deref(), Some("test"));
    assert_eq!(here.state(), before);
}

#[test]
fn a_router_whose_queues_cannot_be_read_is_not_cleared() {
    let Some(here) = Namespace::new() else { return };
    let faulty = Faulty::new(&here, "tc", "exit 2", LONG);
    let broken = Control::new(&faulty, "test");
    let error = broken.clear(Os::Linux).unwrap_err().to_string();
    assert!(error.contains("exit code 2 of: tc qdisc show"), "{error}");
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    control.apply(&planned(SLOW), plainly()).unwrap();
    let error = broken.clear(Os::Linux).unwrap_err().to_string();
    assert!(error.contains("tc qdisc show fails"), "{error}");
    control.clear(Os::Linux).unwrap();
}

#[test]
fn an_apply_that_hangs_or_is_killed_leaves_the_first_bottleneck() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let slow = planned(SLOW);
    let fast = planned(FAST);
    // Only the queue of the second bottleneck has this limit.
    let hangs = "case \"$*\" in *'limit 90') sleep 100 ;; esac";
    // A shell that ignores SIGTERM is killed in the middle.
    let resists = "case \"$*\" in *'limit 90') trap '' TERM; kill -s STOP $PPID; sleep 100 ;; esac";
    let kills = "case \"$*\" in *'limit 90') kill -s KILL $PPID; exit 1 ;; esac";
    let short = Duration::from_secs(5);
    for (body, patience, error) in [
        (
            hangs,
            short,
            "the script did not end within 5 s and was killed",
        ),
        (
            resists,
            short,
            "the script did not end within 5 s and was killed",
        ),
        (kills, LONG, "ended by SIGKILL"),
    ] {
        let faulty = Faulty::new(&here, "tc", body, patience);
        let broken = Control::new(&faulty, "test");
        let failed = broken.apply(&fast, plainly()).unwrap_err().to_string();
        assert!(failed.contains(error), "{failed}");
        assert_eq!(here.state(), before, "{failed}");
        control.apply(&slow, plainly()).unwrap();
        let held = here.says("tc qdisc show; tc class show dev r1; ethtool -k r0");
        let failed = broken.apply(&fast, plainly()).unwrap_err().to_string();
        let end = format!("{error}; the earlier bottleneck is in place again");
        assert!(failed.ends_with(&end), "{failed}");
        control.verify(&slow).unwrap();
        let now = here.says("tc qdisc show; tc class show dev r1; ethtool -k r0");
        assert_eq!(now, held);
        control.clear(Os::Linux).unwrap();
        assert_eq!(here.state(), before);
    }
}
