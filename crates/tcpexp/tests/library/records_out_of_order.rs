//! A capture whose records are out of time order gives what the same records give in time order.

use std::fmt::Debug;

use tcpexp::{
    CaptureOptions, CwndOptions, Error, PathOptions, Recording, RttOptions, Verdict, cwnd, flows,
    path, rtt, single_rtt, why,
};
use tcpexp_units::TimeDelta;

use crate::common::retime::records_in;
use crate::common::{limited_upload, spooled};

/// Two receive queues are written in turn, each for this long: fewer packets than the reader sorts.
const TURN: TimeDelta = TimeDelta::from_millis(10);

/// The capture with records out of order, and the same records in time order.
fn both(name: &str, file: &[u8]) -> [Recording; 2] {
    records_in(file)
        .by_queues(TURN)
        .map(|file| spooled(name, &file))
}

/// The rows as text without record numbers, which differ.
fn text(rows: impl Debug) -> String {
    let text = format!("{rows:?}");
    assert_ne!(text, "[]");
    let mut parts = text.split("record: ");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number = part.find([',', ' ']).unwrap_or(part.len());
        plain.push_str(&part[number..]);
    }
    plain
}

fn flows_of(capture: &Recording) -> String {
    let mut all = Vec::new();
    flows(capture, &CaptureOptions::default(), |rows| {
        all.extend(rows);
        Ok::<(), Error>(())
    })
    .unwrap();
    text(all)
}

fn single_rtt_of(capture: &Recording) -> String {
    let mut all = Vec::new();
    single_rtt(capture, &CaptureOptions::default(), |rows| {
        all.extend(rows);
        Ok::<(), Error>(())
    })
    .unwrap();
    text(all)
}

fn cwnd_of(src: &Recording, dst: Option<&Recording>) -> String {
    let mut all = Vec::new();
    cwnd(src, dst, &CwndOptions::default(), |rows| {
        all.extend(rows);
        Ok::<(), Error>(())
    })
    .unwrap();
    text(all)
}

#[test]
fn one_capture_out_of_order_gives_the_rows_of_its_records_in_order() {
    let captures = limited_upload();
    for file in [captures.src, captures.dst] {
        let [disordered, ordered] = both("capture", &file);
        assert!(flows_of(&disordered) == flows_of(&ordered));
        assert!(single_rtt_of(&disordered) == single_rtt_of(&ordered));
        assert!(cwnd_of(&disordered, None) == cwnd_of(&ordered, None));
        let verdicts = [disordered, ordered].map(|capture| {
            let report = why(&capture, None, &CwndOptions::default()).unwrap();
            let verdicts = report.verdicts.into_iter();
            verdicts
                .map(|labelled| labelled.row)
                .collect::<Vec<Verdict>>()
        });
        assert_eq!(verdicts[0], verdicts[1]);
    }
}

#[test]
fn two_captures_out_of_order_give_the_rows_of_their_records_in_order() {
    let captures = limited_upload();
    let [disordered_src, src] = both("src", &captures.src);
    let [disordered_dst, dst] = both("dst", &captures.dst);
    let results = [[&disordered_src, &disordered_dst], [&src, &dst]].map(|[src, dst]| {
        let (mut packets, mut samples) = (Vec::new(), Vec::new());
        path(src, dst, &PathOptions::default(), |batch| {
            packets.extend(batch.packets);
            Ok::<(), Error>(())
        })
        .unwrap();
        rtt(src, dst, &RttOptions::default(), |batch| {
            samples.extend(batch.samples);
            Ok::<(), Error>(())
        })
        .unwrap();
        [text(packets), text(samples), cwnd_of(src, Some(dst))]
    });
    for (disordered, ordered) in results[0].iter().zip(&results[1]) {
        assert!(disordered == ordered);
    }
}
