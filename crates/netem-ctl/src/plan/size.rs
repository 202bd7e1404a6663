//! The size of a queue, in packets and bytes.

use serde::Serialize;
use tcpexp_units::{BitRate, Buffer, ByteCount, TimeDelta};

use super::PlanError;

/// The size of a queue, in packets and in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct QueueSize {
    /// Full packets, rounded up. By default the rate counts 1514 bytes for each on Linux, and 1500 on FreeBSD.
    pub packets: u64,
    /// Bytes, as the rate counts them: of Ethernet frames, of IP packets on FreeBSD, or of the link layer.
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
            return Err(PlanError::NoPacket {
                direction,
                buffer,
                full,
            });
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
    use crate::plan::{Plan, PlanError, Step, plan, plan_in_path};
    use crate::router::{Os, Router};

    fn planned(os: Os, text: &str, mtu: Option<u32>) -> Result<Plan, PlanError> {
        let bottleneck = Bottleneck::from_toml(text).unwrap().with_mtu(mtu);
        let router = Router {
            os,
            left: "r0".parse().unwrap(),
            right: "r1".parse().unwrap(),
        };
        plan(&bottleneck, &router)
    }

    /// The command that contains a text.
    fn line(os: Os, text: &str, mtu: Option<u32>, part: &str) -> String {
        let plan = planned(os, text, mtu).unwrap();
        let mut lines = plan.apply.iter().map(Step::line);
        lines.find(|line| line.contains(part)).unwrap()
    }

    #[test]
    fn queue_in_packets_holds_its_time_or_bytes_in_full_packets_of_the_mtu() {
        let linux = |mtu, queue: &str, part: &str| {
            let text =
                format!("[forward]\nrate = '2mbit'\ndelay = '20ms'\nbuffer = '200ms'\n{queue}");
            line(Os::Linux, &text, mtu, part)
        };
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
    }

    #[test]
    fn buffer_in_bdp_of_a_longer_path_is_kept_in_bytes() {
        let text = "[forward]\nrate = '10mbit'\ndelay = '10ms'\nbuffer = '1bdp'";
        let bottleneck = Bottleneck::from_toml(text).unwrap();
        for os in [Os::Linux, Os::FreeBsd] {
            let alone = planned(os, text, None).unwrap();
            assert_eq!(alone.queues[0].unwrap().bytes, 25_000);
            assert_eq!(alone.bottleneck.forward.buffer, bottleneck.forward.buffer);
            let base_rtt = "100ms".parse().unwrap();
            let part = plan_in_path(&bottleneck, &alone.router, base_rtt).unwrap();
            assert_eq!(part.queues[0].unwrap().bytes, 125_000);
            // What the router keeps gives the same plan.
            assert_eq!(plan(&part.bottleneck, &part.router).unwrap(), part);
        }
    }

    #[test]
    fn queue_of_dummynet_holds_its_time_in_ip_packets() {
        let line = |mtu, queue: &str, part: &str| {
            let text = format!("[forward]\nrate = '100mbit'\nbuffer = '100ms'\n{queue}");
            line(Os::FreeBsd, &text, mtu, part)
        };
        // 100 ms at 100 Mbit/s are 1250000 bytes: 833.3 packets of 1500 bytes, or 2170.1 of 576.
        for (mtu, packets) in [(None, 834), (Some(576), 2_171)] {
            let pipe = line(mtu, "", " bw ");
            assert!(pipe.contains(&format!(" queue {packets} ")), "{pipe}");
            let codel = line(mtu, "queue = 'codel'", " bw ");
            assert!(codel.contains(&format!(" queue {packets} ")), "{codel}");
            let scheduler = line(mtu, "queue = 'fq_codel'", " type fq_codel ");
            assert!(
                scheduler.contains(&format!(" limit {packets} ")),
                "{scheduler}"
            );
        }
    }

    #[test]
    fn buffer_below_a_full_packet_is_refused_with_the_bytes_that_the_rate_counts() {
        let refusal = |os, keys: &str| {
            let text = format!("[forward]\nrate = '10mbit'\nbuffer = '1499B'\n{keys}");
            planned(os, &text, None).unwrap_err().to_string()
        };
        let full = |bytes| {
            format!(
                "forward.buffer is 1.499kB: expected room for at least one full packet, {bytes} bytes as the rate \
                 counts them"
            )
        };
        assert_eq!(refusal(Os::Linux, ""), full(1_514));
        assert_eq!(refusal(Os::Linux, "linklayer = 'atm'"), full(32 * 53));
        assert_eq!(refusal(Os::FreeBsd, ""), full(1_500));
    }
}
