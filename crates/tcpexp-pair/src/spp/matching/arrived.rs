//! Which bytes of a departure have arrived.

use tcpexp_flow::StreamOffset;

/// Bytes of a departure that have arrived, each counted once.
#[derive(Clone, Debug)]
pub(super) struct Arrived {
    start: StreamOffset,
    /// All bytes before this have arrived.
    until: StreamOffset,
    /// Arrived ranges after `until`, in order and with gaps between them; rarely any.
    later: Vec<(StreamOffset, StreamOffset)>,
}

impl Arrived {
    /// Nothing has arrived yet of the data that begins at `start`.
    pub(super) fn nothing(start: StreamOffset) -> Self {
        Self {
            start,
            until: start,
            later: Vec::new(),
        }
    }

    /// Adds the bytes from `start` to `end`, which begin at or after the start of the data.
    pub(super) fn add(&mut self, start: StreamOffset, end: StreamOffset) {
        if start > self.until {
            self.later.push((start, end));
            self.later.sort_unstable();
            self.later.dedup_by(|next, last| {
                let joins = next.0 <= last.1;
                if joins {
                    last.1 = last.1.max(next.1);
                }
                joins
            });
            return;
        }
        self.until = self.until.max(end);
        while let Some(next) = self.later.first()
            && next.0 <= self.until
        {
            self.until = self.until.max(next.1);
            self.later.remove(0);
        }
    }

    /// True if all bytes from `start` to `end` have arrived.
    pub(super) fn has(&self, start: StreamOffset, end: StreamOffset) -> bool {
        let mut later = self.later.iter();
        end <= self.until || later.any(|range| range.0 <= start && end <= range.1)
    }

    /// Number of bytes that have arrived.
    pub(super) fn bytes(&self) -> u32 {
        let later = self.later.iter().map(|range| range.1.since(range.0));
        let bytes = self.until.since(self.start) + later.sum::<i64>();
        // A departure is at most as long as an IP datagram or a jumbogram (RFC 2675).
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use tcpexp_wire::SeqNum;

    use super::*;

    proptest! {
        #[test]
        fn each_byte_counts_once_in_any_order(parts in prop::collection::vec((0..60_u32, 1..20_u32), 0..20)) {
            let start = StreamOffset::first(SeqNum(7));
            let mut arrived = Arrived::nothing(start);
            let mut bytes = HashSet::new();
            for (from, length) in parts {
                let range = from..from + length;
                let [first, end] = [range.start, range.end].map(|byte| start.plus(byte));
                prop_assert_eq!(arrived.has(first, end), range.clone().all(|byte| bytes.contains(&byte)));
                arrived.add(first, end);
                bytes.extend(range);
                prop_assert!(arrived.has(first, end));
                prop_assert_eq!(arrived.bytes() as usize, bytes.len());
            }
        }
    }
}
