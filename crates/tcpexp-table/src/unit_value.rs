//! Values with a unit, such as `20ms`, for columns of numbers whose names end in a unit.

use tcpexp_units::{BitRate, Buffer, ByteCount, Share, TimeDelta};

/// Reads a value in the smallest unit of its kind.
type Read = fn(&str) -> Option<f64>;

/// Endings of the names of columns, what reads a value for them, and the size of their unit in the smallest
/// unit.
const ENDINGS: [(&str, Read, f64); 15] = [
    ("_ns", nanos, 1.0),
    ("_us", nanos, 1e3),
    ("_ms", nanos, 1e6),
    ("_s", nanos, 1e9),
    ("_bps", bits_per_second, 1.0),
    ("_kbps", bits_per_second, 1e3),
    ("_mbps", bits_per_second, 1e6),
    ("_gbps", bits_per_second, 1e9),
    ("_bytes", bytes, 1.0),
    ("_kb", bytes, 1e3),
    ("_percent", billionths, 1e7),
    ("_share", billionths, 1e9),
    ("_ratio", billionths, 1e9),
    ("_packets", packets, 1.0),
    ("_bdp", thousandths_of_bdp, 1e3),
];

/// Converts a value with a unit to the unit of a column; `None` if the column has no such unit.
pub(crate) fn in_unit_of(column: &str, value: &str) -> Option<f64> {
    let (_, read, unit) = ENDINGS
        .into_iter()
        .find(|(ending, ..)| column.ends_with(ending))?;
    Some(read(value)? / unit)
}

fn nanos(value: &str) -> Option<f64> {
    Some(value.parse::<TimeDelta>().ok()?.as_nanos() as f64)
}

fn bits_per_second(value: &str) -> Option<f64> {
    Some(value.parse::<BitRate>().ok()?.as_bps() as f64)
}

fn bytes(value: &str) -> Option<f64> {
    Some(value.parse::<ByteCount>().ok()?.as_bytes() as f64)
}

fn billionths(value: &str) -> Option<f64> {
    Some(f64::from(value.parse::<Share>().ok()?.as_ppb()))
}

fn packets(value: &str) -> Option<f64> {
    match value.parse().ok()? {
        Buffer::Packets(packets) => Some(packets as f64),
        _ => None,
    }
}

fn thousandths_of_bdp(value: &str) -> Option<f64> {
    match value.parse().ok()? {
        Buffer::Bdp { thousandths } => Some(thousandths as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_the_unit_of_their_column() {
        for (column, value, number) in [
            ("delay_ms", "1.5s", Some(1_500.0)),
            ("owd_ns", "-2us", Some(-2_000.0)),
            ("duration_s", "2min", Some(120.0)),
            ("goodput_bps", "10mbit", Some(1e7)),
            ("rate_mbps", "500kbit", Some(0.5)),
            ("payload_bytes", "64KiB", Some(65_536.0)),
            ("loss_percent", "0.5%", Some(0.5)),
            ("loss_ratio", "0.5%", Some(0.005)),
            ("buffer_packets", "90p", Some(90.0)),
            ("buffer_bdp", "0.5bdp", Some(0.5)),
            ("delay_ms", "10mbit", None),
            ("delay_ms", "20", None),
            ("senders", "20ms", None),
        ] {
            assert_eq!(in_unit_of(column, value), number, "{column} {value}");
        }
    }
}
