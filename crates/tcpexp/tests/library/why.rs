//! Verdicts on simulated transfers, each slow for a known cause.
use std::collections::BTreeMap;
use std::fmt::Write;

use tcpexp::{CwndOptions, LimitCause, Position, Recording, Verdict, why};
use tcpexp_testkit::script;
use tcpexp_testkit::{Outage, Policer, Scenario, TcpLoad, Writes, simulate};
use tcpexp_units::TimeDelta;

/// Runs of each situation. Those before the first helped to choose thresholds; the others did not.
const FIRST_RUN: u64 = 14;
const RUNS: u64 = 7;
/// Highest share of wrong verdicts, in percent. An uncertain verdict is not wrong.
const MOST_WRONG: usize = 5;

/// A transfer of some seconds over a path whose properties vary with the run.
fn upload(run: u64) -> Scenario {
    Scenario {
        seed: 1_000 + run,
        tcp: vec![TcpLoad {
            bytes: 50_000_000,
            ..TcpLoad::default()
        }],
        // 37 and 29 spread neighbouring runs over the range.
        rate_bps: 3_500_000 + 700_000 * (run * 37 % 11),
        queue_bytes: 400_000,
        delay: TimeDelta::from_millis(6 + 5 * (run * 29 % 13).cast_signed()),
        max_time: Some(TimeDelta::from_seconds(12)),
        ..Scenario::default()
    }
}

fn of_load(scenario: &Scenario, change: impl Fn(&mut TcpLoad)) -> Vec<TcpLoad> {
    let mut loads = scenario.tcp.clone();
    loads.iter_mut().for_each(change);
    loads
}

/// Bytes in one round trip at the rate of the path.
fn bandwidth_delay_bytes(scenario: &Scenario) -> u64 {
    let round = 2 * scenario.delay.as_nanos().unsigned_abs();
    scenario.rate_bps / 8 * round / 1_000_000_000
}

/// The scenario of a run in which `cause` limits the sender.
fn scenario(cause: LimitCause, run: u64) -> Scenario {
    let base = upload(run);
    let step = run % RUNS;
    match cause {
        // The first SYN is lost, and the transfer after it is short.
        LimitCause::Setup => Scenario {
            tcp: of_load(&base, |load| load.bytes = 150_000),
            outage: Some(Outage {
                first: TimeDelta::ZERO,
                length: TimeDelta::from_millis(500 + 400 * step.cast_signed()),
                period: TimeDelta::from_seconds(1_000),
            }),
            ..base
        },
        LimitCause::Application => Scenario {
            tcp: of_load(&base, |load| {
                load.writes = Some(Writes {
                    segments: 8 + u32::try_from(step).unwrap(),
                    missing_bytes: 0,
                    interval: TimeDelta::from_millis(150),
                });
            }),
            ..base
        },
        LimitCause::ReceiverWindow => Scenario {
            tcp: of_load(&base, |load| load.receive_window_segments = Some(8)),
            rate_bps: 50_000_000,
            delay: base.delay + TimeDelta::from_millis(20),
            ..base
        },
        LimitCause::WindowGrowth => Scenario {
            tcp: of_load(&base, |load| load.bytes = 250_000),
            rate_bps: 200_000_000,
            queue_bytes: 2_000_000,
            delay: base.delay + TimeDelta::from_millis(40),
            ..base
        },
        LimitCause::Loss => Scenario {
            rate_bps: 200_000_000,
            loss_ppm: 4_000 + 4_000 * u32::try_from(step).unwrap(),
            ..base
        },
        LimitCause::Policing => Scenario {
            rate_bps: 1_000_000_000,
            policer: Some(Policer {
                rate_bps: base.rate_bps,
                burst_bytes: 20_000 + 5_000 * step,
            }),
            ..base
        },
        LimitCause::PathCapacity => Scenario {
            queue_bytes: bandwidth_delay_bytes(&base) * 6 / 10 + 6_000,
            ..base
        },
        LimitCause::OwnQueue => Scenario {
            queue_bytes: bandwidth_delay_bytes(&base) * (4 + step % 3),
            ..base
        },
        // The flow judged is one of many that share the queue.
        LimitCause::OthersQueue => Scenario {
            tcp: of_load(&base, |load| {
                load.flows = 5 + u32::try_from(step % 3).unwrap();
                load.stagger = TimeDelta::from_seconds(1);
            }),
            queue_bytes: bandwidth_delay_bytes(&base) * 3,
            ..base
        },
        LimitCause::Timeouts => Scenario {
            outage: Some(Outage {
                first: TimeDelta::from_seconds(1),
                length: TimeDelta::from_millis(900),
                period: TimeDelta::from_millis(2_100 + 50 * step.cast_signed()),
            }),
            queue_bytes: bandwidth_delay_bytes(&base) * 6 / 10 + 6_000,
            ..base
        },
        // The simulator's payload has no TLS records.
        LimitCause::Tls | LimitCause::NotCertain => base,
    }
}

/// The main cause of the largest sender.
fn verdict(scenario: &Scenario) -> LimitCause {
    let captures = simulate(scenario);
    let src = Recording::spool("src".into(), captures.src.as_slice()).unwrap();
    let report = why(&src, None, &CwndOptions::default()).unwrap();
    let first = report.verdicts.first().unwrap();
    if std::env::var_os("TCPEXP_SHOW_VERDICTS").is_some() {
        let row = &first.row;
        let times = row
            .causes()
            .into_iter()
            .map(|cause| (cause, row.share_milli(cause)));
        eprintln!("{:?} {:?}", times.collect::<Vec<_>>(), row.evidence);
    }
    first.row.main
}

#[test]
fn verdicts_name_the_cause_of_a_slow_transfer() {
    let mut confusion: BTreeMap<(LimitCause, LimitCause), usize> = BTreeMap::new();
    for cause in LimitCause::ALL {
        if matches!(cause, LimitCause::Tls | LimitCause::NotCertain) {
            continue;
        }
        for run in FIRST_RUN..FIRST_RUN + RUNS {
            let found = verdict(&scenario(cause, run));
            *confusion.entry((cause, found)).or_default() += 1;
        }
    }
    let mut table = String::new();
    for ((cause, found), runs) in &confusion {
        let _ = writeln!(table, "{} judged as {}: {runs}", cause.name(), found.name());
    }
    insta::assert_snapshot!(table);
    let sum = |counts: &dyn Fn(LimitCause, LimitCause) -> bool| -> usize {
        let counted = confusion
            .iter()
            .filter(|((cause, found), _)| counts(*cause, *found));
        counted.map(|(_, runs)| runs).sum()
    };
    let wrong = sum(&|cause, found| found != cause && found != LimitCause::NotCertain);
    let right = sum(&|cause, found| found == cause);
    let all = sum(&|_, _| true);
    assert!(
        wrong * 100 <= all * MOST_WRONG,
        "{wrong} of {all} wrong\n{table}"
    );
    assert!(right * 100 >= all * 80, "{right} of {all} right\n{table}");
}

/// The receiver's program reads nothing for three seconds. All data is acknowledged meanwhile, and the
/// sender probes the closed window.
#[test]
fn time_with_a_closed_window_counts_as_limited_by_the_receiver() {
    let capture = script::capture(
        "
        0.000000 > S mss 15000
        0.040000 < S. win 60000 mss 15000
        0.040010 >
        0.040020 > 1:15001(15000)
        0.040030 > 15001:30001(15000)
        0.040040 > 30001:45001(15000)
        0.040050 > 45001:60001(15000)
        0.080100 < ack 60001 win 0
        0.380000 > 60000
        0.420000 < ack 60001 win 0
        1.000000 > 60000
        1.040000 < ack 60001 win 0
        2.200000 > 60000
        2.240000 < ack 60001 win 0
        3.000000 < ack 60001 win 60000
        3.000010 > 60001:75001(15000)
        3.000020 > 75001:90001(15000)
        3.000030 > 90001:105001(15000)
        3.000040 > 105001:120001(15000)
        3.040100 < ack 120001 win 60000
    ",
    );
    let src = Recording::spool("src".into(), capture.as_slice()).unwrap();
    let report = why(&src, None, &CwndOptions::default()).unwrap();
    let verdict = &report.verdicts[0].row;
    assert_eq!(verdict.main, LimitCause::ReceiverWindow);
    let closed = verdict.times[LimitCause::ReceiverWindow.index()];
    assert!(closed >= TimeDelta::from_millis(2_900), "{closed}");
}

/// A second of queueing delay and random losses both keep the window full.
#[test]
fn a_long_queue_and_random_losses_are_distinguished() {
    let [queue, loss] = [LimitCause::OwnQueue, LimitCause::Loss].map(|cause| scenario(cause, 3));
    assert_eq!(verdict(&queue), LimitCause::OwnQueue);
    assert_eq!(verdict(&loss), LimitCause::Loss);
}

/// The verdict on the largest sender of a capture.
fn judged(file: &[u8], options: &CwndOptions) -> Verdict {
    let capture = Recording::spool("capture".into(), file).unwrap();
    why(&capture, None, options).unwrap().verdicts[0].row
}

#[test]
fn away_from_the_sender_no_application_is_blamed() {
    let captures = simulate(&scenario(LimitCause::Application, 3));
    let options = CwndOptions::default();
    let (at_sender, at_receiver) = (
        judged(&captures.src, &options),
        judged(&captures.dst, &options),
    );
    assert_eq!(at_sender.main, LimitCause::Application);
    assert_eq!(at_sender.evidence.position, Some(Position::Sender));
    assert_eq!(at_receiver.main, LimitCause::NotCertain);
    assert_eq!(at_receiver.evidence.position, Some(Position::Receiver));
    assert_eq!(
        at_receiver.times[LimitCause::Application.index()],
        TimeDelta::ZERO
    );
}

#[test]
fn at_an_unknown_position_nothing_but_handshakes_is_blamed() {
    let mut scenario = scenario(LimitCause::OwnQueue, 3);
    // Without a handshake and timestamps, nothing shows the position.
    scenario.src.starts_after = TimeDelta::from_millis(900);
    for load in &mut scenario.tcp {
        load.timestamps = false;
    }
    let captures = simulate(&scenario);
    let unknown = judged(&captures.src, &CwndOptions::default());
    assert_eq!(unknown.evidence.position, None);
    let certain = [LimitCause::Setup, LimitCause::Tls, LimitCause::NotCertain];
    for cause in LimitCause::ALL {
        if !certain.contains(&cause) {
            assert_eq!(unknown.times[cause.index()], TimeDelta::ZERO, "{cause:?}");
        }
    }
    let given = judged(
        &captures.src,
        &CwndOptions::default().position(Position::Sender),
    );
    assert_ne!(given.main, LimitCause::NotCertain);
}

/// The verdicts on a cause by captures at the receiver.
fn verdicts_at_receiver(cause: LimitCause) -> Vec<Verdict> {
    let runs = FIRST_RUN..FIRST_RUN + RUNS;
    runs.map(|run| {
        judged(
            &simulate(&scenario(cause, run)).dst,
            &CwndOptions::default(),
        )
    })
    .collect()
}

#[test]
fn at_the_receiver_the_losses_of_one_burst_are_one_loss() {
    for verdict in verdicts_at_receiver(LimitCause::Policing) {
        assert_ne!(verdict.main, LimitCause::Loss, "{:?}", verdict.evidence);
    }
}

/// Data and ACKs of an outage are lost, so the receiver's capture lacks the data, and ACKs that it has
/// never reached the sender.
#[test]
fn at_the_receiver_an_outage_is_no_queue_and_no_wait_of_the_application() {
    for verdict in verdicts_at_receiver(LimitCause::Timeouts) {
        assert_eq!(verdict.main, LimitCause::Timeouts, "{:?}", verdict.evidence);
    }
}

#[test]
fn at_the_receiver_a_pace_with_short_segments_is_not_called_a_growing_window() {
    for run in 0..RUNS {
        let captures = simulate(&steady_writer(run, 500));
        let verdict = judged(&captures.dst, &CwndOptions::default());
        assert_eq!(verdict.main, LimitCause::NotCertain, "run {run}");
    }
}

#[test]
fn the_longest_time_of_a_cause_spans_its_round_trips() {
    let captures = simulate(&scenario(LimitCause::OwnQueue, 3));
    let verdict = judged(&captures.src, &CwndOptions::default());
    let whole = verdict.times[LimitCause::OwnQueue.index()];
    let (_, longest) = verdict.longest[LimitCause::OwnQueue.index()].unwrap();
    assert!(longest > whole - longest, "{longest} of {whole}");
    assert!(longest <= whole);
}

/// A sender with a clock of its own: neither its window nor the path limits it.
fn steady_writer(run: u64, missing_bytes: u16) -> Scenario {
    let base = upload(run);
    Scenario {
        tcp: of_load(&base, |load| {
            load.writes = Some(Writes {
                segments: 3,
                missing_bytes,
                interval: TimeDelta::from_millis(17),
            });
        }),
        rate_bps: 20_000_000,
        ..base
    }
}

#[test]
fn short_segments_show_that_the_application_paces() {
    for run in 0..RUNS {
        assert_eq!(verdict(&steady_writer(run, 500)), LimitCause::Application);
    }
}

#[test]
fn a_pace_without_short_segments_is_not_called_a_growing_window() {
    for run in 0..RUNS {
        let found = verdict(&steady_writer(run, 0));
        assert!(
            matches!(found, LimitCause::Application | LimitCause::NotCertain),
            "{found:?}"
        );
    }
}

#[test]
fn times_of_all_causes_add_up_to_the_duration() {
    for cause in LimitCause::ALL {
        let captures = simulate(&scenario(cause, 1));
        let src = Recording::spool("src".into(), captures.src.as_slice()).unwrap();
        for one in why(&src, None, &CwndOptions::default()).unwrap().verdicts {
            let verdict = one.row;
            let times = verdict.times.iter();
            let sum = times.fold(TimeDelta::ZERO, |sum, time| sum + *time);
            assert_eq!(sum, verdict.duration, "{verdict:?}");
        }
    }
}
