//! Retransmissions in captures at the sender, against all of its data and the kernel's log.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use tcpexp::{CaptureOptions, Error, Recording, flows};
use tcpexp_measure::Position;
use tcpexp_measure::flows::ConnectionSummary;
use tcpexp_units::{TimeDelta, Timestamp};

use super::departures;
use crate::common::packets::read;
use crate::common::{captures_in, fixture_folders, shared_folders};

/// Returns the connections of a capture taken at the sender of the forward data.
fn sent_here(path: &Path) -> Vec<ConnectionSummary> {
    let mut all = Vec::new();
    flows(
        &Recording::open(path).unwrap(),
        &CaptureOptions::default(),
        |found| {
            let is_sent =
                |c: &ConnectionSummary| c.directions[0].position == Some(Position::Sender);
            all.extend(found.into_iter().filter(is_sent));
            Ok::<(), Error>(())
        },
    )
    .unwrap();
    all
}

#[test]
fn retransmissions_at_the_sender_are_exact() {
    let mut total = 0;
    for folder in fixture_folders().into_iter().chain(shared_folders()) {
        let (at_sender, _) = captures_in(&folder).unwrap();
        let truth = departures(&read(&at_sender));
        for connection in sent_here(&at_sender) {
            let sent = truth.get(&(connection.initiator, connection.responder));
            let again = sent.into_iter().flatten().filter(|d| d.is_retransmission);
            let expected = again.count() as u64;
            let of = &connection.directions[0];
            assert_eq!(
                of.retransmissions().packets,
                expected,
                "{}",
                folder.display()
            );
            assert_eq!(
                (of.rare().reordered_packets, of.rare().undecided_packets),
                (0, 0)
            );
            total += expected;
        }
    }
    assert!(total > 200);
}

/// Times of the kernel's retransmission events, by the sender's port.
fn retransmissions_of_kernel(folder: &Path) -> Option<HashMap<u16, Vec<Timestamp>>> {
    let read = |name: &str| {
        let mut text = String::new();
        let file = File::open(folder.join(name)).ok()?;
        MultiGzDecoder::new(file).read_to_string(&mut text).unwrap();
        Some(text)
    };
    let mut logged: HashMap<u16, Vec<Timestamp>> = HashMap::new();
    let mut add = |seconds: &str, port: &str| {
        // The kernel prints six decimals.
        let micros: i64 = seconds.replace('.', "").parse().unwrap();
        let at = Timestamp::from_nanos(micros * 1000);
        logged.entry(port.parse().unwrap()).or_default().push(at);
    };
    if let Some(table) = read("retransmit.csv.gz") {
        for line in table.lines().skip(1) {
            let mut cells = line.split(',');
            add(cells.next()?, cells.next()?);
        }
    } else {
        for line in read("trace.txt.gz")?.lines() {
            if let Some((before, event)) = line.split_once(": tcp_retransmit_skb: ") {
                let port = event.split_once(" sport=")?.1.split(' ').next()?;
                add(before.rsplit(' ').next()?, port);
            }
        }
    }
    Some(logged)
}

/// Maximum time between a kernel event and the capture of its packet.
const ON_THE_WAY: TimeDelta = TimeDelta::from_millis(1);

#[test]
fn each_retransmission_at_the_sender_is_in_the_kernel_log() {
    let mut total = 0;
    for folder in shared_folders() {
        let Some(logged) = retransmissions_of_kernel(&folder) else {
            continue;
        };
        let (at_sender, _) = captures_in(&folder).unwrap();
        let departures = departures(&read(&at_sender));
        for connection in sent_here(&at_sender) {
            let (from, to) = (connection.initiator, connection.responder);
            let Some(sent) = departures.get(&(from, to)) else {
                continue;
            };
            let logged = logged.get(&from.port()).map_or(&[][..], Vec::as_slice);
            let again: Vec<_> = sent
                .iter()
                .filter(|departure| departure.is_retransmission)
                .map(|departure| departure.at)
                .collect();
            let is_one = |logged: Timestamp, at: Timestamp| (at - logged).abs() <= ON_THE_WAY;
            // One kernel event may cover several packets, and the log begins before the capture and
            // ends after it.
            let capture = sent[0].at..=sent[sent.len() - 1].at;
            for at in &again {
                assert!(
                    logged.iter().any(|logged| is_one(*logged, *at)),
                    "{folder:?}: {at:?}"
                );
            }
            for logged in logged.iter().filter(|logged| capture.contains(logged)) {
                assert!(
                    again.iter().any(|at| is_one(*logged, *at)),
                    "{folder:?}: {logged:?}"
                );
            }
            total += again.len();
        }
    }
    println!("{total} retransmissions, each known to the kernel");
    if total == 0 {
        eprintln!("skipped: no captures with the kernel's own account at hand");
    }
}
