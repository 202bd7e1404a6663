//! The size of a queue, in packets and bytes.

use serde::Serialize;
use tcpexp_units::{BitRate, Buffer, ByteCount, TimeDelta};

use super::PlanError;

/// The size of a queue, in packets and in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct QueueSize {
    /// Full packets, of the MTU and an Ethernet header (1514 bytes by default) or of the bytes that they
    /// take on the link; rounded up.
    pub packets: u64,
    /// Bytes, with Ethernet headers or as they are on the link.
    pub bytes: u64,
}

impl QueueSize {
    /// The size of `buffer` at `rate` and a base round-trip time of `rtt`, for full packets of `full`
    /// bytes.
    pub(crate) fn of(
        direction: &'static str,
        buffer: Buffer,
        rate: BitRate,
        rtt: TimeDelta,
        full: u64,
    ) -> Result<Self, PlanError> {
        let wrong = |expected| PlanError::Value {
            direction,
            key: "buffer",
            value: buffer.to_string(),
            expected,
        };
        let size = match buffer {
            // A saturated size exceeds 4 GB and is refused below.
            Buffer::Packets(packets) => Self {
                packets,
                bytes: packets.saturating_mul(full),
            },
            Buffer::Bytes(bytes) => Self::from_bytes(bytes, full),
            Buffer::Time(time) => Self::from_bytes(rate.bytes_in(time), full),
            Buffer::Bdp { .. } if rtt == TimeDelta::ZERO => {
                return Err(wrong(
                    "packets, bytes or a time: the path has no delay to multiply by",
                ));
            }
            Buffer::Bdp { thousandths } => {
                // BDP = rate · base RTT, in bytes. Thousandths keep factors such as 1.5 exact, and
                // their product with 64 bits of bytes needs more bits.
                let product = u128::from(rate.bytes_in(rtt).as_bytes()) * u128::from(thousandths);
                let bytes = u64::try_from(product.div_ceil(1_000));
                Self::from_bytes(ByteCount::new(bytes.unwrap_or(u64::MAX)), full)
            }
        };
        // Limits in packets and bytes have 32 bits in all queues of Linux and dummynet.
        if size.bytes < full {
            return Err(wrong(
                "room for at least one full packet, 1514 bytes on Ethernet with an MTU of 1500",
            ));
        }
        if size.bytes > u64::from(u32::MAX) {
            return Err(wrong("less than 4 GB"));
        }
        Ok(size)
    }

    fn from_bytes(bytes: ByteCount, full: u64) -> Self {
        let bytes = bytes.as_bytes();
        Self {
            packets: bytes.div_ceil(full),
            bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::bottleneck::Bottleneck;
    use crate::plan::{Step, plan};
    use crate::router::{Os, Router};

    #[test]
    fn queue_in_packets_holds_its_time_or_bytes_in_full_packets_of_the_mtu() {
        let step = |os, mtu, queue: &str, part: &str| {
            let text =
                format!("[forward]\nrate = '2mbit'\ndelay = '20ms'\nbuffer = '200ms'\n{queue}");
            let bottleneck = Bottleneck::from_toml(&text).unwrap().with_mtu(mtu);
            let router = Router {
                os,
                left: "r0".parse().unwrap(),
                right: "r1".parse().unwrap(),
            };
            let plan = plan(&bottleneck, &router).unwrap();
            let mut lines = plan.apply.iter().map(Step::line);
            lines.find(|line| line.contains(part)).unwrap()
        };
        let linux = |mtu, queue, part| step(Os::Linux, mtu, queue, part);
        // 200 ms at 2 Mbit/s are 50000 bytes: 33.03 frames of 1514 bytes, or 84.7 of 590.
        for (queue, kind) in [
            ("", " pfifo "),
            ("queue = 'codel'", " codel "),
            ("queue = 'fq_codel'", " fq_codel "),
            ("queue = 'pie'", " pie "),
            ("queue = 'fq_pie'", " fq_pie "),
            ("queue = 'sfq'", " sfq "),
        ] {
            let limit = |mtu, packets| {
                let line = linux(mtu, queue, kind);
                assert!(line.contains(&format!("limit {packets}")), "{line}");
                line
            };
            assert!(!limit(None, 34).contains("quantum 590"));
            let small = limit(Some(576), 85);
            let has_quantum = [" fq_codel ", " fq_pie ", " sfq "].contains(&kind);
            assert_eq!(small.contains("quantum 590"), has_quantum, "{small}");
        }
        let class = linux(Some(576), "", "tc class add");
        assert!(
            class.ends_with("burst 1180 cburst 1180 quantum 590"),
            "{class}"
        );
        let bytes = linux(Some(576), "queue = 'bfifo'", "bfifo");
        assert!(bytes.ends_with("limit 50000"), "{bytes}");
        let cells = linux(Some(576), "linklayer = 'ipoa-vcmux'", "pfifo");
        // An IP packet of 576 bytes and 8 of the link takes 13 cells of 53 bytes: 689.
        assert!(cells.ends_with("limit 73"), "{cells}");
        let pipe = step(Os::FreeBsd, Some(576), "", "bw 2000000bit/s");
        assert!(pipe.contains("queue 85 "), "{pipe}");
    }
}
