//! Flows and samples of a realistic capture pair, for the tests of this crate.

use std::net::SocketAddr;

use tcpexp_flow::{Direction, FlowId, Protocol};
use tcpexp_metrics::RttSummary;
use tcpexp_pair::spp::{DirectionCounts, FlowSummary, LocalFlow, PairedFlow, Point, RttSample};
use tcpexp_units::{TimeDelta, Timestamp};

pub(crate) fn flow(id: u32, protocol: Protocol, initiator: &str, responder: &str) -> PairedFlow {
    PairedFlow {
        flow: FlowId(id),
        number: FlowId(id),
        protocol,
        initiator: address(initiator),
        responder: address(responder),
        translated: None,
        local: [LocalFlow {
            flow: FlowId(id),
            forward_is: Direction::Forward,
        }; 2],
    }
}

pub(crate) fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A bulk transfer through a 10 Mbit/s bottleneck with 40 ms base RTT.
pub(crate) fn bulk(id: u32) -> FlowSummary {
    let rtt = rtt_micros(14_468, [40_016, 40_102, 83_207, 112_930, 114_120, 115_644]);
    FlowSummary {
        flow: flow(id, Protocol::Tcp, "172.16.10.3:47652", "172.16.11.2:5201"),
        duration: TimeDelta::from_millis(30_127),
        counts: [
            DirectionCounts {
                seen: 26_012,
                matched: 25_979,
                ambiguous: 5,
                lost: 28,
                arrived: 25_984,
                arrivals_matched: 25_979,
                arrivals_ambiguous: 5,
                ..DirectionCounts::default()
            },
            acks(13_340),
        ],
        rtt: [Some(rtt), None],
        rtt_error: [Some(TimeDelta::from_nanos(2_026)), None],
    }
}

/// Counts of a direction without loss.
pub(crate) fn acks(packets: u64) -> DirectionCounts {
    DirectionCounts {
        seen: packets,
        matched: packets,
        arrived: packets,
        arrivals_matched: packets,
        ..DirectionCounts::default()
    }
}

pub(crate) fn rtt_micros(samples: u64, micros: [i64; 6]) -> RttSummary {
    let [min, p5, median, p95, p99, max] = micros.map(TimeDelta::from_micros);
    RttSummary {
        samples,
        min,
        p5,
        median,
        p95,
        p99,
        max,
    }
}

/// A sample whose fields all vary with `index`.
pub(crate) fn sample(flow: u32, index: i64) -> RttSample {
    let (direction, reference) = if index % 2 == 0 {
        (Direction::Forward, Point::Src)
    } else {
        (Direction::Reverse, Point::Dst)
    };
    let (owd_out, owd_back) = (20_012_000 + index % 977, 20_007_000 + index % 13);
    RttSample {
        flow: FlowId(flow),
        direction,
        reference,
        time: Timestamp::from_nanos(1_767_225_609_778_130_000 + index * 2_000_003),
        rtt: TimeDelta::from_nanos(owd_out + owd_back),
        rtt_error: TimeDelta::from_nanos(2_000 + index % 3),
        turnaround: TimeDelta::from_nanos(15_000 + index % 7),
        owd_out: TimeDelta::from_nanos(owd_out),
        owd_back: TimeDelta::from_nanos(owd_back),
    }
}
