//! FNV-1a with 64 bits: a hash that is stable across platforms and versions.

/// The hash of `bytes`, in hex.
pub fn hex(bytes: &[u8]) -> String {
    format!("{:016x}", fnv(bytes))
}

/// The hash of `bytes`.
pub fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_matches_published_values() {
        // Test vectors of draft-eastlake-fnv.
        assert_eq!(hex(b""), "cbf29ce484222325");
        assert_eq!(hex(b"foobar"), "85944171f73967e8");
    }
}
