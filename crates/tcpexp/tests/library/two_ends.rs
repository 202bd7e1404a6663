//! Sender state from two captures, each sender from the capture at its own end.
use std::collections::BTreeSet;
use std::fmt::Write;

use tcpexp::{CwndOptions, Error, PathOptions, Recording, RttOptions, cwnd, path, rtt};
use tcpexp_flow::Direction;
use tcpexp_measure::sender::SenderRow;
use tcpexp_pair::spp::Point;
use tcpexp_testkit::script;

/// Script of a download of ten segments over a 40 ms path, one per round trip, as captured at the
/// client or the server.
fn download(at_server: bool, flow: u32) -> String {
    let mut text = String::new();
    for round in 0..10_u32 {
        let sent_micros = 100_000 + round * 40_100;
        let (seen, acked) = if at_server {
            (sent_micros, sent_micros + 40_050)
        } else {
            (sent_micros + 20_000, sent_micros + 20_050)
        };
        let (start, end) = (1 + round * 1448, 1 + (round + 1) * 1448);
        // Equal contents of different flows would be those of one flow with translated ports.
        let others = flow * 1_000_000;
        let (start, end) = (start + others, end + others);
        let (stamp, echo) = (1_000 + others + round * 40, 500 + others + round * 40);
        writeln!(
            text,
            "{:.6} < {start}:{end}(1448) ts {stamp} {echo} flow {flow}",
            f64::from(seen) / 1e6
        )
        .unwrap();
        writeln!(
            text,
            "{:.6} > ack {end} ts {} {stamp} flow {flow}",
            f64::from(acked) / 1e6,
            echo + 40
        )
        .unwrap();
    }
    text
}

const HANDSHAKE: &str = "
    0.010000 > S mss 1460 sackok ts 400 0 flow 0
    0.050000 < S. mss 1460 sackok ts 900 400 flow 0
    0.050050 > . ts 440 900 flow 0
";

/// Flow number, initiator's port, direction and capture of each reconstructed sender.
fn senders_of(src: &str, dst: Option<&str>) -> BTreeSet<(u32, u16, &'static str, &'static str)> {
    let recording =
        |text: &str| Recording::spool("capture".into(), script::capture(text).as_slice()).unwrap();
    let (src, dst) = (recording(src), dst.map(recording));
    let mut senders = BTreeSet::new();
    cwnd(&src, dst.as_ref(), &CwndOptions::default(), |rows| {
        for row in rows {
            if let SenderRow::Sample(sample) = row.row {
                assert_eq!(sample.flow, row.flow.flow);
                let port = row.flow.ends.unwrap().0.port();
                let capture = row.flow.capture.map_or("", Point::name);
                senders.insert((sample.flow.0, port, sample.direction.name(), capture));
            }
        }
        Ok::<(), Error>(())
    })
    .unwrap();
    senders
}

#[test]
fn a_sender_is_reconstructed_from_the_capture_at_its_end() {
    let src = format!("{HANDSHAKE}{}", download(false, 0));
    let dst = download(true, 0);
    let reverse = Direction::Reverse.name();
    assert_eq!(
        senders_of(&src, None),
        BTreeSet::from([(0, 40_000, reverse, "src")])
    );
    // This capture lacks the handshake and takes the server for the initiator. The other capture
    // shows the true roles.
    assert_eq!(
        senders_of(&dst, None),
        BTreeSet::from([(0, 80, "forward", "src")])
    );
    assert_eq!(
        senders_of(&src, Some(&dst)),
        BTreeSet::from([(0, 40_000, reverse, "dst")])
    );
}

#[test]
fn a_flow_at_one_end_only_has_its_own_number() {
    let src = format!("{HANDSHAKE}{}", download(false, 0));
    let dst = download(true, 1);
    assert_eq!(
        senders_of(&src, Some(&dst)),
        BTreeSet::from([(0, 40_000, "reverse", "src"), (1, 80, "forward", "dst")])
    );
}

#[test]
fn a_flow_of_both_captures_has_its_number_of_the_first_capture() {
    // Flow 0 is in the first capture only. Without IP IDs, its packets shift no identification.
    let without_ids = |text: String| text.replace(" flow", " v6 flow");
    let recording =
        |text: &str| Recording::spool("capture".into(), script::capture(text).as_slice()).unwrap();
    let src = recording(&without_ids(HANDSHAKE.to_owned() + &download(false, 1)));
    let dst = recording(&without_ids(download(true, 1)));
    let mut numbers = Vec::new();
    rtt(&src, &dst, &RttOptions::default(), |batch| {
        numbers.extend(batch.flows.iter().map(|flow| flow.number.0));
        numbers.extend(batch.ended.iter().map(|ended| ended.flow.number.0));
        Ok::<_, Error>(())
    })
    .unwrap();
    path(&src, &dst, &PathOptions::default(), |batch| {
        numbers.extend(batch.ended.iter().map(|ended| ended.summary.flow.number.0));
        Ok::<_, Error>(())
    })
    .unwrap();
    assert_eq!(numbers, [1, 1, 1]);
}
