//! The table of connections as text for a terminal.

use tcpexp_flow::{Direction, Protocol};
use tcpexp_measure::Vantage;
use tcpexp_measure::flows::{ConnectionSummary, DirectionSummary};

use crate::cells::{NO_VALUE, Unit, count, mega, wrapped};
use crate::connections::rate_bps;
use crate::order::{Order, longest, ordered};
use crate::text::FLOW_TABLE_WIDTH;
use crate::top::{Rest, Top};

/// Orders of connections.
const ORDERS: [Order<ConnectionSummary>; 6] = [
    Order {
        name: ("payload", "Bytes of payload, largest first"),
        key: |one| Some(one.directions.iter().map(|d| d.payload_bytes).sum()),
    },
    Order {
        name: ("packets", "Packets, most first"),
        key: |one| Some(one.directions.iter().map(|d| d.packets).sum()),
    },
    Order {
        name: (
            "duration",
            "Time from the first to the last packet, longest first",
        ),
        key: |one| longest(std::iter::once(one.duration)),
    },
    Order {
        name: ("retransmitted", "Retransmitted packets, most first"),
        key: |one| {
            let packets = one.directions.iter().map(|d| d.retransmissions().packets);
            Some(packets.sum())
        },
    },
    Order {
        name: (
            "rtt",
            "The larger median round-trip time of the two directions, longest first",
        ),
        key: |one| {
            let rtts = one.directions.iter().filter_map(|d| d.rtt.as_ref());
            longest(rtts.map(|rtt| rtt.median))
        },
    },
    Order {
        name: ("start", "Time of the first packet, earliest first"),
        key: // The earliest time becomes the largest number.
        |one| Some(one.first_at.as_nanos().abs_diff(i64::MAX)),
    },
];

ordered!(TopConnections, 0, ORDERS);

/// The connections with the most payload, or the first of another order.
#[derive(Clone, Debug)]
pub struct TopConnections(Top<ConnectionSummary>);

impl TopConnections {
    /// Shows at most `most` connections.
    pub fn new(most: usize) -> Self {
        Self(Top::new(most, |summary| {
            let payload = summary.directions.iter().map(|d| d.payload_bytes).sum();
            (payload, summary.flow.0)
        }))
    }

    /// Adds a finished connection.
    pub fn add(&mut self, summary: &ConnectionSummary) {
        // Nearly all of many connections are too light to show, so only the others are cloned.
        if !self.0.passes_over(summary) {
            self.0.keep(summary.clone());
        }
    }

    /// Formats the table for a terminal of `width` columns, at least 80.
    ///
    /// The connections with the most payload come first; one line sums up the rest.
    pub fn into_text(self, width: usize) -> String {
        let (kept, rest) = self.0.into_rows();
        table(&kept, rest, width.max(FLOW_TABLE_WIDTH))
    }
}

fn table(shown: &[ConnectionSummary], rest: Rest, width: usize) -> String {
    if shown.is_empty() && rest.rows == 0 {
        return "no flows\n".to_owned();
    }
    let directions = shown.iter().flat_map(|summary| &summary.directions);
    let rtts = directions.filter_map(|direction| direction.rtt.as_ref());
    let coarse_tick = shown.iter().find_map(|summary| summary.coarse_tick);
    let unit = Unit::of(rtts.map(|rtt| (rtt.min, rtt.max))).measured_with(coarse_tick);
    let mut lines = Vec::new();
    if !shown.is_empty() {
        lines.push(header(&unit));
    }
    for summary in shown {
        lines.extend(title(summary, width));
        for direction in Direction::BOTH {
            lines.extend(line(summary, direction, &unit));
        }
    }
    lines.extend(rest.line_of_flows(shown.len(), "byte", " of payload"));
    lines.join("\n") + "\n"
}

/// One line of numbers, 80 columns wide.
fn row(name: &str, sizes: [&str; 3], behind: [&str; 2], rtt: &[String; 3]) -> String {
    let [packets, payload, goodput] = sizes;
    let [retransmitted, overtaken] = behind;
    let [min, median, p95] = rtt;
    format!(
        "{name:10} {packets:>9} {payload:>11} {goodput:>8} {retransmitted:>7} {overtaken:>9} {min:>6} {median:>6} {p95:>6}"
    )
}

fn header(unit: &Unit) -> String {
    row(
        &format!("Mbit/s, {}", unit.name),
        ["packets", "payload B", "goodput"],
        ["retr.", "reordered"],
        &["RTTmin", "median", "p95"].map(str::to_owned),
    )
}

fn title(summary: &ConnectionSummary, width: usize) -> Vec<String> {
    let is_tcp = summary.protocol == Protocol::Tcp;
    let ending = is_tcp.then(|| summary.ending.name().replace('_', " "));
    let vantage = summary.vantage.map(|vantage| match vantage {
        Vantage::Between => "seen between the ends".to_owned(),
        end => format!("seen at {}", end.name()),
    });
    let quic = summary.quic.map(|quic| match quic.version {
        Some(version) => format!("QUIC {}", version.name()),
        None => "QUIC".to_owned(),
    });
    let about = [
        Some(format!(" {:.1}", summary.duration)),
        ending,
        vantage,
        quic,
    ];
    let about: Vec<String> = about.into_iter().flatten().collect();
    wrapped(
        &[
            format!(
                "{} {} {}",
                summary.flow, summary.protocol, summary.initiator
            ),
            format!("> {}", summary.responder),
            about.join(", "),
        ],
        width,
    )
}

fn line(summary: &ConnectionSummary, direction: Direction, unit: &Unit) -> Option<String> {
    let of: &DirectionSummary = &summary.directions[direction.index()];
    if of.packets == 0 {
        return None;
    }
    let is_tcp = summary.protocol == Protocol::Tcp;
    // Only TCP has sequence numbers that are followed; else these counts are unknown and not zero.
    let tcp_count = |n: u64, width| {
        if is_tcp {
            count(n, width)
        } else {
            NO_VALUE.to_owned()
        }
    };
    let goodput = rate_bps(of.unique_bytes, summary.duration).map_or(NO_VALUE.to_owned(), mega);
    let rtt = of.rtt.as_ref();
    let rtt = rtt.map_or([NO_VALUE; 3].map(str::to_owned), |rtt| {
        [rtt.min, rtt.median, rtt.p95].map(|span| unit.show(span))
    });
    Some(row(
        &format!("  {}", direction.name()),
        [
            &count(of.packets, 9),
            &count(of.payload_bytes, 11),
            &goodput,
        ],
        [
            &tcp_count(of.retransmissions().packets, 7),
            &tcp_count(of.rare().reordered_packets, 9),
        ],
        &rtt,
    ))
}
