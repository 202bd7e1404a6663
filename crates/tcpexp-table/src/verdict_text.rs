//! Verdicts as text for a terminal.

use tcpexp_flow::Direction;
use tcpexp_measure::verdict::{Evidence, LimitCause, Opening, Verdict};
use tcpexp_measure::{Position, SenderLabel};
use tcpexp_pair::spp::TickMeter;
use tcpexp_units::TimeDelta;

use crate::by_flow::title;
use crate::cells::{NO_VALUE, count, counted, mega, wrapped};
use crate::labels::Labelled;
use crate::lost_text::lost_count;
use crate::remark::remark;

/// Causes with a smaller share, in thousandths, have no line of their own.
const LEAST_SHARE: i64 = 10;

/// Formats verdicts, one page per sender, for a terminal of `width` columns.
pub fn verdict_pages(verdicts: &[Labelled<Verdict, SenderLabel>], width: usize) -> String {
    let pages = verdicts.iter().map(|one| page(one, width));
    pages.collect::<Vec<_>>().join("\n")
}

/// Formats verdicts, one line per sender, for a terminal of `width` columns.
pub fn verdict_lines(verdicts: &[Labelled<Verdict, SenderLabel>], width: usize) -> String {
    let lines = verdicts.iter().flat_map(|one| {
        let name = format!("{} {}:", one.flow.flow, one.row.direction.name());
        limited(&name, &one.row, width)
    });
    lines.map(|line| line + "\n").collect()
}

/// `name`, the main cause and its share.
fn limited(name: &str, verdict: &Verdict, width: usize) -> Vec<String> {
    let main = |cause| format!("{}, {}", words(cause), share(verdict, cause));
    let first = verdict.causes().first().copied();
    let parts = match (verdict.main, first) {
        (LimitCause::NotCertain, None | Some(LimitCause::NotCertain)) => {
            vec![format!("{name} limited by no certain cause")]
        }
        (LimitCause::NotCertain, Some(most)) => vec![
            format!("{name} limited by no certain cause;"),
            format!("longest by {}", main(most)),
        ],
        (cause, _) => vec![format!("{name} limited by"), main(cause)],
    };
    wrapped(&parts, width)
}

fn page(one: &Labelled<Verdict, SenderLabel>, width: usize) -> String {
    let verdict = &one.row;
    let mut lines = title(&one.flow, width);
    let name = format!("  {}, {:.1}:", verdict.direction.name(), verdict.duration);
    lines.extend(limited(&name, verdict, width));
    for cause in verdict.causes() {
        if verdict.share_milli(cause) >= LEAST_SHARE {
            let heading = share(verdict, cause);
            let what = format!("{}; {}", words(cause), evidence(verdict, cause));
            lines.extend(remark(&heading, &what, width));
        }
    }
    if let Some(window) = first_window(verdict) {
        lines.extend(remark("window", window, width));
    }
    let unseen = unseen(&verdict.evidence);
    if !unseen.is_empty() {
        lines.extend(remark("not seen", &unseen.join("; "), width));
    }
    let advice = advice(verdict.main, verdict.evidence.position);
    lines.extend(remark("advice", advice, width));
    lines.join("\n") + "\n"
}

/// The cause in words.
const fn words(cause: LimitCause) -> &'static str {
    match cause {
        LimitCause::Setup => "the connection setup: the TCP handshake",
        LimitCause::Tls => "the TLS handshake",
        LimitCause::Application => "the sender's application",
        LimitCause::ReceiverWindow => "the receiver's window",
        LimitCause::WindowGrowth => "the growing congestion window",
        LimitCause::Loss => "losses without a queue",
        LimitCause::Policing => "a policer",
        LimitCause::PathCapacity => "the capacity of the path",
        LimitCause::OwnQueue => "a long queue that the sender fills itself",
        LimitCause::OthersQueue => "a queue that others fill",
        LimitCause::Timeouts => "retransmission timeouts",
        LimitCause::NotCertain => "no certain cause",
    }
}

/// Why the congestion window began at one segment.
fn first_window(verdict: &Verdict) -> Option<&'static str> {
    let seen = &verdict.evidence;
    let repeats = seen
        .opening
        .is_some_and(|opening| opening.repeated_syns > 0);
    let is_hidden =
        verdict.direction == Direction::Forward && seen.position != Some(Position::Sender);
    if !seen.window_began_at_one {
        return None;
    }
    Some(if repeats {
        "it began at one segment, since a SYN or SYN-ACK was sent again (RFC 5681, section 3.1)"
    } else if is_hidden {
        "it began at one segment, as after lost SYNs (RFC 6298, section 5.7, and RFC 5681, section 3.1), which this capture cannot show: the setup may have taken seconds more"
    } else {
        "it began at one segment, although no SYN or SYN-ACK was sent again"
    })
}

/// What would change it.
const fn advice(cause: LimitCause, position: Option<Position>) -> &'static str {
    match cause {
        LimitCause::Setup => {
            "look for lost SYNs and slow answers with `tcpexp explain`; reuse connections, or save a round trip with TCP Fast Open"
        }
        LimitCause::Tls => {
            "look for a slow answer or a lost flight with `tcpexp explain`; reuse connections, or save round trips with TLS 1.3 and resumed sessions"
        }
        LimitCause::Application => {
            "the network could carry more: look at what the sender waits for, such as its disk, its CPU, a rate limit, or a send buffer that is smaller than the bandwidth-delay product"
        }
        LimitCause::ReceiverWindow => {
            "raise the receiver's buffer (tcp_rmem on Linux) above the bandwidth-delay product, or let its application read faster"
        }
        LimitCause::WindowGrowth => {
            "the transfer ends before the window is large: a shorter round-trip time, a larger initial window or a connection that is used again would help"
        }
        LimitCause::Loss => {
            "find the lossy link (radio, a bad cable, a duplex mismatch): with two captures, `tcpexp path` counts its losses; BBR suffers less from them than CUBIC or Reno"
        }
        LimitCause::Policing => {
            "a shaper in place of the policer, or pacing below its rate, would avoid the losses; the rate is a limit of the network"
        }
        LimitCause::PathCapacity => {
            "the sender uses what the path has: only more capacity would help"
        }
        LimitCause::OwnQueue => {
            "the path is full, so only more capacity makes the transfer faster; a shorter or managed queue (CoDel, CAKE) would remove the delay"
        }
        LimitCause::OthersQueue => {
            "other traffic shares the bottleneck: more capacity, or a queue that separates flows (FQ-CoDel, CAKE)"
        }
        LimitCause::Timeouts => {
            "look for outages and lost retransmissions with `tcpexp explain`; SACK and timestamps avoid some timeouts"
        }
        LimitCause::NotCertain => match position {
            Some(Position::Sender) => {
                "a longer capture, or a second one at the receiver, may show more"
            }
            Some(Position::Receiver | Position::Between) | None => {
                "a capture at the sender shows more"
            }
        },
    }
}

/// The evidence for a cause.
fn evidence(verdict: &Verdict, cause: LimitCause) -> String {
    let seen = &verdict.evidence;
    let mut parts = match cause {
        LimitCause::OwnQueue | LimitCause::PathCapacity | LimitCause::OthersQueue => queue(seen),
        LimitCause::Loss | LimitCause::Policing => losses(seen),
        LimitCause::Timeouts => vec![counted(seen.timeouts, "timeout"), repaired(seen)],
        LimitCause::NotCertain => match unresolved(seen) {
            Some(why) => [vec![why], missed(seen)].concat(),
            None => [missed(seen), queue(seen), losses(seen)].concat(),
        },
        LimitCause::Setup => seen.opening.as_ref().map(handshake).unwrap_or_default(),
        LimitCause::Tls => seen.opening.and_then(tls).into_iter().collect(),
        LimitCause::Application | LimitCause::ReceiverWindow | LimitCause::WindowGrowth => vec![],
    };
    let whole = verdict.times[cause.index()];
    parts.push(match verdict.longest[cause.index()] {
        None => format!("{whole:.1} in all"),
        Some((at, span)) => {
            let at = seconds(at - verdict.began);
            if span == whole {
                format!("{whole:.1} from {at} on")
            } else {
                format!("{whole:.1} in all, the longest time {span:.1} from {at} on")
            }
        }
    });
    parts.join(", ")
}

/// A time since the flow's beginning. Zero has no unit of its own.
fn seconds(since: TimeDelta) -> String {
    if since == TimeDelta::ZERO {
        "0 s".to_owned()
    } else {
        format!("{since:.1}")
    }
}

/// What was sent again, and with two captures what was lost.
fn repaired(seen: &Evidence) -> String {
    let again = format!("{} retransmitted", counted(seen.retransmitted, "packet"));
    match seen.lost {
        Some(lost) => format!("{again}, {} lost on the path", lost_count(lost)),
        None => again,
    }
}

/// What the capture does not show.
fn unseen(seen: &Evidence) -> Vec<&'static str> {
    let of_middle = seen.began_in_the_middle().then_some(
        "the capture began in the middle of the connection: how much of its least RTT is a queue",
    );
    let of_position = match seen.position {
        Some(Position::Sender) => None,
        Some(Position::Receiver | Position::Between) => Some(
            "the capture is not at the sender: whether its application had data to send, and SYNs lost before the capture",
        ),
        None => Some(
            "the position of the capture is unknown (name it with --position): in which order data left the sender and ACKs reached it",
        ),
    };
    of_middle.into_iter().chain(of_position).collect()
}

/// Why round-trip times, and what rests on them, are unknown.
fn unresolved(seen: &Evidence) -> Option<String> {
    if seen.lacks_order {
        let why = "away from the sender and without TCP timestamps, the capture shows no queueing delay and no losses";
        return Some(why.to_owned());
    }
    let tick = seen.unresolved_by_tick?;
    Some(format!(
        "the clock of the capture advances in steps of {}, too coarse for the round-trip times",
        TickMeter::text(tick)
    ))
}

/// What the capture missed.
fn missed(seen: &Evidence) -> Vec<String> {
    let shown = |value: u64| (value > 0).then(|| count(value, usize::MAX));
    let bytes = |value: u64| (value > 0).then(|| counted(value, "byte"));
    let missed = bytes(seen.missed_bytes)
        .map(|bytes| format!("the capture missed at least {bytes} of acknowledged data"));
    let possibly = bytes(seen.possibly_missed_bytes).map(|bytes| {
        format!("the capture missed {bytes} of acknowledged data, unless it was sent before the capture began")
    });
    let acks = shown(seen.acks_after_missed).map(|acks| {
        format!("the capture missed packets before {acks} of the captured ACKs, so the cause of the time before these is unknown")
    });
    missed.into_iter().chain(possibly).chain(acks).collect()
}

fn handshake(opening: &Opening) -> Vec<String> {
    let whole = opening
        .tcp_handshake
        .map(|span| format!("TCP handshake {span:.1}"));
    let again = (opening.repeated_syns > 0).then(|| {
        let syns = count(opening.repeated_syns, usize::MAX);
        format!("{syns} repeated SYNs or SYN-ACKs")
    });
    whole.into_iter().chain(again).collect()
}

fn tls(opening: Opening) -> Option<String> {
    let tls = opening.tls?;
    let from = tls.began - opening.began;
    Some(match tls.ended {
        Some(ended) => format!(
            "ClientHello at {from:.1}, {:.1} to the end",
            ended - tls.began
        ),
        None => format!("ClientHello at {from:.1}, no end in the capture"),
    })
}

fn queue(seen: &Evidence) -> Vec<String> {
    let mut parts = Vec::new();
    if let (Some(delay), Some(base)) = (seen.queue_delay, seen.base_rtt) {
        parts.push(format!(
            "median queueing delay {delay:.1} above an RTT of {base:.1}"
        ));
        parts.push(match seen.rtt_growth_percent {
            Some(percent) => {
                format!("the RTT grows {percent} % as much as the bytes in flight")
            }
            None => "the bytes in flight change too little to show whose queue it is".to_owned(),
        });
    } else {
        parts.push(match seen.base_rtt {
            Some(base) if seen.began_in_the_middle() => {
                format!("no queueing delay above the least RTT of {base:.1}")
            }
            _ => "no queueing delay".to_owned(),
        });
    }
    if seen.losses_with_queue > 0 {
        let losses = counted(seen.losses_with_queue, "loss");
        parts.push(losses + " with a queue");
    }
    parts
}

fn losses(seen: &Evidence) -> Vec<String> {
    let mut parts = vec![match (seen.losses_with_queue, seen.losses_without_queue) {
        (0, 0) => "no losses".to_owned(),
        (_, losses) => counted(losses, "loss") + " without a queue",
    }];
    if let (Some(rate), Some(spread)) =
        (seen.goodput_between_losses_bps, seen.goodput_spread_percent)
    {
        let rate = mega(rate);
        parts.push(format!(
            "median goodput between losses {rate} Mbit/s, interquartile range {spread} % of it"
        ));
    }
    if seen.lost.is_some() {
        parts.push(repaired(seen));
    }
    parts
}

fn share(verdict: &Verdict, cause: LimitCause) -> String {
    if verdict.duration <= TimeDelta::ZERO {
        return NO_VALUE.to_owned();
    }
    let milli = verdict.share_milli(cause);
    format!("{}.{} %", milli / 10, milli % 10)
}
