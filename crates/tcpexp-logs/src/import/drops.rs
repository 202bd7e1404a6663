//! A bottleneck's own log of the packets that it dropped.

use tcpexp_wire::SeqNum;

use super::Unusable;

/// A packet with TCP data that a bottleneck dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedDrop {
    /// Sequence number of its first byte of payload.
    pub seq: SeqNum,
    /// Bytes of the IP packet.
    pub ip_bytes: u32,
}

impl LoggedDrop {
    /// What a line of such a log tells.
    ///
    /// A line says what was done to a packet (`r`: lost at random; `q`: dropped since the queue was
    /// full; `o`: held back, so that others overtake it), its sequence number, and the bytes of the
    /// IP packet, with spaces between. `None` for a packet that was not dropped.
    pub fn of_line(line: &str) -> Result<Option<Self>, Unusable> {
        let mut words = line.split_whitespace();
        let is_dropped = match words.next() {
            Some("r" | "q") => true,
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
    fn what_was_dropped_has_its_number_and_length() {
        let dropped = LoggedDrop {
            seq: SeqNum(3_584_007_119),
            ip_bytes: 1500,
        };
        for line in ["r 3584007119 1500\n", "q 3584007119 1500"] {
            assert_eq!(LoggedDrop::of_line(line), Ok(Some(dropped)));
        }
    }

    #[test]
    fn what_was_held_back_was_not_dropped() {
        assert_eq!(LoggedDrop::of_line("o 7 1500"), Ok(None));
    }

    #[test]
    fn lines_of_another_kind_are_told() {
        let why = |line| LoggedDrop::of_line(line).unwrap_err();
        assert_eq!(why(""), Unusable::OtherLayout);
        assert_eq!(why("x 1 2"), Unusable::OtherLayout);
        assert_eq!(why("r one 2"), Unusable::OtherLayout);
        assert_eq!(why("r 4294967296 2"), Unusable::OtherLayout);
        assert_eq!(why("q"), Unusable::Missing("sequence number"));
        assert_eq!(why("q 1"), Unusable::Missing("length"));
    }
}
