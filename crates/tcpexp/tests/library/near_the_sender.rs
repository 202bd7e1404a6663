//! Windows from captures that a router near the sender takes, against the log of the sender's kernel.

use crate::common::retime::records;
use crate::common::{fixture, spooled};
use tcpexp::{CwndOptions, Error, cwnd, logged_senders, reconstructed_senders};
use tcpexp_logs::score::{Options, score_all};
use tcpexp_measure::Position;
use tcpexp_measure::sender::{CongestionFamily, SenderRow, SenderSummary};
use tcpexp_units::TimeDelta;

/// The capture that a router takes `distance` from the host that opens the connections.
fn at_a_router(name: &str, distance: TimeDelta) -> Vec<u8> {
    // Source address of IPv4 over Ethernet.
    const SOURCE: std::ops::Range<usize> = 26..30;
    let at_host = records(&fixture(&format!("{name}/src.pcap.gz")));
    let mut host = None;
    at_host.file_by(|at, captured| {
        let source = captured[SOURCE].to_vec();
        let is_sent = *host.get_or_insert_with(|| source.clone()) == source;
        if is_sent {
            at + distance
        } else {
            at - distance
        }
    })
}

fn largest(capture: &tcpexp::Recording) -> SenderSummary {
    let mut summaries = Vec::new();
    cwnd(capture, None, &CwndOptions::default(), |rows| {
        summaries.extend(rows.into_iter().filter_map(|labelled| match labelled.row {
            SenderRow::Summary(summary) => Some(summary),
            _ => None,
        }));
        Ok::<(), Error>(())
    })
    .unwrap();
    let largest = summaries
        .into_iter()
        .max_by_key(|summary| summary.hint.reductions);
    largest.unwrap()
}

#[test]
fn a_router_near_the_sender_sees_the_windows_of_its_kernel() {
    let name = "reno-2mbit-40ms-50p";
    let truth = logged_senders(&[fixture(&format!("{name}/probe.csv.gz"))], None).unwrap();
    // Of the round trip of 40 ms, the sender's network takes 0.2 % to 7.5 %.
    for distance_micros in [50, 200, 500, 1_500] {
        let file = at_a_router(name, TimeDelta::from_micros(distance_micros));
        let capture = spooled("router", &file);
        let sender = largest(&capture);
        assert_eq!(sender.hint.family, Some(CongestionFamily::Reno));
        let is_at_sender = sender.position == Some(Position::Sender);
        assert_eq!(is_at_sender, distance_micros == 50);
        let (found, _) = reconstructed_senders(&capture, &CwndOptions::default()).unwrap();
        let scores = score_all(&found, &truth.senders, Options::default());
        let scores = scores.iter().map(|sender| &sender.score.cwnd.all.estimate);
        let window = scores.max_by_key(|window| window.truth).unwrap();
        let error = window.mean.unwrap();
        assert!(error < 0.001, "{distance_micros} µs: {error}");
        assert!(window.matched * 100 > window.truth * 99);
    }
}

#[test]
fn coarse_timestamps_at_the_receiver_show_no_times_and_then_no_window() {
    let name = "reno-2mbit-40ms-50p";
    let truth = logged_senders(&[fixture(&format!("{name}/probe.csv.gz"))], None).unwrap();
    for (tick_millis, has_window, has_times) in
        [(1, true, true), (40, true, false), (80, false, false)]
    {
        let file = records(&fixture(&format!("{name}/dst.pcap.gz"))).with_ticks(tick_millis);
        let capture = spooled("receiver", &file);
        let (found, _) = reconstructed_senders(&capture, &CwndOptions::default()).unwrap();
        let scores = score_all(&found, &truth.senders, Options::default());
        let sender = scores.iter().map(|sender| &sender.score);
        let sender = sender
            .max_by_key(|score| score.cwnd.all.estimate.truth)
            .unwrap();
        let window = &sender.cwnd.all.estimate;
        assert_eq!(window.mean.is_some_and(|error| error < 0.01), has_window);
        assert_eq!(window.matched > 0, has_window, "{tick_millis} ms");
        assert_eq!(
            sender.srtt.mean.is_some_and(|error| error < 0.01),
            has_times
        );
        assert_eq!(sender.srtt.matched > 0, has_times, "{tick_millis} ms");
    }
}
