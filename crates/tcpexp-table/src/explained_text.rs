//! Explained packets as text: for a terminal, and as comments in a capture file.

use tcpexp_flow::Direction;
use tcpexp_measure::packets::{ExplainedFlow, ExplainedPacket, PacketClass, TcpPart};
use tcpexp_measure::rtt::{AckClass, RttMethod};
use tcpexp_measure::sender::{
    EarlierCopy, RecoveryEpoch, RecoveryKind, Retransmission, RetransmissionCause, SenderSample,
};
use tcpexp_units::{TimeDelta, Timestamp, counted};

use crate::lost_text::lost_packets;

/// Nanoseconds in a second.
const NANOS: i64 = 1_000_000_000;

/// Formats explained packets, one line each. Times count from the first packet.
pub fn explained_text(flows: &[ExplainedFlow], packets: &[ExplainedPacket]) -> String {
    let Some(first) = packets.first() else {
        return "no packets\n".to_owned();
    };
    let mut lines: Vec<String> = flows.iter().map(title).collect();
    let nanos = first.packet.at.as_nanos();
    let (seconds, nanos) = (nanos.div_euclid(NANOS), nanos.rem_euclid(NANOS));
    lines.push(format!(
        "times count from {seconds}.{nanos:09} s since 1970"
    ));
    lines.push(format!(
        "{:>8} {:>12}  {:<44} {}",
        "packet", "time in s", "sequence numbers relative to the first", "inferred"
    ));
    let shows_flow = flows.len() > 1;
    lines.extend(
        packets
            .iter()
            .map(|one| line(one, first.packet.at, shows_flow)),
    );
    lines.join("\n") + "\n"
}

fn title(flow: &ExplainedFlow) -> String {
    let ExplainedFlow {
        flow,
        protocol,
        initiator,
        responder,
    } = flow;
    format!("{flow} {protocol} {initiator} > {responder}")
}

fn line(one: &ExplainedPacket, first: Timestamp, shows_flow: bool) -> String {
    let packet = &one.packet;
    let arrow = match packet.direction {
        Direction::Forward => '>',
        Direction::Reverse => '<',
    };
    let header = packet.tcp.as_ref().map_or_else(
        || counted(packet.payload_bytes, "byte"),
        |tcp| header(tcp, packet.payload_bytes),
    );
    let flow = if shows_flow {
        format!("{} ", packet.flow)
    } else {
        String::new()
    };
    let line = format!(
        "{:>8} {:>12.6}  {:<44} {}",
        packet.record + 1,
        (packet.at - first).as_seconds_f64(),
        format!("{flow}{arrow} {header}"),
        inferred(one)
    );
    line.trim_end().to_owned()
}

/// The header in the notation of tcpdump.
fn header(tcp: &TcpPart, payload_bytes: u32) -> String {
    let mut parts = Vec::new();
    for (is_set, letter) in [
        (tcp.flags.syn(), "SYN"),
        (tcp.flags.fin(), "FIN"),
        (tcp.flags.rst(), "RST"),
    ] {
        parts.extend(is_set.then(|| letter.to_owned()));
    }
    if payload_bytes > 0 {
        let start = tcp.relative_start + i64::from(tcp.flags.syn());
        parts.push(format!("{start}:{}", start + i64::from(payload_bytes)));
    }
    parts.extend(tcp.relative_ack.map(|ack| format!("ack {ack}")));
    parts.extend(tcp.window_bytes.map(|bytes| format!("win {bytes}")));
    parts.join(" ")
}

/// What was inferred from a packet, in words. Empty if nothing.
pub fn inferred(one: &ExplainedPacket) -> String {
    let mut all = Vec::new();
    if let Some(tcp) = &one.packet.tcp {
        all.extend(data(tcp, one.retransmission.as_ref()));
        all.extend(ack(tcp));
    }
    all.extend(one.recovery.as_ref().map(recovery));
    all.extend(one.sender.as_ref().map(state));
    all.join("; ")
}

fn data(tcp: &TcpPart, again: Option<&Retransmission>) -> Option<String> {
    if let Some(again) = again {
        return Some(retransmission(again));
    }
    let what = match tcp.class {
        PacketClass::Empty | PacketClass::New => return handshake(tcp).map(str::to_owned),
        PacketClass::AfterGap => "data before it is missing",
        PacketClass::Retransmitted => "retransmission",
        PacketClass::Reordered => "overtaken on the path",
        PacketClass::Behind => "retransmitted, overtaken or duplicated on the path",
        PacketClass::Copy => "duplicate record of a packet",
        PacketClass::KeepAlive => "keep-alive",
        PacketClass::WindowProbe => "probe of the closed window",
    };
    Some(what.to_owned())
}

fn handshake(tcp: &TcpPart) -> Option<&'static str> {
    match (tcp.flags.syn(), tcp.flags.ack()) {
        (true, false) => Some("opens the connection"),
        (true, true) => Some("accepts the connection"),
        _ if tcp.flags.rst() => Some("resets the connection"),
        _ if tcp.flags.fin() => Some("ends this direction"),
        _ => None,
    }
}

fn retransmission(again: &Retransmission) -> String {
    let cause = match again.cause {
        RetransmissionCause::FastRetransmit => "after duplicate or selective ACKs",
        RetransmissionCause::ReorderingTimer => "by the reordering timer",
        RetransmissionCause::Timeout => "by a timeout",
        RetransmissionCause::AfterTimeout => "in the recovery after a timeout",
        RetransmissionCause::TailLossProbe => "as a tail loss probe",
        RetransmissionCause::PathMtu => "sooner than by any timer, as for a smaller path MTU",
        RetransmissionCause::RefusedSynData => {
            "of data in the SYN that the responder did not accept"
        }
        RetransmissionCause::Spurious => "spurious: all bytes were acknowledged",
    };
    let copy = match again.earlier_copy {
        None => "",
        Some(EarlierCopy::Lost) => ", the earlier copy was lost",
        Some(EarlierCopy::Overtaken) => ", the earlier copy arrived after later data",
        Some(EarlierCopy::Arrived) => ", the earlier copy had arrived",
    };
    format!("retransmission {cause}{copy} ({})", again.event_id())
}

fn ack(tcp: &TcpPart) -> Vec<String> {
    let mut all = Vec::new();
    if tcp.is_duplicate_ack {
        all.push("duplicate ACK".to_owned());
    }
    let dsack = if tcp.is_duplicate_sack { "D-" } else { "" };
    all.extend(sack_text(tcp).map(|blocks| format!("{dsack}SACK {blocks}")));
    if tcp.window_bytes == Some(0) && !tcp.flags.rst() && !tcp.flags.syn() {
        all.push("zero window".to_owned());
    }
    // The echo of a packet that asked for no answer may come at any later time.
    if let Some(rtt) = tcp.rtt.filter(|rtt| rtt.class != AckClass::Unasked) {
        let method = match rtt.method {
            RttMethod::SequenceAck => "",
            RttMethod::Timestamps => " by timestamp",
            RttMethod::QuicHandshake => " by handshake",
            RttMethod::SpinBit => " by spin bit",
        };
        all.push(format!("RTT {}{method}", millis(rtt.rtt)));
    }
    all
}

fn recovery(epoch: &RecoveryEpoch) -> String {
    let why = match epoch.kind {
        RecoveryKind::Fast => "a loss",
        RecoveryKind::Timeout => "a timeout",
        RecoveryKind::CongestionEcho => "congestion echoes",
    };
    let number = |segments: Option<u32>| segments.map_or("?".to_owned(), |n| n.to_string());
    let lost = epoch.lost.map(lost_packets);
    let lost = lost.map_or(String::new(), |lost| format!(", {lost} lost"));
    let undone = if epoch.was_undone {
        ", undone later"
    } else {
        ""
    };
    format!(
        "recovery from {why} begins, window {} to {}{lost}{undone} ({})",
        number(epoch.cwnd_before_segments),
        counted(number(epoch.ssthresh_segments), "segment"),
        epoch.event_id()
    )
}

/// The state of the sender in words.
fn state(sample: &SenderSample) -> String {
    let mut parts = Vec::new();
    if let Some(flight_size) = sample.flight_size_bytes {
        parts.push(counted(flight_size, "byte") + " in flight");
    }
    parts.push(match sample.cwnd_segments {
        Some(cwnd) => format!("cwnd {cwnd} ({})", worded(sample.cwnd_source.name())),
        None => format!("cwnd unknown ({})", worded(sample.cwnd_source.name())),
    });
    parts.extend(sample.phase.map(|phase| worded(phase.name())));
    parts.extend(sample.srtt.map(|srtt| format!("SRTT {}", millis(srtt))));
    parts.extend(
        sample
            .limit
            .map(|limit| format!("limited by the {}", worded(limit.name()))),
    );
    parts.join(", ")
}

fn worded(name: &str) -> String {
    name.replace('_', " ")
}

fn millis(span: TimeDelta) -> String {
    format!("{:.2} ms", span.as_nanos() as f64 / 1e6)
}

/// SACK blocks relative to the first captured sequence number.
pub(crate) fn sack_text(tcp: &TcpPart) -> Option<String> {
    let blocks: Vec<String> = tcp
        .sack
        .iter()
        .flatten()
        .map(|(start, end)| format!("{start}:{end}"))
        .collect();
    (!blocks.is_empty()).then(|| blocks.join(" "))
}
