//! Short traces and the reconstructed states of their senders.

use std::convert::Infallible;
use std::fmt::Write;

use insta::assert_snapshot;
use tcpexp_flow::Direction;

use super::*;
use crate::Position;
use tcpexp_testkit::scripted::Scripted;
use tcpexp_units::TimeDelta;

mod ecn;
mod missed_acks;
mod missed_data;
mod open;
mod partial;
mod receiver;
mod recovery;
mod repair;
mod silence;
mod stretch;
mod syns;
mod timeout;

/// All rows of a script's senders.
fn rows(text: &str, options: SenderOptions) -> Vec<SenderRow> {
    let (hindsight, _) = Hindsight::of(&mut Scripted::new(text));
    let mut rows = Vec::new();
    let measured: Result<_, Infallible> =
        sender_state(&mut Scripted::new(text), &hindsight, options, |batch| {
            rows.extend(batch);
            Ok(())
        });
    assert!(measured.is_ok());
    rows
}

/// Rows of a capture taken at the client, which sends; samples as
/// `una+flight pipe cwnd source phase`, counted in bytes from the first byte and in segments.
fn replay(text: &str) -> String {
    render(rows(
        text,
        SenderOptions {
            position: Some(Position::Sender),
            ..SenderOptions::default()
        },
    ))
}

fn render(rows: Vec<SenderRow>) -> String {
    let mut lines = String::new();
    let mut first = None;
    for row in rows {
        match row {
            SenderRow::Sample(s) if s.direction == Direction::Forward => {
                let una = s.snd_una.map(|una| una.since(*first.get_or_insert(una)));
                let flight = una.zip(s.flight_size_bytes);
                let flight =
                    flight.map_or("-".to_owned(), |(una, flight)| format!("{una}+{flight}"));
                let number = |n: Option<u32>| n.map_or("-".to_owned(), |n| n.to_string());
                let (pipe, cwnd) = (number(s.pipe_segments), number(s.cwnd_segments));
                let phase = s.phase.map_or("-", Phase::name);
                let source = s.cwnd_source.name();
                writeln!(lines, "{flight} pipe {pipe} cwnd {cwnd} {source} {phase}").unwrap();
            }
            SenderRow::Recovery(epoch) => {
                let ssthresh = epoch.ssthresh_segments;
                let undone = if epoch.was_undone { " undone" } else { "" };
                let kind = epoch.kind.name();
                writeln!(
                    lines,
                    "recovery {} {kind} to {ssthresh:?}{undone}",
                    epoch.epoch
                )
                .unwrap();
            }
            SenderRow::Retransmission(retransmitted) => {
                writeln!(lines, "retransmitted {}", retransmitted.cause.name()).unwrap();
            }
            SenderRow::Sample(_) | SenderRow::Summary(_) => {}
        }
    }
    lines
}

/// Five segments; the first is lost and retransmitted after three others have arrived.
fn lossy(rest: &str) -> String {
    format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900
        0.041003 > 2965:3953(988) ts 41 900
        0.041004 > 3953:4941(988) ts 41 900
        0.082000 < ack 1 sack 989:1977 ts 941 41
        0.083000 < ack 1 sack 989:2965 ts 942 41
        0.084000 < ack 1 sack 989:3953 ts 943 41
        0.084010 > 1:989(988) ts 84 943
        0.085000 < ack 1 sack 989:4941 ts 944 41
        0.085010 > 4941:5929(988) ts 85 944
        0.125000 < ack 4941 ts 984 84
        0.125010 > 5929:6917(988) ts 125 984
        0.166000 < ack 6917 ts 1025 125
        {rest}"
    )
}

fn summary(text: &str) -> SenderSummary {
    let rows = rows(text, SenderOptions::default());
    let found = rows.into_iter().find_map(|row| match row {
        SenderRow::Summary(summary) if summary.direction == Direction::Forward => Some(summary),
        _ => None,
    });
    found.unwrap()
}

const HANDSHAKE: &str = "
    0.000000 > S 0 mss 1000 sackok wscale 7 ts 1 0
    0.040000 < S. 0 ack 1 win 65535 mss 1000 sackok wscale 7 ts 900 1
    0.040010 > . 1 ack 1 win 512 ts 41 900
";

#[test]
fn window_equals_the_pipe_while_acks_release_data() {
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900
        0.041003 > 2965:3953(988) ts 41 900
        0.081000 < ack 989 ts 940 41
        0.081010 > 3953:4941(988) ts 81 940
        0.081011 > 4941:5929(988) ts 81 940
        0.082000 < ack 1977 ts 941 41
        0.082010 > 5929:6917(988) ts 82 941
        0.083000 < ack 2965 ts 942 41
        0.083010 > 6917:7905(988) ts 83 942
        0.084000 < ack 3953 ts 943 41
        0.084010 > 7905:8893(988) ts 84 943
        0.125000 < ack 8893 ts 984 84
        "
    );
    assert_snapshot!(replay(&text), @r"
    0+3952 pipe 4 cwnd 10 application_limited slow_start
    988+4940 pipe 5 cwnd 10 application_limited slow_start
    1976+4940 pipe 5 cwnd 10 application_limited slow_start
    2964+4940 pipe 5 cwnd 5 filled slow_start
    3952+4940 pipe 5 cwnd 5 filled slow_start
    ");
}

/// The sender leaves four ACKs unanswered, and then repairs a loss: it may have cut the window, or the
/// application may have had no data.
#[test]
fn window_of_a_silence_that_a_recovery_ends_is_unknown() {
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900
        0.041003 > 2965:3953(988) ts 41 900
        0.041004 > 3953:4941(988) ts 41 900
        0.041005 > 4941:5929(988) ts 41 900
        0.041006 > 5929:6917(988) ts 41 900
        0.041007 > 6917:7905(988) ts 41 900
        0.081000 < ack 989 ts 940 41
        0.081010 > 7905:8893(988) ts 81 940
        0.082000 < ack 1977 ts 941 41
        0.082010 > 8893:9881(988) ts 82 941
        0.083000 < ack 2965 ts 942 41
        0.083010 > 9881:10869(988) ts 83 942
        0.084000 < ack 3953 ts 943 41
        0.084010 > 10869:11857(988) ts 84 943
        0.085000 < ack 4941 ts 944 41
        0.085010 > 11857:12845(988) ts 85 944
        0.086000 < ack 5929 ts 945 41
        0.086010 > 12845:13833(988) ts 86 945
        0.087000 < ack 6917 ts 946 41
        0.087010 > 13833:14821(988) ts 87 946
        0.088000 < ack 7905 ts 947 41
        0.088010 > 14821:15809(988) ts 88 947
        0.121000 < ack 8893 ts 980 81
        0.122000 < ack 9881 ts 981 82
        0.123000 < ack 10869 ts 982 83
        0.124000 < ack 11857 ts 983 84
        0.125000 < ack 11857 sack 12845:13833 ts 984 84
        0.126000 < ack 11857 sack 12845:14821 ts 985 84
        0.127000 < ack 11857 sack 12845:15809 ts 986 84
        0.127010 > 11857:12845(988) ts 127 986
        0.168000 < ack 15809 ts 1030 127
        "
    );
    assert_snapshot!(replay(&text), @r"
    0+7904 pipe 8 cwnd 10 application_limited slow_start
    988+7904 pipe 8 cwnd 11 application_limited slow_start
    1976+7904 pipe 8 cwnd 12 application_limited slow_start
    2964+7904 pipe 8 cwnd 8 filled slow_start
    3952+7904 pipe 8 cwnd 8 filled slow_start
    4940+7904 pipe 8 cwnd 8 filled slow_start
    5928+7904 pipe 8 cwnd 8 filled slow_start
    6916+7904 pipe 8 cwnd 8 filled slow_start
    7904+7904 pipe 8 cwnd 8 filled slow_start
    retransmitted fast_retransmit
    8892+6916 pipe 7 cwnd - undecided slow_start
    9880+5928 pipe 6 cwnd - undecided slow_start
    10868+4940 pipe 5 cwnd - undecided slow_start
    11856+3952 pipe 4 cwnd - undecided slow_start
    11856+3952 pipe 3 cwnd - undecided slow_start
    11856+3952 pipe 2 cwnd - undecided slow_start
    11856+3952 pipe 1 cwnd 1 recovery fast_recovery
    recovery 0 fast to None
    ");
}

#[test]
fn offsets_increase_when_sequence_numbers_wrap() {
    let wrapping = "
        0.000 > S 4294965295 mss 1000 sackok
        0.040 < S. 0 ack 4294965296 mss 1000 sackok
        0.040 > . 4294965296 ack 1
        0.041 > 4294965296:4294966296(1000)
        0.041 > 4294966296:0(1000)
        0.041 > 0:1000(1000)
        0.041 > 1000:2000(1000)
        0.081 < ack 4294966296
        0.081 < ack 0
        0.082 < ack 2000
    ";
    assert_snapshot!(replay(wrapping), @r"
    0+4000 pipe 4 cwnd 10 application_limited slow_start
    1000+3000 pipe 3 cwnd 10 application_limited slow_start
    2000+2000 pipe 2 cwnd 10 application_limited slow_start
    ");
}

#[test]
fn without_sack_each_duplicate_ack_counts_as_a_segment() {
    let text = "
        0.000000 > S 0 mss 1000
        0.040000 < S. 0 ack 1 mss 1000
        0.040010 > . 1 ack 1
        0.041000 > 1:1001(1000)
        0.041001 > 1001:2001(1000)
        0.041002 > 2001:3001(1000)
        0.041003 > 3001:4001(1000)
        0.041004 > 4001:5001(1000)
        0.041005 > 5001:6001(1000)
        0.082000 < ack 1
        0.083000 < ack 1
        0.084000 < ack 1
        0.084010 > 1:1001(1000)
        0.085000 < ack 1
        0.125000 < ack 2001             // partial: the next one is missing too
        0.125010 > 2001:3001(1000)
        0.166000 < ack 6001
        0.166010 > 6001:7001(1000)
        0.206000 < ack 7001
    ";
    assert_snapshot!(replay(text), @r"
    0+6000 pipe 6 cwnd 10 application_limited slow_start
    0+6000 pipe 5 cwnd 10 application_limited slow_start
    0+6000 pipe 4 cwnd 10 application_limited slow_start
    retransmitted fast_retransmit
    0+6000 pipe 3 cwnd 3 recovery fast_recovery
    0+6000 pipe 2 cwnd - undecided fast_recovery
    retransmitted fast_retransmit
    2000+4000 pipe 1 cwnd 1 recovery fast_recovery
    6000+1000 pipe 1 cwnd - undecided fast_recovery
    recovery 0 fast to None
    ");
}

#[test]
fn time_with_data_outstanding_is_busy() {
    let times = summary(&lossy("")).limited;
    assert_eq!(times.busy, Some(TimeDelta::from_millis(125)));
    assert_eq!(times.receiver_window, Some(TimeDelta::ZERO));
}

#[test]
fn time_shown_again_by_a_clock_that_was_set_back_is_busy_once() {
    let text = "
        0.000 > S 0 mss 1000
        0.040 < S. 0 ack 1 mss 1000
        0.040 > . 1 ack 1
        0.100 > 1:1001(1000)
        0.100 > 1001:2001(1000)
        0.140 < ack 1001
        // The clock is set back by 100 ms.
        0.050 > 2001:3001(1000)
        0.080 < ack 2001
        0.090 > 3001:4001(1000)
        0.150 < ack 4001
    ";
    assert_eq!(summary(text).limited.busy, Some(TimeDelta::from_millis(50)));
}

/// A handshake whose window is ten segments of 1000 bytes.
const OPEN: &str = "
    0.000000 > S 0 mss 1000 sackok wscale 7
    0.100000 < S. 0 ack 1 win 65535 mss 1000 sackok wscale 7
    0.100010 > . 1 ack 1
";

/// The segments `from..to`, sent one after another from `at` on, in microseconds.
fn burst(at: u64, from: u64, to: u64) -> String {
    let mut lines = String::new();
    for segment in from..to {
        let (at, start) = (at + segment - from, 1 + 1000 * segment);
        let end = start + 1000;
        writeln!(
            lines,
            "{}.{:06} > {start}:{end}(1000)",
            at / 1_000_000,
            at % 1_000_000
        )
        .unwrap();
    }
    lines
}
