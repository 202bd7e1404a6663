//! Summaries of the connections of a script.

use std::fmt::Write;

use tcpexp_flow::{Direction, EcnMode, RetransmissionCause};

use super::{Connection, ConnectionSummary, DirectionSummary};
use crate::meter;
use tcpexp_testkit::scripted::Scripted;

mod connection;
mod ecn;
mod ecn_gaps;
mod ecn_pure_acks;
mod segments;

/// A handshake over 40 ms, captured at the initiator.
const AT_INITIATOR: &str = "
    0.000 > S
    0.040 < S.
    0.040 > .
";
/// The same handshake, captured at the responder.
const AT_RESPONDER: &str = "
    0.000 > S
    0.000 < S.
    0.040 > .
";

fn connections(text: &str) -> Vec<ConnectionSummary> {
    connections_in(Scripted::new(text))
}

fn connections_in(mut packets: Scripted) -> Vec<ConnectionSummary> {
    let mut all = Vec::new();
    let metered = meter(&mut packets, Connection::of, |rows| {
        all.extend(rows);
        Ok::<(), ()>(())
    });
    assert_eq!(metered.unwrap().flows as usize, all.len());
    all
}

/// One line per connection and one per direction; values not seen are left out.
fn rendered(text: &str) -> String {
    let mut lines = String::new();
    for connection in connections(text) {
        writeln!(lines, "{}", about(&connection)).unwrap();
        for direction in Direction::BOTH {
            let of = &connection.directions[direction.index()];
            if of.packets > 0 {
                writeln!(lines, "{direction}: {}", counts(of)).unwrap();
            }
        }
    }
    lines
}

fn about(connection: &ConnectionSummary) -> String {
    let mut text = format!(
        "{} {} {:.0}",
        connection.protocol,
        connection.ending.name(),
        connection.duration
    );
    if let Some(vantage) = connection.vantage {
        write!(text, ", at {}", vantage.name()).unwrap();
    }
    if let Some(rtt) = connection.handshake_rtt {
        write!(text, ", handshake {rtt:.0}").unwrap();
    }
    let agreed = [
        ("sack", connection.sack),
        ("timestamps", connection.timestamps),
        ("scaling", connection.window_scaling),
        ("ecn", connection.ecn.map(|mode| mode != EcnMode::NotEcn)),
    ];
    for (what, _) in agreed.iter().filter(|(_, agreed)| *agreed == Some(true)) {
        write!(text, ", {what}").unwrap();
    }
    text
}

fn counts(of: &DirectionSummary) -> String {
    let by_cause =
        RetransmissionCause::ALL.map(|cause| of.rare().retransmitted[cause.index()].packets);
    let counts = [
        ("sent", of.packets),
        ("with data", of.data_packets),
        ("bytes", of.payload_bytes),
        ("unique", of.unique_bytes),
        ("retransmitted fast", by_cause[0] + by_cause[1]),
        ("by timeout", by_cause[2] + by_cause[3]),
        ("as probe", by_cause[4]),
        ("for the path MTU", by_cause[5]),
        ("spurious", by_cause[RetransmissionCause::Spurious.index()]),
        ("bytes again", of.retransmissions().bytes),
        ("spurious", of.rare().spurious_packets),
        ("reordered", of.rare().reordered_packets),
        ("undecided", of.rare().undecided_packets),
        ("copied", of.rare().duplicate_packets),
        ("keep-alive", of.rare().keep_alive_packets),
        ("window probes", of.rare().window_probe_packets),
        (
            "duplicate ACKs",
            of.rare().duplicate_ack_packets.unwrap_or(0),
        ),
        ("zero windows", of.rare().zero_window_packets),
        ("D-SACKs", of.rare().duplicate_sack_packets.unwrap_or(0)),
        ("marked", of.rare().ce_packets),
        ("reported as marked", of.ce_reported_packets.unwrap_or(0)),
    ];
    let mut parts: Vec<String> = counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    if let Some(rtt) = &of.rtt {
        parts.push(format!("RTT {:.0}..{:.0}", rtt.min, rtt.max));
    }
    parts.join(", ")
}
