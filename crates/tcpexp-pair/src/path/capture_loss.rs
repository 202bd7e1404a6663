//! Packets missed by a capture, as opposed to packets lost on the path.

use std::fmt;

use tcpexp_units::counted;

use super::{PathSummary, PathTotals};
use crate::spp::{PathDirection, Point};

/// The packets missed by the capture at one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLoss {
    /// Point of the capture.
    pub point: Point,
    /// Packets that certainly passed the point but are missing in its capture: they arrived at the
    /// other point, or the host behind this point acknowledged them.
    pub missed: u64,
    /// Packets missing in this capture that the path lost or the capture missed.
    pub lost_or_missed: u64,
    /// Packets towards this point that the path lost, if this capture missed none of them.
    pub lost: u64,
    /// Upper bound of the packets of `lost` that the path did not lose: this capture missed them, and
    /// nothing shows that it misses packets.
    pub possibly_missed: u64,
}

/// Probability that a bound of [`CaptureLoss::possibly_missed`] is too low, if packets are missed at
/// random.
const UNLIKELY: f64 = 1e-6;

impl CaptureLoss {
    /// Capture losses at both points, indexed by [`Point::index`].
    pub fn of(totals: &PathTotals) -> [Self; 2] {
        Point::BOTH.map(|point| {
            let towards = match point {
                Point::Src => PathDirection::Back,
                Point::Dst => PathDirection::Out,
            };
            let path_direction = &totals.path_directions[towards.index()];
            Self {
                point,
                missed: totals.totals.unseen[point.index()] + path_direction.missed(),
                lost_or_missed: path_direction.lost_or_missed(),
                lost: path_direction.lost(),
                possibly_missed: possibly_missed(
                    path_direction,
                    &totals.path_directions[towards.opposite().index()],
                ),
            }
        })
    }

    /// Describes how many of the lost packets the capture may have missed; `None` if none.
    pub fn doubt(&self) -> Option<String> {
        (self.possibly_missed > 0).then(|| {
            format!(
                "of {} lost on their way to {}, the capture there may have missed up to {}: nothing shows that they did not arrive",
                counted(self.lost, "packet"),
                self.point,
                self.possibly_missed
            )
        })
    }

    /// True if the capture missed packets, or may have missed packets for a reason that the captures
    /// show.
    pub fn is_shown(&self) -> bool {
        self.missed > 0 || self.lost_or_missed > 0
    }
}

/// Upper bound of the packets counted as lost that the capture of a point missed.
///
/// # Proof of the bound
///
/// A packet that the capture misses as it leaves the point is seen at the other point only, which
/// proves the miss. No packet has proved one. If the capture misses each packet with the same
/// probability, all of k missed packets are among those that arrive with probability
/// `(a / (a + d))^k`, where `a` packets arrive or may have arrived and `d` packets leave. The bound is
/// the largest k for which this exceeds [`UNLIKELY`].
///
/// A capture that falls behind misses several packets in a row, so each miss counts as the number
/// of packets in the longest run of losses.
fn possibly_missed(towards: &PathSummary, from: &PathSummary) -> u64 {
    let longest_run = towards.losses.longest.unwrap_or(1);
    let missed = most_hidden(towards.sent(), from.delivered()).saturating_mul(longest_run);
    missed.min(towards.lost_unproven())
}

/// The largest number of missed packets that may all be among the `arriving` ones.
fn most_hidden(arriving: u64, leaving: u64) -> u64 {
    let (arriving, leaving) = (arriving as f64, leaving as f64);
    let hidden = arriving / (arriving + leaving);
    // Without packets that leave, the quotient is infinite.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates"
    )]
    let most = (UNLIKELY.ln() / hidden.ln()).abs() as u64;
    most
}

impl fmt::Display for CaptureLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            point,
            missed,
            lost_or_missed,
            lost,
            possibly_missed: _,
        } = self;
        if *missed > 0 {
            let packets = counted(missed, "packet");
            write!(
                f,
                "the capture at {point} missed at least {packets}, not counted as lost"
            )?;
        } else {
            write!(f, "the capture at {point} may have missed packets")?;
        }
        if *lost_or_missed > 0 {
            let most = lost + lost_or_missed;
            write!(
                f,
                "; of those on their way to {point} the path lost between {lost} and {most}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_without_a_proven_miss_may_have_missed_packets() {
        let loss = CaptureLoss {
            point: Point::Src,
            missed: 0,
            lost_or_missed: 2,
            lost: 1,
            possibly_missed: 0,
        };
        assert_eq!(
            loss.to_string(),
            "the capture at src may have missed packets; of those on their way to src the path lost \
             between 1 and 3"
        );
    }

    #[test]
    fn path_loss_lies_between_certain_and_possible_losses() {
        let loss = CaptureLoss {
            point: Point::Dst,
            missed: 12,
            lost_or_missed: 3,
            lost: 7,
            possibly_missed: 0,
        };
        assert_eq!(
            loss.to_string(),
            "the capture at dst missed at least 12 packets, not counted as lost; \
             of those on their way to dst the path lost between 7 and 10"
        );
    }

    #[test]
    fn misses_remain_hidden_longest_where_few_packets_would_prove_them() {
        let most = |leaving| most_hidden(1_000, leaving);
        assert_eq!(most(1_000), 19, "2^-19 exceeds one in a million");
        assert_eq!(most(100_000), 2);
        assert_eq!(most(1), 13_822);
        assert_eq!(most(0), u64::MAX);
        assert_eq!(most_hidden(0, 1_000), 0);
    }

    #[test]
    fn doubt_names_the_lost_packets_and_the_bound() {
        let loss = CaptureLoss {
            point: Point::Dst,
            missed: 0,
            lost_or_missed: 0,
            lost: 153,
            possibly_missed: 102,
        };
        assert_eq!(
            loss.doubt().unwrap(),
            "of 153 packets lost on their way to dst, the capture there may have missed up to 102: \
             nothing shows that they did not arrive"
        );
        assert!(!loss.is_shown());
    }
}
