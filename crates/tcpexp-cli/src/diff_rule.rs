//! The rule of TCP in which two senders differ, as far as packets and reconstructed state show it.

use tcpexp::{CwndSource, Phase, SenderSample, TimeDelta};
use tcpexp_units::{BitRate, ByteCount, counted};
use tcpexp_wire::TcpFlags;

use crate::diff_packets::{Difference, Property, Sent};

/// State of a sender at a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) cwnd_segments: Option<u32>,
    pub(crate) phase: Option<Phase>,
    pub(crate) flight_bytes: Option<u64>,
    /// True if the application sends less than the window allows.
    pub(crate) waits_for_data: bool,
    /// Payload sent within the last round-trip time over that time.
    pub(crate) pace_bps: Option<u64>,
}

impl State {
    /// The state at the latest ACK up to a time, and the rate of `sent` until then. The times count
    /// from the first packet of the flow.
    pub(crate) fn at(samples: &[(TimeDelta, SenderSample)], sent: &[Sent], at: TimeDelta) -> Self {
        let known = samples.partition_point(|(time, _)| *time <= at);
        let Some((_, sample)) = known.checked_sub(1).and_then(|last| samples.get(last)) else {
            return Self::default();
        };
        let pace = |srtt: TimeDelta| {
            let recent = |packet: &&Sent| packet.after <= at && packet.after > at - srtt;
            let bytes = sent.iter().filter(recent);
            let bytes: u64 = bytes.map(|packet| u64::from(packet.payload_bytes)).sum();
            ByteCount::new(bytes).rate_over(srtt).map(BitRate::as_bps)
        };
        Self {
            cwnd_segments: sample.cwnd_segments,
            phase: sample.phase,
            flight_bytes: sample.flight_size_bytes,
            waits_for_data: sample.cwnd_source == CwndSource::ApplicationLimited,
            pace_bps: sample.srtt.and_then(pace),
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut words = Vec::new();
        let cwnd = self.cwnd_segments.map(|cwnd| format!("cwnd {cwnd}"));
        words.extend(cwnd);
        words.extend(self.phase.map(|phase| phase.name().replace('_', " ")));
        words.extend(
            self.flight_bytes
                .map(|bytes| counted(bytes, "byte") + " in flight"),
        );
        let pace = self
            .pace_bps
            .map(|bps| format!("{:.2} Mbit/s", bps as f64 / 1e6));
        words.extend(pace);
        if words.is_empty() {
            "before the first ACK of data".to_owned()
        } else {
            words.join(", ")
        }
    }
}

/// The rule that differs. `by_sender` is true for a packet of the end that sends the data.
pub(crate) fn rule(found: &Difference, by_sender: bool, states: [&State; 2]) -> String {
    let is_syn = found
        .packets
        .iter()
        .flatten()
        .any(|packet| packet.flags.syn());
    let [a, b] = states;
    match found.property {
        Property::Options => "handshake: offered options".to_owned(),
        Property::Flags if is_syn => "handshake: ECN".to_owned(),
        Property::Flags => flags(found).to_owned(),
        Property::Ecn => "ECN: which packets are marked, or may be".to_owned(),
        Property::Window => "receiver: advertised window (buffer tuning)".to_owned(),
        Property::Sack => "receiver: reported blocks".to_owned(),
        Property::Ack => "receiver: which data an ACK covers (delayed ACKs)".to_owned(),
        Property::Presence if !by_sender => "receiver: number of ACKs".to_owned(),
        Property::Payload | Property::Time if !by_sender => "receiver: time of ACKs".to_owned(),
        Property::Presence | Property::Payload | Property::Time => sending(found, a, b),
    }
}

/// The rule of the flag that differs.
fn flags(found: &Difference) -> &'static str {
    let [a, b] = found
        .packets
        .map(|packet| packet.map_or(TcpFlags::NONE, |packet| packet.flags));
    let differs = |is_set: fn(TcpFlags) -> bool| is_set(a) != is_set(b);
    if differs(TcpFlags::ece) || differs(TcpFlags::cwr) {
        "ECN: echo of marks, or response to them"
    } else if differs(TcpFlags::fin) || differs(TcpFlags::rst) {
        "end of the connection"
    } else {
        "push: where a write of the application ends"
    }
}

/// The rule of sending that differs.
fn sending(found: &Difference, a: &State, b: &State) -> String {
    let is_again = found
        .packets
        .map(|packet| packet.is_some_and(|packet| packet.is_again));
    if is_again[0] != is_again[1] {
        return "loss recovery: one kernel retransmits, the other sends new data".to_owned();
    }
    if is_again == [true; 2] {
        return "loss recovery: time or order of retransmissions".to_owned();
    }
    match (a.phase, b.phase) {
        (Some(ours), Some(theirs)) if ours != theirs => {
            let [ours, theirs] = [ours, theirs].map(|phase| phase.name().replace('_', " "));
            return format!("phase: {ours} or {theirs}");
        }
        _ => {}
    }
    match (a.cwnd_segments, b.cwnd_segments) {
        (Some(ours), Some(theirs)) if ours != theirs => {
            let phase = a.phase.map_or("its phase", Phase::name).replace('_', " ");
            return format!("window: growth in {phase} ({ours} or {theirs} segments)");
        }
        _ => {}
    }
    if a.waits_for_data && b.waits_for_data {
        return "application: when or how much it writes".to_owned();
    }
    let lengths = found
        .packets
        .map(|packet| packet.map(|packet| packet.payload_bytes));
    if found.property == Property::Payload && lengths[0] != lengths[1] {
        return "segmentation: length of a segment".to_owned();
    }
    "pacing or timers: same window, other time".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcpexp::Direction;
    use tcpexp_wire::Ecn;

    fn found(property: Property, is_again: [bool; 2]) -> Difference {
        let packet = |is_again| Sent {
            after: TimeDelta::from_millis(5),
            start: 1,
            payload_bytes: 1000,
            ack: None,
            flags: tcpexp_wire::TcpFlags::ACK,
            window: 1,
            ecn: Ecn::NotEct,
            sack_blocks: 0,
            syn: None,
            is_again,
        };
        Difference {
            direction: Direction::Forward,
            number: 1,
            property,
            packets: is_again.map(|is_again| Some(packet(is_again))),
        }
    }

    fn state(cwnd: u32, phase: Phase) -> State {
        State {
            cwnd_segments: Some(cwnd),
            phase: Some(phase),
            ..State::default()
        }
    }

    #[test]
    fn rule_follows_from_packets_and_state() {
        let said = |property, is_again, a: State, b: State| {
            rule(&found(property, is_again), true, [&a, &b])
        };
        let (slow, avoid) = (Phase::SlowStart, Phase::CongestionAvoidance);
        let rules = [
            said(
                Property::Payload,
                [true, false],
                state(10, slow),
                state(10, slow),
            ),
            said(
                Property::Time,
                [false; 2],
                state(10, slow),
                state(10, avoid),
            ),
            said(
                Property::Payload,
                [false; 2],
                state(10, slow),
                state(12, slow),
            ),
            said(Property::Time, [false; 2], state(10, slow), state(10, slow)),
        ];
        insta::assert_snapshot!(rules.join("\n"), @r"
        loss recovery: one kernel retransmits, the other sends new data
        phase: slow start or congestion avoidance
        window: growth in slow start (10 or 12 segments)
        pacing or timers: same window, other time
        ");
    }

    #[test]
    fn ack_of_the_receiver_is_not_a_rule_of_the_sender() {
        let none = State::default();
        let text = rule(&found(Property::Time, [false; 2]), false, [&none, &none]);
        assert_eq!(text, "receiver: time of ACKs");
    }
}
