//! Segments without IP ID and timestamps that a connection's progress shows to be sent only once.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use tcpexp_units::{TimeDelta, Timestamp};

use super::fields::FieldValues;
use super::repeats::Ends;
use super::sketch::Sketched;

/// What a capture shows first may be sent again from before it began. A sender that begins anew
/// after a timeout has sent all of it again, and gone on to new data, within a few round trips; the
/// initial timeout of RFC 6298, section 2.1 stands for these.
const SETTLED_AFTER: TimeDelta = TimeDelta::from_seconds(1);
/// Fewer segments that advance their direction show no steady progress.
const LEAST_ADVANCING: usize = 16;

/// Those of `common`, in order of the source's records, that advance their direction at both points
/// after both captures have settled; `begins` are the times of the captures' first packets.
///
/// Data beyond all that was sent before, or an acknowledgment beyond all before, is no
/// retransmission of what the captures show. It could repeat only what left before they began.
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
        let is_settled = a.time - begins[0] >= SETTLED_AFTER && b.time - begins[1] >= SETTLED_AFTER;
        if front.advances(&a, &b) && is_settled {
            front.segments += 1;
            advancing.push((a, b));
        }
    }
    advancing.retain(|(a, _)| {
        let front = fronts.get(&a.fields.ends());
        front.is_some_and(|front| front.segments >= LEAST_ADVANCING)
    });
    advancing
}

/// How far one direction of a connection has come.
#[derive(Default)]
struct Front {
    /// End of the data sent so far and the highest acknowledgment.
    reached: Option<(u32, u32)>,
    /// The destination's record of the segment that reached it.
    dst_record: u64,
    segments: usize,
}

impl Front {
    /// Whether a segment is beyond all before it at both points.
    fn advances(&mut self, a: &Sketched, b: &Sketched) -> bool {
        let FieldValues {
            seq,
            ack,
            payload_bytes,
            ..
        } = a.fields;
        let end = seq.wrapping_add(payload_bytes);
        let Some((last_end, last_ack)) = self.reached else {
            (self.reached, self.dst_record) = (Some((end, ack)), b.record);
            return false;
        };
        let is_beyond = |value: u32, other: u32| value.wrapping_sub(other).cast_signed() > 0;
        let is_new = if payload_bytes > 0 {
            !is_beyond(last_end, seq)
        } else {
            is_beyond(ack, last_ack)
        };
        let is_ordered = b.record > self.dst_record;
        if is_new {
            let later = |value, last| if is_beyond(value, last) { value } else { last };
            self.reached = Some((later(end, last_end), later(ack, last_ack)));
            self.dst_record = self.dst_record.max(b.record);
        }
        is_new && is_ordered
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::Packets;
    use crate::scripted::Scripted;
    use crate::spp::Survey;

    /// How many segments of a connection that was open before advance, each acknowledged 10 ms
    /// after it arrives; `sent_again` are retransmissions of the same data in place of new data.
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
    fn data_that_goes_on_for_seconds_advances() {
        assert!(advancing_of(200, 10, false) >= 90);
    }

    #[test]
    fn window_that_may_be_sent_again_does_not_advance() {
        assert_eq!(advancing_of(64, 1, false), 0);
        assert_eq!(advancing_of(200, 10, true), 0);
    }
}
