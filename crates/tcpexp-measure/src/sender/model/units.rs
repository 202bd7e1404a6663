//! The fixed-point numbers of BBR: bandwidths in segments per microsecond, times [`UNIT`]; gains in
//! 1/256.

use tcpexp_units::TimeDelta;

/// Scale of a bandwidth (`BW_SCALE`).
pub(super) const SCALE: u32 = 24;
/// One segment per microsecond (`BW_UNIT`).
pub(super) const UNIT: u64 = 1 << SCALE;
/// A gain of 1 (`BBR_UNIT`).
pub(super) const ONE: u64 = 1 << 8;
/// Rate below which super-packets have one segment (`bbr_min_tso_rate`), in bytes per second.
const SMALL_RATE: u64 = 1_200_000 / 8;
/// Part of a second that a super-packet takes at the pacing rate: 1/1024 (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// Greatest super-packet in bytes (`GSO_LEGACY_MAX_SIZE`), less its headers.
const MOST_SUPER_BYTES: u64 = 65_536 - 1 - 320;

/// Bytes per second, with Linux's margin of 1 % (`bbr_rate_bytes_per_sec`).
pub(super) fn pacing_rate(bandwidth: u64, gain: u64, smss_bytes: u32) -> u64 {
    let rate = u128::from(bandwidth) * u128::from(smss_bytes) * u128::from(gain);
    let rate = (rate >> 8) * 1_000_000 / 100 * 99;
    u64::try_from(rate >> SCALE).unwrap_or(u64::MAX)
}

pub(super) fn percent(gain: u64) -> u16 {
    u16::try_from((gain * 100 + ONE / 2) / ONE).unwrap_or(u16::MAX)
}

pub(super) fn micros(span: TimeDelta) -> u64 {
    u64::try_from(span.as_nanos() / 1_000).unwrap_or(0)
}

/// Segments per super-packet at a pacing rate in bytes per second (`bbr_tso_segs_goal`).
pub(super) fn super_segments(pacing_rate: u64, smss_bytes: u32) -> u32 {
    let least = if pacing_rate < SMALL_RATE { 1 } else { 2 };
    let bytes = (pacing_rate >> PACING_SHIFT).min(MOST_SUPER_BYTES);
    let segments = bytes / u64::from(smss_bytes.max(1));
    u32::try_from(segments.clamp(least, 0x7F)).unwrap_or(2)
}
