//! Round-trip times and the queueing delay in them.

use tcpexp_units::TimeDelta;

use super::group::Group;
use super::measures::{Measure, Values};
use super::rates::mean;
use crate::quantile::percentiles;
use crate::transfer::buffer_delay_percent;

pub(super) fn measure(group: &Group<'_>, values: &mut Values) {
    // Round-trip times of the others would describe another set of senders.
    if group.is_captured_elsewhere() {
        return;
    }
    let bases = group.senders.iter().filter_map(|sender| sender.base_rtt);
    let base = bases.min().map(TimeDelta::as_millis_f64);
    values.set(Measure::BaseRtt, base);
    let (mut rtts, mut induced, mut delays) = (Vec::new(), Vec::new(), Vec::new());
    for sender in &group.senders {
        let window = sender.active.meet(group.window);
        for (_, rtt) in sender.rtts.iter().filter(|(at, _)| window.holds(*at)) {
            rtts.push(rtt.as_millis_f64());
            // Each sample is compared with the base of its own sender, because paths may differ.
            if let Some(base) = sender.base_rtt {
                induced.push((*rtt - base).as_millis_f64());
                let base = base.as_millis_f64();
                delays.extend(buffer_delay_percent(rtt.as_millis_f64(), base));
            }
        }
    }
    values.set(Measure::RttMean, mean(&rtts));
    let rtt = [
        Measure::RttMin,
        Measure::RttMedian,
        Measure::RttP95,
        Measure::RttP99,
    ];
    values.set_all(rtt, percentiles(&mut rtts, [0.0, 0.5, 0.95, 0.99]));
    let induced_rtt = [Measure::InducedRttMedian, Measure::InducedRttP95];
    values.set_all(induced_rtt, percentiles(&mut induced, [0.5, 0.95]));
    // Where all senders share a base, the mean of these ratios equals RFC 6349's ratio of the mean.
    values.set(Measure::BufferDelay, mean(&delays));
}
