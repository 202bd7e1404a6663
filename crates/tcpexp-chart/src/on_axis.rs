//! Lines of rates that would coincide with the axis.

/// A line whose peak is below 1/50 of the highest line's peak stays within a millimetre of the axis.
pub(crate) const MIN_SEEN: f64 = 50.0;
/// Share of the sum of all rates from which such lines are drawn: the share of the payload that makes a
/// flow a load in charts of distributions.
const MIN_LOAD: f64 = 0.01;

/// The peak of a line, and the sum of its rates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heights {
    pub(crate) peak: f64,
    pub(crate) sum: f64,
}

/// Whether each line is drawn: those on the axis are left out, unless together they carry a load.
pub(crate) fn seen(lines: &[Heights]) -> Vec<bool> {
    let most = lines.iter().map(|line| line.peak).fold(0.0, f64::max);
    let is_seen = |line: &Heights| line.peak >= most / MIN_SEEN;
    let all: f64 = lines.iter().map(|line| line.sum).sum();
    let unseen = lines.iter().filter(|line| !is_seen(line));
    let carry_load = unseen.map(|line| line.sum).sum::<f64>() >= all * MIN_LOAD;
    lines
        .iter()
        .map(|line| carry_load || is_seen(line))
        .collect()
}
