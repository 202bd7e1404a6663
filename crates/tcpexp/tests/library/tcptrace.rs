//! Counts of `tcpexp flows` against tcptrace, a program that many papers rely on.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::common::{captures_in, fixture_folders, shared_folders};
use flate2::read::MultiGzDecoder;
use tcpexp::{CaptureOptions, Error, Recording, flows};
use tcpexp_flow::{Direction, Protocol};

/// Counts by sender and receiver.
type Counts = HashMap<(SocketAddr, SocketAddr), Sent>;

/// Counts of one direction of a connection, as both programs define them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sent {
    packets: u64,
    payload_bytes: u64,
    unique_bytes: u64,
    retransmitted_packets: u64,
    retransmitted_bytes: u64,
}

impl Sent {
    /// Returns the field for a name in tcptrace's report.
    fn named(&mut self, name: &str) -> Option<&mut u64> {
        Some(match name {
            "total packets" => &mut self.packets,
            "actual data bytes" => &mut self.payload_bytes,
            "unique bytes sent" => &mut self.unique_bytes,
            "rexmt data pkts" => &mut self.retransmitted_packets,
            "rexmt data bytes" => &mut self.retransmitted_bytes,
            _ => return None,
        })
    }
}

fn ours(path: &Path) -> Counts {
    let mut counts = Counts::new();
    flows(
        &Recording::open(path).unwrap(),
        &CaptureOptions::default(),
        |found| {
            for connection in found {
                if connection.protocol != Protocol::Tcp {
                    continue;
                }
                let ends = [connection.initiator, connection.responder];
                for direction in Direction::BOTH {
                    let of = &connection.directions[direction.index()];
                    let resent = of.retransmissions();
                    let from = ends[direction.index()];
                    let to = ends[direction.opposite().index()];
                    let sent = Sent {
                        packets: of.packets,
                        payload_bytes: of.payload_bytes,
                        unique_bytes: of.unique_bytes,
                        retransmitted_packets: resent.packets,
                        retransmitted_bytes: resent.bytes,
                    };
                    assert_eq!(counts.insert((from, to), sent), None, "{from} > {to} twice");
                }
            }
            Ok::<(), Error>(())
        },
    )
    .unwrap();
    counts
}

/// Counts of tcptrace for an uncompressed capture.
fn theirs(path: &Path) -> Counts {
    let report = Command::new("tcptrace")
        .args(["-l", "-r", "-n"])
        .arg(path)
        .output()
        .unwrap();
    assert!(
        report.status.success(),
        "{}",
        String::from_utf8_lossy(&report.stderr)
    );
    let report = String::from_utf8(report.stdout).unwrap();
    // The text before the first connection describes the file.
    let connections = report.split("TCP connection ").skip(1);
    connections.filter_map(connection).flatten().collect()
}

/// Parses both directions of one connection. The report has one column per direction.
fn connection(report: &str) -> Option<[((SocketAddr, SocketAddr), Sent); 2]> {
    let mut hosts = Vec::new();
    let mut sent = [Sent::default(); 2];
    for line in report.lines() {
        let Some((name, value)) = line.trim().split_once(':') else {
            continue;
        };
        if name.starts_with("host ") {
            hosts.push(value.trim().parse().unwrap());
        }
        let Some((one, other)) = value.split_once(&format!(" {name}:")) else {
            continue;
        };
        for (sent, column) in sent.iter_mut().zip([one, other]) {
            if let Some(number) = sent.named(name) {
                *number = column.trim().parse().unwrap();
            }
        }
    }
    let [a, b] = hosts[..] else {
        return None;
    };
    Some([((a, b), sent[0]), ((b, a), sent[1])])
}

#[test]
fn senders_are_counted_as_tcptrace_counts_them() {
    if !tcpexp_testkit::has_programs(&["tcptrace"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let unpacked = folder.path().join("capture.pcap");
    let (mut directions, mut retransmitted) = (0, 0);
    for pair in fixture_folders().into_iter().chain(shared_folders()) {
        let (at_sender, _) = captures_in(&pair).unwrap();
        let mut packed = MultiGzDecoder::new(File::open(&at_sender).unwrap());
        io::copy(&mut packed, &mut File::create(&unpacked).unwrap()).unwrap();
        let theirs = theirs(&unpacked);
        let ours = ours(&unpacked);
        assert!(!ours.is_empty());
        assert_eq!(ours.len(), theirs.len(), "{}", pair.display());
        for (ends, sent) in &ours {
            assert_eq!(Some(sent), theirs.get(ends), "{}: {ends:?}", pair.display());
            directions += 1;
            retransmitted += sent.retransmitted_packets;
        }
    }
    println!("{directions} directions with {retransmitted} retransmissions are counted alike");
    assert!(retransmitted > 100);
}
