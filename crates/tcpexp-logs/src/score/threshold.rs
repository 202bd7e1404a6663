//! Epochs of a sender whose states nobody logged.

use tcpexp_measure::sender::{Phase, SenderSample};

use super::record::Epoch;

/// Reductions of the window, told by the falls of what the kernel logs as its threshold.
///
/// `tcp_probe` logs the threshold, or 3/4 of the window if that is more. This never falls while the
/// window grows, nor after an idle time, for then the threshold is raised to it first; it falls
/// when a reduction begins. So it does when slow start ends without a loss, but then to about the
/// window and not well below it; and with the window of a sender that sets its window freely, as BBR
/// does, but then little by little or to no new threshold, with few exceptions. The row before the fall is the ACK that began it; where a timer
/// did, that is up to a timeout too early.
///
/// It is over with the first ACK of all that had been sent when it began (RFC 6582, section 3.2).
/// The kind is not known, and a reduction that leaves the threshold where it was is not seen. Vegas
/// lowers its window when it leaves slow start, which looks like a reduction and is one.
pub(super) fn falls(samples: &[SenderSample]) -> Vec<Epoch> {
    let mut epochs: Vec<Epoch> = Vec::new();
    let (mut repaired_at, mut known) = (None, None);
    let rows: Vec<&SenderSample> = samples.iter().filter(|row| row.snd_nxt.is_some()).collect();
    for pair in rows.windows(2) {
        let [before, row] = [pair[0], pair[1]];
        if repaired_at.is_some_and(|high| row.snd_una >= Some(high)) {
            end(&mut epochs, before);
            repaired_at = None;
        }
        known = before.ssthresh_segments.or(known);
        if is_fall(before, row, known) {
            end(&mut epochs, before);
            epochs.push(Epoch {
                began: before.at,
                ended: None,
                kind: None,
                ssthresh_segments: None,
            });
            repaired_at = before.snd_nxt;
        }
    }
    epochs
}

/// Whether what stands for the threshold fell as only a reduction lets it fall.
///
/// Well below the window, to nine tenths: the mildest reduction of a congestion control is to 7/8,
/// and slow start ends at the window, or one segment below it. To a threshold that was known
/// before a fall is none unless only a reduction lets it show. And where 3/4 of the window stands
/// for it before and after, it fell by more than the window of BBR does from ACK to ACK.
fn is_fall(before: &SenderSample, row: &SenderSample, known: Option<u32>) -> bool {
    let (Some(was), Some(now)) = (logged(before), logged(row)) else {
        return false;
    };
    let (Some(cwnd), Some(cwnd_now)) = (before.cwnd_segments, row.cwnd_segments) else {
        return false;
    };
    let (was, now, cwnd) = (u64::from(was), u64::from(now), u64::from(cwnd));
    let is_told = match row.ssthresh_segments {
        Some(threshold) => known != Some(threshold) || threshold < three_quarters(cwnd_now),
        None => 20 * now <= 19 * was,
    };
    is_told && now < was && 10 * now < 9 * cwnd
}

fn end(epochs: &mut [Epoch], with: &SenderSample) {
    if let Some(epoch) = epochs.last_mut() {
        epoch.ended = epoch.ended.or(Some(with.at));
    }
}

/// What stood in the log: a threshold that is not known to be one is 3/4 of the window, or infinite
/// in slow start.
fn logged(row: &SenderSample) -> Option<u32> {
    let cwnd = row.cwnd_segments?;
    Some(match (row.ssthresh_segments, row.phase) {
        (Some(threshold), _) => threshold,
        (None, Some(Phase::SlowStart)) => u32::MAX,
        (None, _) => three_quarters(cwnd),
    })
}

/// As the kernel rounds it.
const fn three_quarters(cwnd: u32) -> u32 {
    (cwnd >> 1) + (cwnd >> 2)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::import::{Batch, Error, Format, import};

    fn epochs(log: &str) -> String {
        let mut all = Batch::default();
        let mut text =
            "time,snd_una,snd_nxt,snd_cwnd,ssthresh,src,dst,snd_wnd,srtt_us\n".to_owned();
        for row in log.split('\n').filter(|row| !row.trim().is_empty()) {
            let row: Vec<&str> = row.split_whitespace().collect();
            text += &row.join(",");
            text += ",10.0.0.1:4,10.0.0.2:5,65535,40000\n";
        }
        import(Format::TcpProbe, text.as_bytes(), |batch| {
            all.samples.extend(batch.samples);
            Ok::<_, Error>(())
        })
        .unwrap();
        let told: Vec<String> = falls(&all.samples)
            .iter()
            .map(|epoch| {
                let seconds = |at: tcpexp_units::Timestamp| at.as_nanos() / 1_000_000_000;
                format!("{} to {:?}", seconds(epoch.began), epoch.ended.map(seconds))
            })
            .collect();
        told.join("\n")
    }

    #[test]
    fn a_fall_begins_an_epoch_and_the_last_repair_ends_it() {
        assert_snapshot!(epochs("
            1   100 1100   20 2147483647
            2   200 1100   20 14
            3   900 1200   15 14
            4  1000 1200   14 14
            5  1100 1300   14 14
            6  1200 1300   14 14
        "), @"1 to Some(4)");
    }

    #[test]
    fn end_of_slow_start_and_growth_begin_none() {
        assert_snapshot!(epochs("
            1   100 1100   20 2147483647
            2   200 1200   21 21
            3   300 1300   22 21
            4   400 1400   40 30
            5   500 1500   10 30
        "), @"");
    }

    #[test]
    fn a_window_that_falls_without_a_new_threshold_begins_none() {
        assert_snapshot!(epochs("
            1   100 1100   60 62
            2   200 1200  100 75
            3   300 1300   99 73
            4   400 1400   98 73
            5   500 1500   60 62
            6   600 1600  200 150
            7   700 1700    4 62
        "), @"");
    }

    #[test]
    fn a_second_fall_ends_the_first_epoch() {
        assert_snapshot!(epochs("
            1   100 1100   20 30
            2   200 1100   20 10
            3   300 1100   10 10
            4   400 1100   10 5
            5  1100 1100    5 5
        "), @r"
        1 to Some(3)
        3 to Some(4)
        ");
    }
}
