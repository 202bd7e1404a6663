//! Packets missed by a capture, as opposed to packets lost on the path.

use std::fmt;

use tcpexp_units::counted;

use super::PathTotals;
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
    /// Packets towards this point that the path certainly lost.
    pub lost: u64,
}

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
            }
        })
    }

    /// True if the capture missed packets or may have missed packets.
    pub fn is_shown(&self) -> bool {
        self.missed > 0 || self.lost_or_missed > 0
    }
}

impl fmt::Display for CaptureLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            point,
            missed,
            lost_or_missed,
            lost,
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
        };
        assert_eq!(
            loss.to_string(),
            "the capture at dst missed at least 12 packets, not counted as lost; \
             of those on their way to dst the path lost between 7 and 10"
        );
    }
}
