//! Lost events that a kernel's trace reports.

/// Number of events that `text` marks as lost, or 1 if the mark has no number; `None` if it is no such mark.
///
/// tracefs prints `CPU:1 [LOST 27 EVENTS]` or `CPU:1 [LOST EVENTS]` (`print_trace_line` of Linux), and
/// trace-cmd `CPU:1 [27 EVENTS DROPPED]` or `CPU:1 [EVENTS DROPPED]`. `perf script --show-lost-events` prints
/// `PERF_RECORD_LOST lost 27`.
pub(super) fn lost(text: &str) -> Option<u64> {
    if let Some((_, record)) = text.split_once(": PERF_RECORD_LOST") {
        return record.split_once(" lost ")?.1.trim().parse().ok();
    }
    let (_, mark) = text.trim().strip_prefix("CPU:")?.split_once(" [")?;
    let mark = mark.strip_suffix(']')?;
    let of_tracefs = || mark.strip_prefix("LOST")?.strip_suffix("EVENTS");
    let count = of_tracefs().or_else(|| mark.strip_suffix("EVENTS DROPPED"))?;
    match count.trim() {
        "" => Some(1),
        count => count.parse().ok(),
    }
}

/// Number of events that the kernel overwrote before the trace was read, if `text` is the comment of the trace
/// that states it: `# entries-in-buffer/entries-written: 140080/250280   #P:4`.
pub(super) fn overwritten(text: &str) -> Option<u64> {
    let (_, counts) = text.split_once("entries-in-buffer/entries-written:")?;
    let (kept, written) = counts.split_ascii_whitespace().next()?.split_once('/')?;
    let (kept, written): (u64, u64) = (kept.parse().ok()?, written.parse().ok()?);
    written.checked_sub(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::Format;
    use crate::import::log::{lines, read, rows_of};

    #[test]
    fn marks_of_lost_events_state_their_number() {
        assert_eq!(lost("CPU:1 [LOST 27 EVENTS]"), Some(27));
        assert_eq!(lost("CPU:12 [LOST EVENTS]"), Some(1));
        assert_eq!(lost("CPU:0 [27 EVENTS DROPPED]"), Some(27));
        assert_eq!(lost("CPU:0 [EVENTS DROPPED]"), Some(1));
        assert_eq!(lost("x 30 [001] 7.6: PERF_RECORD_LOST lost 27"), Some(27));
        assert_eq!(lost("CPU:0 [SOMETHING ELSE]"), None);
        let header = |counts| format!("# entries-in-buffer/entries-written: {counts}   #P:4");
        assert_eq!(overwritten(&header("80/250")), Some(170));
        assert_eq!(overwritten(&header("250/250")), Some(0));
        assert_eq!(overwritten("# tracer: nop"), None);
    }

    #[test]
    fn lost_events_are_counted() {
        let (batch, report) = read(
            Format::TcpProbe,
            &lines("
            # entries-in-buffer/entries-written: 2/5   #P:1
            x-1 [0] . 1.0: tcp_probe: src=10.0.0.1:4 dest=10.0.0.2:5 snd_nxt=0x2 snd_una=0x1 snd_cwnd=1 ssthresh=9 snd_wnd=9 srtt=0
            CPU:0 [LOST 27 EVENTS]
        "),
        );
        assert_eq!((batch.lost_events, report.lost_events), (30, 30));
        assert_eq!((report.passed_over, report.unusable()), (2, 0));
        assert_eq!(
            report.gaps(),
            [
                "the kernel lost at least 30 events of this trace: counts of retransmissions and of state changes may be too low"
            ]
        );
    }

    #[test]
    fn after_lost_events_the_congestion_state_is_unknown() {
        let state = |at: &str, state: u32| {
            format!(
                "x-1 [0] . {at}: tcp_cong_state_set: saddr=10.0.0.1 daddr=10.0.0.2 sport=4 dport=5 cong_state={state}"
            )
        };
        let probe = |at: &str| {
            format!(
                "x-1 [0] . {at}: tcp_probe: src=10.0.0.1:4 dest=10.0.0.2:5 snd_nxt=0x2 snd_una=0x1 snd_cwnd=8 ssthresh=6 snd_wnd=9 srtt=0"
            )
        };
        let log = [
            state("1.1", 3),
            probe("1.2"),
            "CPU:0 [LOST 27 EVENTS]".to_owned(),
            probe("1.3"),
            state("1.4", 4),
            probe("1.5"),
        ];
        insta::assert_snapshot!(rows_of(Format::TcpProbe, &log.join("\n")), @r"
        flow 0: 10.0.0.1:4 to 10.0.0.2:5
        1200000000 0 forward: una 1 nxt 2 flight 1 cwnd 8 ssthresh 6 phase fast_recovery epoch 0 usable 8
        1300000000 0 forward: una 1 nxt 2 flight 1 cwnd 8 usable 8
        1500000000 0 forward: una 1 nxt 2 flight 1 cwnd 8 phase loss_recovery epoch 1 usable 8
        ");
    }
}
