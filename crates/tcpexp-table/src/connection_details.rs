//! One connection in full, as text for a terminal.

use tcpexp_flow::{Direction, EcnMode, Protocol, RetransmissionCause, SynOptions};
use tcpexp_measure::flows::{ConnectionSummary, DirectionSummary};
use tcpexp_units::TimeDelta;

use crate::cells::{NO_VALUE, count, counted, percent};
use crate::remark::remark;

/// Formats the details of a connection for a terminal of `width` columns, each count with its share.
pub fn connection_details(summary: &ConnectionSummary, width: usize) -> String {
    let mut lines = Vec::new();
    let is_tcp = summary.protocol == Protocol::Tcp;
    if is_tcp {
        lines.push("  connection".to_owned());
        lines.extend(remark("handshake", &handshake(summary), width));
        lines.extend(remark("options", &options(summary), width));
    }
    for direction in Direction::BOTH {
        let of = &summary.directions[direction.index()];
        if of.packets == 0 {
            continue;
        }
        lines.push(format!("  {}", direction.name()));
        let remarks = if is_tcp { tcp(of) } else { udp(of) };
        for (heading, what) in remarks {
            lines.extend(remark(heading, &what, width));
        }
    }
    lines.join("\n") + "\n"
}

fn handshake(summary: &ConnectionSummary) -> String {
    match summary.handshake_rtt {
        Some(rtt) => format!("{rtt:.2} from the SYN to the ACK of the SYN-ACK"),
        None => "RTT unknown: a part was not captured or was retransmitted".to_owned(),
    }
}

fn options(summary: &ConnectionSummary) -> String {
    let agreed = |name: &str, is_used: Option<bool>| {
        let word = match is_used {
            Some(true) => "used",
            Some(false) => "not used",
            None => "unknown",
        };
        format!("{name} {word}")
    };
    let offers = summary.directions.each_ref().map(|one| one.offer);
    let both = |of: fn(&SynOptions) -> Option<u32>| {
        let shown = offers.map(|offer| offer.as_ref().and_then(of));
        let shown = shown.map(|value| value.map_or(NO_VALUE.to_owned(), |value| value.to_string()));
        format!("{} and {}", shown[0], shown[1])
    };
    let parts = [
        agreed("SACK", summary.sack),
        agreed("timestamps", summary.timestamps),
        agreed("window scaling", summary.window_scaling),
        format!("ECN {}", summary.ecn.map_or("unknown", EcnMode::name)),
        format!("MSS {}", both(|offer| offer.mss.map(u32::from))),
        format!(
            "window shift {}",
            both(|offer| offer.window_scale.map(u32::from))
        ),
    ];
    parts.join(", ")
}

fn tcp(of: &DirectionSummary) -> Vec<(&'static str, String)> {
    let mut remarks = vec![("data", data(of))];
    if of.data_packets > 0 {
        remarks.push(("retransmits", retransmitted(of)));
        remarks.push(("order", order(of)));
        remarks.extend(of.rtt.as_ref().map(|rtt| {
            let samples = counted(rtt.samples, "sample");
            let [min, median, p95, max] = [rtt.min, rtt.median, rtt.p95, rtt.max].map(millis);
            let what = format!(
                "{samples} to the receiver and back: least {min}, median {median}, 95th percentile {p95}, most {max}"
            );
            ("RTT", what)
        }));
    }
    remarks.push(("acks", acks(of)));
    remarks.extend(probes(of).map(|what| ("probes", what)));
    remarks.extend(marks(of).map(|what| ("ECN", what)));
    remarks
}

fn udp(of: &DirectionSummary) -> Vec<(&'static str, String)> {
    vec![("data", data(of))]
}

fn data(of: &DirectionSummary) -> String {
    let repeated = of.payload_bytes - of.unique_bytes;
    format!(
        "{}; {} of payload, {} sent before",
        share(of.data_packets, of.packets, "packets with payload"),
        counted(of.payload_bytes, "byte"),
        part(repeated, of.payload_bytes)
    )
}

fn retransmitted(of: &DirectionSummary) -> String {
    let all = of.retransmissions().packets;
    let mut parts = vec![share(all, of.data_packets, "data packets")];
    for cause in RetransmissionCause::ALL {
        let packets = of.rare().retransmitted[cause.index()].packets;
        if packets > 0 {
            let name = cause.name().replace('_', " ");
            parts.push(format!("{name} {}", part(packets, all)));
        }
    }
    parts.join("; ")
}

fn order(of: &DirectionSummary) -> String {
    let all = of.data_packets;
    format!(
        "overtaken on the path {}, undecided {}, duplicate records {}",
        part(of.rare().reordered_packets, all),
        part(of.rare().undecided_packets, all),
        part(of.rare().duplicate_packets, of.packets)
    )
}

fn acks(of: &DirectionSummary) -> String {
    format!(
        "duplicate ACKs {}, zero windows {}, D-SACKs {}",
        known_part(of.rare().duplicate_ack_packets, of.packets),
        part(of.rare().zero_window_packets, of.packets),
        known_part(of.rare().duplicate_sack_packets, of.packets)
    )
}

fn probes(of: &DirectionSummary) -> Option<String> {
    (of.rare().keep_alive_packets + of.rare().window_probe_packets > 0).then(|| {
        format!(
            "keep-alives {}, of a closed window {}",
            part(of.rare().keep_alive_packets, of.packets),
            part(of.rare().window_probe_packets, of.packets)
        )
    })
}

fn marks(of: &DirectionSummary) -> Option<String> {
    let reported = of.ce_reported_packets.filter(|reported| *reported > 0);
    (of.rare().ce_packets > 0 || reported.is_some()).then(|| {
        let reported = reported.map_or("unknown".to_owned(), |n| part(n, of.packets));
        let seen = part(of.rare().ce_packets, of.packets);
        format!("packets captured with a mark {seen}, reported as marked {reported}")
    })
}

/// `63 of 5 104 data packets (1.2 %)`.
fn share(counted: u64, whole: u64, what: &str) -> String {
    let [shown, all] = [counted, whole].map(|number| count(number, usize::MAX));
    let percent = percent(counted, whole).unwrap_or(NO_VALUE.to_owned());
    format!("{shown} of {all} {what} ({percent})")
}

/// As [`part`]; "unknown" without a count.
fn known_part(counted: Option<u64>, whole: u64) -> String {
    counted.map_or_else(|| "unknown".to_owned(), |counted| part(counted, whole))
}

/// `63 (1.2 %)`.
fn part(counted: u64, whole: u64) -> String {
    let shown = count(counted, usize::MAX);
    match percent(counted, whole) {
        Some(percent) if counted > 0 => format!("{shown} ({percent})"),
        _ => shown,
    }
}

fn millis(span: TimeDelta) -> String {
    format!("{span:.2}")
}
