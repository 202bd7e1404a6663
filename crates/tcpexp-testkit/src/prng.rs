//! Random numbers that are identical on every machine and in every version.

/// A small seeded generator (`SplitMix64`); equal seeds give equal numbers.
#[derive(Clone, Debug)]
pub struct Prng(u64);

impl Prng {
    /// Creates a generator that starts at `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The upper half of the product is below `bound` and needs no division.
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns true with a probability of `ppm` parts per million.
    pub fn chance_ppm(&mut self, ppm: u32) -> bool {
        ppm > 0 && self.below(1_000_000) < u64::from(ppm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frequency_matches_the_probability_within_a_tenth() {
        let mut prng = Prng::new(7);
        let hits = (0..1_000_000).filter(|_| prng.chance_ppm(10_000)).count();
        assert!((9_000..11_000).contains(&hits), "{hits}");
    }
}
