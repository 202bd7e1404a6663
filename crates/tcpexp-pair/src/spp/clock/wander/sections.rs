//! Drift of the clocks over the whole captures, from the smallest delays of their sections.

use super::bins::Bin;

/// Number of sections of the captures whose smallest delays are compared: a queue empties in each.
pub(super) const SECTIONS: usize = 8;

/// Change of the clock difference over the captures that the smallest delays of the sections allow,
/// on the way where it is smaller; `None` with fewer than two sections.
pub(super) fn change_of_floors(bins: &[Bin]) -> Option<i64> {
    let sections = sections(bins);
    let floors: Vec<[i64; 2]> = sections
        .iter()
        .map(|section| {
            [0, 1].map(|way: usize| {
                let lows = section.iter().map(|bin| bin.low_ns[way]);
                lows.min().unwrap_or(0)
            })
        })
        .collect();
    let changes = [0, 1].map(|way: usize| {
        let floors = || floors.iter().map(|floors| floors[way]);
        let (least, most) = (floors().min(), floors().max());
        most.unwrap_or(0).saturating_sub(least.unwrap_or(0))
    });
    // At a constant rate, the floors of the first and the last section are less apart than the ends of
    // the captures, by at most a section.
    let count = bins.len().div_ceil(section_length(bins));
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let change = changes[0].min(changes[1]).saturating_mul(count);
    change.checked_div(count - 1)
}

/// Number of bins in a section that is not near an end.
fn section_length(bins: &[Bin]) -> usize {
    bins.len().div_ceil(SECTIONS).max(1)
}

/// The sections of the captures. Towards both ends, they are shorter and shorter: a step within the
/// first or the last section would lower the floor of one way only.
fn sections(bins: &[Bin]) -> Vec<&[Bin]> {
    let mut sections: Vec<&[Bin]> = bins.chunks(section_length(bins)).collect();
    if sections.len() < 2 {
        return sections;
    }
    while let Some(first) = sections.first().copied()
        && first.len() > 1
    {
        let halves = first.split_at(first.len() / 2);
        sections.splice(..1, [halves.0, halves.1]);
    }
    while let Some(last) = sections.last().copied()
        && last.len() > 1
    {
        let halves = last.split_at(last.len().div_ceil(2));
        sections.splice(sections.len() - 1.., [halves.0, halves.1]);
    }
    sections
}

#[cfg(test)]
mod tests {
    use tcpexp_units::Timestamp;

    use super::*;
    use crate::spp::clock::wander::bins::bins;
    use crate::spp::clock::wander::bins::tests::{STEP_NS, passages};
    use crate::spp::point::Point;

    #[test]
    fn sections_cover_all_bins_in_order() {
        for count in 0..100 {
            let numbered =
                |number: i64| Bin::of(Timestamp::from_nanos(number), &mut [vec![0], vec![0]]);
            let bins: Vec<Bin> = (0..count).map(numbered).collect();
            let covered = sections(&bins).concat();
            assert!(
                covered
                    .iter()
                    .map(|bin| bin.from)
                    .eq(bins.iter().map(|bin| bin.from))
            );
            assert!(sections(&bins).iter().all(|section| !section.is_empty()));
        }
    }

    #[test]
    fn step_near_an_end_is_part_of_the_drift() {
        for after in [24, 40, 480, 600, 616] {
            let bins = bins(&passages(640, after), Point::Src);
            assert!(bins.len() > 2 * SECTIONS);
            let change = change_of_floors(&bins).unwrap();
            assert!(
                (STEP_NS..2 * STEP_NS).contains(&change),
                "{after}: {change}"
            );
        }
    }
}
