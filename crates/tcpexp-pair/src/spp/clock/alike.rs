//! Shifts of delays that the lengths of packets explain.

use std::cmp::Reverse;
use std::collections::HashMap;

use tcpexp_units::TimeDelta;

use super::jump::spread;
use super::track::FINE;
use crate::spp::crossing::Crossing;

/// Minimum number of packets of a length on each side.
const MIN_ALIKE: usize = 3;

/// Time of a byte on a link of 1 Mbit/s. A slower link is rare, and shorter packets differ less.
const SLOWEST_BYTE: TimeDelta = TimeDelta::from_micros(8);

/// True if the lengths of the packets before and after a place explain the `shift` of their clock
/// difference: a link takes longer for longer packets.
///
/// The lengths explain the shift if packets of one length on both sides do not show half of it. Without
/// such a length, they explain it if the side with the longer packets has the longer delays, by no more
/// than a slow link adds.
pub(super) fn is_of_lengths(sides: &[Vec<&Crossing>; 2], shift: TimeDelta) -> bool {
    if let Some(alike) = shift_of_alike(sides, usize::MAX) {
        return alike.abs() + alike.abs() < shift.abs();
    }
    let [before, after] = sides;
    let nearest = [
        &before[before.len().saturating_sub(FINE)..],
        &after[..FINE.min(after.len())],
    ];
    let [before, after] = nearest.map(|side| mean_of(side, |one| one.payload_bytes.into()));
    let [owd_before, owd_after] = nearest.map(|side| mean_of(side, |one| one.raw_owd().as_nanos()));
    let longer_bytes = after - before;
    let is_longer = (owd_after > owd_before) == (longer_bytes > 0);
    is_longer && shift.abs().as_nanos() <= longer_bytes.abs() * SLOWEST_BYTE.as_nanos()
}

/// True if the nearest packets of one length on both sides show half of the `shift` of their clock
/// difference; `None` without such a length.
///
/// Only the nearest packets count, because a saw-tooth clock drifts by the size of its steps over
/// many packets.
pub(super) fn shows_in_alike(sides: &[Vec<&Crossing>; 2], shift: TimeDelta) -> Option<bool> {
    let alike = shift_of_alike(sides, FINE)?;
    Some(alike.abs() + alike.abs() >= shift.abs())
}

fn mean_of(side: &[&Crossing], value: impl Fn(&Crossing) -> i64) -> i64 {
    let count = i64::try_from(side.len()).unwrap_or(i64::MAX).max(1);
    let sum = side
        .iter()
        .fold(0_i64, |sum, one| sum.saturating_add(value(one)));
    sum / count
}

/// Shift of the clock difference between the nearest `most` packets before and after a place, of the
/// length whose differences vary least; `None` if no length has [`MIN_ALIKE`] packets on both sides.
///
/// Queued packets can hide a step, and can also show a step where there is none.
fn shift_of_alike(sides: &[Vec<&Crossing>; 2], most: usize) -> Option<TimeDelta> {
    let mut by_length: HashMap<u32, [Vec<i64>; 2]> = HashMap::new();
    for (side, crossings) in sides.iter().enumerate() {
        for crossing in crossings {
            let alike = by_length.entry(crossing.payload_bytes).or_default();
            alike[side].push(crossing.difference().as_nanos());
        }
    }
    let shifts = by_length.into_iter().filter_map(|(length, mut alike)| {
        let count = alike[0].len().min(alike[1].len());
        let [before, after] = &mut alike;
        before.drain(..before.len().saturating_sub(most));
        after.truncate(most);
        for differences in &mut alike {
            differences.sort_unstable();
        }
        let [before, after] = alike.each_ref().map(|differences| {
            let middle = differences.get(differences.len() / 2);
            (middle.copied().unwrap_or(0), spread(differences))
        });
        let shift = TimeDelta::from_nanos(after.0.saturating_sub(before.0));
        let varies_ns = before.1.max(after.1);
        (count >= MIN_ALIKE).then_some((varies_ns, Reverse(count), length, shift))
    });
    shifts.min().map(|(.., shift)| shift)
}

#[cfg(test)]
mod tests {
    use tcpexp_units::Timestamp;

    use super::*;
    use crate::spp::crossing::PathDirection;

    /// Packets of these lengths, with the clock difference at each.
    fn crossings(packets: &[(u32, i64)]) -> Vec<Crossing> {
        let crossing = |&(payload_bytes, difference_ns)| Crossing {
            path_direction: PathDirection::Out,
            src_place: 0,
            dst_place: 0,
            src_time: Timestamp::from_nanos(0),
            dst_time: Timestamp::from_nanos(difference_ns),
            payload_bytes,
        };
        packets.iter().map(crossing).collect()
    }

    fn shift_ns(before: &[(u32, i64)], after: &[(u32, i64)]) -> Option<i64> {
        let sides = [before, after].map(crossings);
        let [before, after] = &sides;
        let sides = [before.iter().collect(), after.iter().collect()];
        shift_of_alike(&sides, usize::MAX).map(TimeDelta::as_nanos)
    }

    #[test]
    fn lengths_explain_a_shift_that_no_length_shows() {
        let short = [(40, 100), (40, 110), (40, 105), (1_200, 1_000)];
        let long = [
            (1_200, 1_010),
            (1_200, 990),
            (40, 104),
            (40, 106),
            (40, 105),
        ];
        assert_eq!(shift_ns(&short, &long), Some(0));
    }

    #[test]
    fn packets_that_do_not_queue_show_whether_there_is_a_step() {
        // Data queues, and acknowledgments do not.
        let data = [900, 1_800, 2_700, 3_600, 4_500];
        let packets = |queued: &[i64]| {
            let data = queued.iter().map(|&ns| (1_448, ns));
            data.chain([(0, 50), (0, 51), (0, 50)]).collect::<Vec<_>>()
        };
        let [before, after] = [packets(&data), packets(&data.map(|ns| ns + 3_000))];
        assert_eq!(shift_ns(&before, &after), Some(0));
    }

    #[test]
    fn a_step_shifts_packets_of_each_length() {
        let before = [(40, 100), (40, 110), (40, 105)];
        assert_eq!(
            shift_ns(&before, &before.map(|(length, ns)| (length, ns + 500))),
            Some(500)
        );
    }

    #[test]
    fn only_the_nearest_packets_of_a_length_show_a_step_of_a_drifting_clock() {
        // A saw-tooth: 10 ns per packet, and a step back by 400 ns after each 40 packets.
        let packets = |numbers: std::ops::Range<i64>| {
            let packets = numbers.map(|number| (40, number % 40 * 10));
            crossings(&packets.collect::<Vec<_>>())
        };
        let shown = |place: i64| {
            let [before, after] = [packets(0..place), packets(place..400)];
            let sides = [before.iter().collect(), after.iter().collect()];
            let all = shift_of_alike(&sides, usize::MAX).unwrap().as_nanos();
            (all, shows_in_alike(&sides, TimeDelta::from_nanos(-400)))
        };
        assert_eq!(shown(200), (0, Some(true)));
        assert_eq!(shown(220).1, Some(false));
    }

    fn explains(before: &[(u32, i64)], after: &[(u32, i64)], shift_ns: i64) -> bool {
        let sides = [before, after].map(crossings);
        let [before, after] = &sides;
        let sides = [before.iter().collect(), after.iter().collect()];
        is_of_lengths(&sides, TimeDelta::from_nanos(shift_ns))
    }

    #[test]
    fn longer_packets_explain_a_longer_delay_up_to_a_limit() {
        let short = [(40, 100_000), (60, 110_000), (80, 105_000)];
        let long = [(1_200, 1_000_000), (1_180, 990_000), (1_220, 1_010_000)];
        assert!(explains(&short, &long, 900_000));
        assert!(explains(&long, &short, -900_000));
        let longest = long.map(|(length, ns)| (length, ns + 20_000_000));
        assert!(!explains(&short, &longest, 20_000_000));
        let early = long.map(|(length, ns)| (length, ns - 2_000_000));
        assert!(!explains(&short, &early, -1_000_000));
    }

    #[test]
    fn different_lengths_show_nothing() {
        let before = [(40, 100), (40, 110), (40, 105)];
        assert_eq!(shift_ns(&before, &before.map(|(_, ns)| (1_200, ns))), None);
    }
}
