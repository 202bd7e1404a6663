//! The size of a queue, in packets and bytes.

use serde::Serialize;
use tcpexp_units::{BitRate, Buffer, ByteCount, TimeDelta};

use super::PlanError;
pub(crate) use crate::bottleneck::FULL_FRAME;

/// The size of a queue, in packets and in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct QueueSize {
    /// Full packets of 1514 bytes with their Ethernet header, or of the bytes that they take on the
    /// link; rounded up.
    pub packets: u64,
    /// Bytes, with Ethernet headers or as they are on the link.
    pub bytes: u64,
}

/// A full IP packet: the MTU of Ethernet.
pub(crate) const FULL_PACKET: u64 = 1_500;

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
                "room for at least one full packet, 1514 bytes on Ethernet",
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
