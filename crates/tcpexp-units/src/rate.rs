//! Display units of rates.

/// The display unit of all rates in one table or chart, so that they compare at a glance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateUnit {
    name: &'static str,
    bps: f64,
}

impl RateUnit {
    /// Chooses the unit for rates up to `highest_bps`: kbit/s below 1 Mbit/s, Gbit/s from 10 000
    /// Mbit/s, and Mbit/s between.
    pub fn of(highest_bps: u64) -> Self {
        let (name, bps) = match highest_bps {
            0..1_000_000 => ("kbit/s", 1e3),
            1_000_000..10_000_000_000 => ("Mbit/s", 1e6),
            _ => ("Gbit/s", 1e9),
        };
        Self { name, bps }
    }

    /// Name of the unit, such as `Mbit/s`.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Converts a rate in bits per second to this unit.
    pub fn value(self, bps: u64) -> f64 {
        bps as f64 / self.bps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_is_chosen_by_the_highest_rate() {
        let names = [999_999, 1_000_000, 9_999_999_999, 10_000_000_000]
            .map(|highest| RateUnit::of(highest).name());
        assert_eq!(names, ["kbit/s", "Mbit/s", "Mbit/s", "Gbit/s"]);
        assert!((RateUnit::of(2_500_000).value(2_500_000) - 2.5).abs() < 1e-12);
    }
}
