//! A bottleneck's log of dropped packets.

use tcpexp_wire::SeqNum;

use super::Unusable;

/// A dropped packet with TCP payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedDrop {
    /// Sequence number of the first payload byte.
    pub seq: SeqNum,
    /// Length of the IP packet in bytes.
    pub ip_bytes: u32,
}

impl LoggedDrop {
    /// Parses a line.
    ///
    /// A line holds, separated by spaces: the action (`r` random loss, `q` queue full, `o` delayed so
    /// that later packets overtake it), the sequence number, and the length of the IP packet in bytes.
    /// `None` for a delayed packet.
    pub fn of_line(line: &str) -> Result<Option<Self>, Unusable> {
        let mut words = line.split_whitespace();
        let is_dropped = match words.next() {
            Some("r" | "q") => true,
            // A delayed packet still arrives, so it is no loss.
            Some("o") => false,
            _ => return Err(Unusable::OtherLayout),
        };
        let mut number = |name| -> Result<u32, Unusable> {
            let word = words.next().ok_or(Unusable::Missing(name))?;
            word.parse().map_err(|_| Unusable::OtherLayout)
        };
        let dropped = Self {
            seq: SeqNum(number("sequence number")?),
            ip_bytes: number("length")?,
        };
        Ok(is_dropped.then_some(dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_packet_has_a_sequence_number_and_length() {
        let dropped = LoggedDrop {
            seq: SeqNum(3_584_007_119),
            ip_bytes: 1500,
        };
        for line in ["r 3584007119 1500\n", "q 3584007119 1500"] {
            assert_eq!(LoggedDrop::of_line(line), Ok(Some(dropped)));
        }
    }

    #[test]
    fn delayed_packet_is_not_a_drop() {
        assert_eq!(LoggedDrop::of_line("o 7 1500"), Ok(None));
    }

    #[test]
    fn lines_of_other_kinds_are_errors() {
        let why = |line| LoggedDrop::of_line(line).unwrap_err();
        assert_eq!(why(""), Unusable::OtherLayout);
        assert_eq!(why("x 1 2"), Unusable::OtherLayout);
        assert_eq!(why("r one 2"), Unusable::OtherLayout);
        assert_eq!(why("r 4294967296 2"), Unusable::OtherLayout);
        assert_eq!(why("q"), Unusable::Missing("sequence number"));
        assert_eq!(why("q 1"), Unusable::Missing("length"));
    }
}
