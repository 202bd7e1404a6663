//! How much room a queue gets, in all units at once.

use serde::Serialize;
use tcpexp_units::{BitRate, Buffer, ByteCount, TimeDelta};

use super::PlanError;

/// Room in a queue: what was asked for, in packets and in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct QueueSize {
    /// Packets of full size, 1514 bytes with their Ethernet header; rounded up.
    pub packets: u64,
    /// Bytes, with Ethernet headers.
    pub bytes: u64,
}

/// A full Ethernet frame as the queues of Linux count it: 1500 bytes and 14 of header.
pub(crate) const FULL_FRAME: u64 = 1_514;

impl QueueSize {
    /// The room that `buffer` stands for at `rate` and with a base round-trip time of `rtt`.
    pub(crate) fn of(
        direction: &'static str,
        buffer: Buffer,
        rate: BitRate,
        rtt: TimeDelta,
    ) -> Result<Self, PlanError> {
        let wrong = |expected| PlanError::Value {
            direction,
            key: "buffer",
            value: buffer.to_string(),
            expected,
        };
        let size = match buffer {
            Buffer::Packets(packets) => Self {
                packets,
                bytes: packets.saturating_mul(FULL_FRAME),
            },
            Buffer::Bytes(bytes) => Self::from_bytes(bytes),
            Buffer::Time(time) => Self::from_bytes(rate.bytes_in(time)),
            Buffer::Bdp { .. } if rtt == TimeDelta::ZERO => {
                return Err(wrong(
                    "packets, bytes or a time: the path has no delay to multiply by",
                ));
            }
            Buffer::Bdp { thousandths } => {
                let product = u128::from(rate.bytes_in(rtt).as_bytes()) * u128::from(thousandths);
                let bytes = u64::try_from(product.div_ceil(1_000));
                Self::from_bytes(ByteCount::new(bytes.unwrap_or(u64::MAX)))
            }
        };
        // Both limits are numbers of 32 bits in all queues.
        if size.bytes < FULL_FRAME {
            return Err(wrong("room for at least one full packet of 1514 bytes"));
        }
        if size.bytes > u64::from(u32::MAX) {
            return Err(wrong("less than 4 GB"));
        }
        Ok(size)
    }

    fn from_bytes(bytes: ByteCount) -> Self {
        let bytes = bytes.as_bytes();
        Self {
            packets: bytes.div_ceil(FULL_FRAME),
            bytes,
        }
    }
}
