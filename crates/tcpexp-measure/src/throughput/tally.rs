//! Sums over bins.

use super::ThroughputBin;

/// Sums over the bins of one flow and direction, or of all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BinTally {
    /// Number of bins.
    pub bins: u64,
    /// Number of bins without packets.
    pub empty_bins: u64,
    /// Maximum [rate](ThroughputBin::wire_rate_bps) of a bin, in bits per second on the wire, link
    /// headers included. `None` if the capture covers less than half of each bin.
    pub peak_wire_rate_bps: Option<u64>,
}

impl BinTally {
    /// Adds a bin.
    #[inline]
    pub fn add(&mut self, bin: &ThroughputBin) {
        self.bins += 1;
        self.empty_bins += u64::from(bin.volume.packets == 0);
        self.peak_wire_rate_bps = self.peak_wire_rate_bps.max(bin.wire_rate_bps());
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tcpexp_units::TimeDelta;

    use super::*;
    use crate::throughput::{BinWidth, ThroughputOptions, ThroughputRow, throughput};
    use tcpexp_testkit::scripted::Scripted;

    #[test]
    fn empty_bins_are_counted_and_the_fullest_bin_is_the_peak() {
        let mut packets = Scripted::new(
            "
            0.000 > udp 972
            0.100 > udp 972
            2.500 > udp 472
            ",
        );
        let mut tally = BinTally::default();
        let width = BinWidth::new(TimeDelta::from_seconds(1)).unwrap();
        let counted = throughput(&mut packets, &ThroughputOptions::new(width), |row| {
            if let ThroughputRow::Bin(bin) = row
                && bin.flow.is_none()
                && bin.direction.is_none()
            {
                tally.add(&bin);
            }
            Ok::<(), Infallible>(())
        });
        let Ok(totals) = counted;
        let per_packet = 14 + 20 + 8;
        assert_eq!(totals.binned.packets, 3);
        let expected = BinTally {
            bins: 3,
            empty_bins: 1,
            peak_wire_rate_bps: Some(8 * 2 * (972 + per_packet)),
        };
        assert_eq!(tally, expected);
    }

    #[test]
    fn the_peak_is_a_rate_of_the_covered_time() {
        let peak = |script: &str| {
            let mut tally = BinTally::default();
            let width = BinWidth::new(TimeDelta::from_seconds(60)).unwrap();
            let options = ThroughputOptions::new(width);
            let Ok(_) = throughput(&mut Scripted::new(script), &options, |row| {
                if let ThroughputRow::Bin(bin) = row
                    && bin.flow.is_none()
                    && bin.direction.is_none()
                {
                    tally.add(&bin);
                }
                Ok::<(), Infallible>(())
            });
            tally.peak_wire_rate_bps
        };
        let bits = 8 * 2 * (972 + 14 + 20 + 8);
        let half = peak("\n0.000 > udp 972\n30.000 > udp 972\n");
        assert_eq!(half, Some(bits / 30));
        let less = peak("\n0.000 > udp 972\n29.000 > udp 972\n");
        assert_eq!(less, None);
    }
}
