//! The usual payload of the packets on the path.

use super::piece::UNCUT_BYTES;

/// Payload sizes that one point shows for one direction of a flow.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    /// Sizes with the bytes that they carried. A new size takes the place and the bytes of the rarest
    /// (Metwally et al., 2005), so a size with more than half of all bytes has the most here too.
    common: [(u32, u64); 4],
    /// Largest payload of a packet that a network card need not cut.
    uncut: u32,
}

impl Sizes {
    /// Adds a packet's payload; `header_bytes` are those of all headers.
    pub(super) fn add(&mut self, payload_bytes: u32, header_bytes: u16) {
        if payload_bytes.saturating_add(header_bytes.into()) <= UNCUT_BYTES {
            self.uncut = self.uncut.max(payload_bytes);
        }
        let known = self.common.iter_mut().find(|one| one.0 == payload_bytes);
        if let Some((_, bytes)) = known {
            *bytes += u64::from(payload_bytes);
        } else if let Some(rarest) = self.common.iter_mut().min_by_key(|one| one.1) {
            *rarest = (payload_bytes, rarest.1 + u64::from(payload_bytes));
        }
    }

    /// The size that carries most bytes; 0 before the first packet.
    fn usual(&self) -> u32 {
        let most = self.common.iter().max_by_key(|one| one.1);
        most.map_or(0, |one| one.0)
    }
}

/// Payload bytes of a full packet on the path, by the sizes at both points: the smaller of the usual
/// ones, because a point shows several packets as one, but none smaller than on the path. Where small
/// messages are usual, a packet that no card cuts or merges may be larger.
pub(super) fn path_packet_bytes([departed, arrived]: [&Sizes; 2]) -> u32 {
    let uncut = departed.uncut.min(arrived.uncut);
    match (departed.usual(), arrived.usual()) {
        // One point has shown no data yet.
        (0, usual) | (usual, 0) => usual,
        (departed, arrived) => departed.min(arrived).max(uncut),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of a full packet, from numbers of packets of each payload size at each point.
    fn size(points: [&[(u32, u32)]; 2]) -> u32 {
        let sizes = points.map(|packets| {
            let mut sizes = Sizes::default();
            for (count, bytes) in packets {
                (0..*count).for_each(|_| sizes.add(*bytes, 52));
            }
            sizes
        });
        path_packet_bytes([&sizes[0], &sizes[1]])
    }

    #[test]
    fn a_few_merged_packets_do_not_change_the_size() {
        assert_eq!(size([&[(5, 14_480), (1, 700)], &[(51, 1_448)]]), 1_448);
        assert_eq!(size([&[(50, 1_448)], &[(2, 2_896), (46, 1_448)]]), 1_448);
        let both = size([&[(5, 14_480), (40, 2_896)], &[(130, 1_448), (1, 2_896)]]);
        assert_eq!(both, 1_448);
        assert_eq!(
            size([&[(9, 8_948), (1, 700)], &[(9, 8_948), (1, 700)]]),
            8_948
        );
    }

    #[test]
    fn small_messages_are_not_the_size_of_a_full_packet() {
        let sent: &[(u32, u32)] = &[(200, 36), (1, 1_448), (1, 2_896)];
        assert_eq!(size([sent, &[(200, 36), (3, 1_448)]]), 1_448);
    }
}
