//! Segments without IP ID and timestamps that the progress of their connection proves to be
//! originals.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use tcpexp_flow::is_after;
use tcpexp_units::{TimeDelta, Timestamp};

use super::fields::{Ends, FieldValues};
use super::sketch::Sketched;

/// The first segments of a capture may be retransmissions from before it began. A sender that
/// restarts after a timeout retransmits all of it and reaches new data within a few round trips;
/// the initial timeout of RFC 6298, section 2.1, approximates this time.
const SETTLED_AFTER: TimeDelta = TimeDelta::from_seconds(1);
/// Fewer advancing segments than this show no steady progress.
const MIN_ADVANCING: usize = 16;

/// Returns the segments of `common` that advance their direction at both points after both captures
/// have settled. `common` is in the order of the source capture; `begins` holds the first packet time
/// of each capture.
///
/// Data beyond all earlier data, or an acknowledgment beyond all earlier ones, is no retransmission
/// of anything in the captures. It could repeat only packets from before the captures began.
pub(super) fn advancing(
    common: &[(Sketched, Sketched)],
    begins: [Timestamp; 2],
) -> Vec<(Sketched, Sketched)> {
    let mut fronts: HashMap<Ends, Front, FixedState> = HashMap::default();
    let mut advancing = Vec::new();
    for &(a, b) in common {
        if !a.fields.is_tcp {
            continue;
        }
        let front = fronts.entry(a.fields.ends()).or_default();
        if front.advances(&a, &b) && is_settled(&a, &b, begins) {
            front.segments += 1;
            advancing.push((a, b));
        }
    }
    advancing.retain(|(a, _)| {
        let front = fronts.get(&a.fields.ends());
        front.is_some_and(|front| front.segments >= MIN_ADVANCING)
    });
    advancing
}

/// True if a packet passes both points after both captures have settled; `begins` holds the first packet time
/// of each capture.
pub(super) fn is_settled(a: &Sketched, b: &Sketched, begins: [Timestamp; 2]) -> bool {
    a.time - begins[0] >= SETTLED_AFTER && b.time - begins[1] >= SETTLED_AFTER
}

/// Progress of one direction of a connection.
#[derive(Default)]
struct Front {
    /// End of the data sent so far, and the highest acknowledgment number.
    reached: Option<(u32, u32)>,
    /// Place of the latest advancing segment in the destination capture.
    dst_place: u64,
    segments: usize,
}

impl Front {
    /// True if a segment is beyond all earlier ones at both points.
    fn advances(&mut self, a: &Sketched, b: &Sketched) -> bool {
        let FieldValues {
            seq,
            ack,
            payload_bytes,
            ..
        } = a.fields;
        let end = seq.wrapping_add(payload_bytes);
        // The first segment may itself be a retransmission.
        let Some((last_end, last_ack)) = self.reached else {
            (self.reached, self.dst_place) = (Some((end, ack)), b.place);
            return false;
        };
        let is_new = if payload_bytes > 0 {
            !is_after(last_end, seq)
        } else {
            is_after(ack, last_ack)
        };
        let is_ordered = b.place > self.dst_place;
        if is_new {
            let later = |value, last| if is_after(value, last) { value } else { last };
            self.reached = Some((later(end, last_end), later(ack, last_ack)));
            self.dst_place = self.dst_place.max(b.place);
        }
        is_new && is_ordered
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::spp::Survey;
    use tcpexp_flow::Packets;
    use tcpexp_testkit::scripted::Scripted;

    /// Number of advancing segments of a connection that was already open, each delayed by 20 ms.
    /// With `sent_again`, retransmissions of the same data replace new data.
    fn advancing_of(segments: u32, apart_ms: u32, sent_again: bool) -> usize {
        let mut lines = [Vec::new(), Vec::new()];
        for segment in 0..segments {
            let number = if sent_again { segment % 8 } else { segment };
            let (start, end) = (1 + number * 1000, 1001 + number * 1000);
            let sent = f64::from(segment * apart_ms) / 1e3;
            for (point, delay) in [0.0, 0.020].into_iter().enumerate() {
                lines[point].push(format!(
                    "{:.4} > {start}:{end}(1000) ack 1 id 0",
                    sent + delay
                ));
            }
        }
        let surveys = lines.map(|lines| {
            let mut survey = Survey::default();
            let mut capture = Scripted::new(&lines.join("\n"));
            capture.show(usize::MAX, |sighted| survey.observe(sighted));
            survey
        });
        let begins = [0, 1].map(|i| surveys[i].first.unwrap().1);
        let [mut src, mut dst] = surveys;
        let common = src.by_endpoints.common(&mut dst.by_endpoints);
        advancing(&common.once, begins).len()
    }

    #[test]
    fn data_sent_over_seconds_advances() {
        assert!(advancing_of(200, 10, false) >= 90);
    }

    #[test]
    fn window_that_may_be_retransmitted_does_not_advance() {
        assert_eq!(advancing_of(64, 1, false), 0);
        assert_eq!(advancing_of(200, 10, true), 0);
    }
}
