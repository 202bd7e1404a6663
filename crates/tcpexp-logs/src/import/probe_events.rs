//! `tcp:tcp_probe` and its companions, as tracefs, trace-cmd and perf print them.
//!
//! A line is `TASK-PID [CPU] flags SECONDS: event: key=value …`. The keys depend on the version of
//! the kernel: later kernels added `family`, and 4.20 added `sock_cookie`.

use std::net::SocketAddr;

use tcpexp_units::{TimeDelta, Timestamp};

use super::error::Unusable;
use super::fields::{Field, canonical};
use super::flows::Flows;
use super::rows::{Batch, CongestionState, RetransmitEvent};
use super::state::Probe;

/// The offset of the log's clock to UTC, if `text` is the mark that a sweep writes into its logs:
/// `tracing_mark_write: tcpexp clock UTC_NANOSECONDS CLOCK`.
///
/// Some milliseconds pass between reading UTC and writing the mark. They do not matter for the clock
/// `tai`, which is whole seconds ahead.
pub(super) fn clock_ahead(text: &str) -> Option<TimeDelta> {
    const SECOND_NS: i64 = 1_000_000_000;
    let (before, mark) = text.split_once(": tcpexp clock ")?;
    let before = before.strip_suffix("tracing_mark_write")?.trim_end();
    let at = before
        .strip_suffix(':')?
        .rsplit(char::is_whitespace)
        .next()?;
    let mut mark = mark.split_ascii_whitespace();
    let utc = Timestamp::from_nanos(mark.next()?.parse().ok()?);
    let ahead = Field::new("time", at).time().ok()? - utc;
    Some(match mark.next() {
        None | Some("tai") => {
            // TAI is 37 s ahead of UTC if the kernel knows the leap seconds, and 0 s if not.
            // Rounding removes the delay of writing the mark.
            let seconds = ahead.as_nanos().checked_add(SECOND_NS / 2)?;
            let seconds = seconds.div_euclid(SECOND_NS);
            TimeDelta::from_nanos(seconds * SECOND_NS)
        }
        Some(_) => ahead,
    })
}

/// Reads one line that [`has_event`]; `ahead` is subtracted from its time.
pub(super) fn line(
    text: &str,
    ahead: TimeDelta,
    flows: &mut Flows,
    batch: &mut Batch,
) -> Result<(), Unusable> {
    let event = Event::find(text, ahead).ok_or(Unusable::OtherEvent)?;
    match event.name {
        "tcp_probe" => probe(&event, flows, batch),
        "tcp_cong_state_set" => state_set(&event, flows, batch),
        _ => retransmit(&event, flows, batch),
    }
}

/// True if `text` has the layout of an event.
pub(super) fn has_event(text: &str) -> bool {
    // The address with its port is the first key of tcp_probe that every kernel prints.
    text.contains(": ") && text.contains('=')
}

struct Event<'a> {
    name: &'static str,
    at: &'a str,
    /// Offset of the clock of `at` to the requested one.
    ahead: TimeDelta,
    values: &'a str,
}

impl<'a> Event<'a> {
    const NAMES: [&'static str; 3] = ["tcp_probe", "tcp_cong_state_set", "tcp_retransmit_skb"];

    fn find(text: &'a str, ahead: TimeDelta) -> Option<Self> {
        Self::NAMES.into_iter().find_map(|name| {
            // A task's name may contain anything; an event's name ends in a colon.
            let start = text.rfind(name)?;
            let values = text[start + name.len()..].strip_prefix(':')?;
            // perf prints the event's group, `tcp:`, before its name.
            let before = text[..start].trim_end_matches("tcp:").trim_end();
            let at = before
                .strip_suffix(':')?
                .rsplit(char::is_whitespace)
                .next()?;
            Some(Self {
                name,
                at,
                ahead,
                values,
            })
        })
    }

    fn at(&self) -> Result<Timestamp, Unusable> {
        // Clocks of a trace that count time have a fraction, in any unit of their last digit.
        if !self.at.contains('.') {
            return Err(Unusable::Ticks);
        }
        Ok(Field::new("time", self.at).time()? - self.ahead)
    }

    fn find_value(&self, key: &'static str) -> Option<Field<'a>> {
        self.values
            .split_ascii_whitespace()
            .filter_map(|pair| pair.split_once('='))
            .find(|(name, _)| *name == key)
            .map(|(_, value)| Field::new(key, value))
    }

    fn value(&self, key: &'static str) -> Result<Field<'a>, Unusable> {
        self.find_value(key).ok_or(Unusable::Missing(key))
    }

    /// The endpoints of an event with separate fields for addresses and ports.
    fn ends(&self) -> Result<(SocketAddr, SocketAddr), Unusable> {
        let end = |v6, v4, port| {
            // The IPv6 field also holds IPv4 addresses, as mapped ones.
            let address = self.find_value(v6).map_or_else(|| self.value(v4), Ok)?;
            let port = self.value(port)?.number()?;
            Ok(canonical(SocketAddr::new(address.address()?, port)))
        };
        Ok((
            end("saddrv6", "saddr", "sport")?,
            end("daddrv6", "daddr", "dport")?,
        ))
    }
}

fn probe(event: &Event<'_>, flows: &mut Flows, batch: &mut Batch) -> Result<(), Unusable> {
    let ends = (
        event.value("src")?.endpoint()?,
        event.value("dest")?.endpoint()?,
    );
    let cookie = event
        .find_value("sock_cookie")
        .map(Field::hexadecimal)
        .transpose()?;
    let probe = Probe {
        at: event.at()?,
        snd_nxt: event.value("snd_nxt")?.seq()?,
        snd_una: event.value("snd_una")?.seq()?,
        snd_cwnd: event.value("snd_cwnd")?.number()?,
        current_ssthresh: event.value("ssthresh")?.number()?,
        snd_wnd: event.value("snd_wnd")?.number()?,
        srtt: Some(TimeDelta::from_micros(
            event.value("srtt")?.number::<u32>()?.into(),
        )),
    };
    let stream = flows.sender(ends, cookie, batch);
    batch.samples.push(probe.sample(stream));
    Ok(())
}

fn state_set(event: &Event<'_>, flows: &mut Flows, batch: &mut Batch) -> Result<(), Unusable> {
    let (at, ends) = (event.at()?, event.ends()?);
    let number = event.value("cong_state")?.number()?;
    let state = CongestionState::numbered(number).ok_or(Unusable::Unreadable("cong_state"))?;
    // The event has no cookie, so it belongs to the latest connection between its endpoints.
    let change = flows.sender(ends, None, batch).set(at, state);
    batch.state_changes.push(change);
    Ok(())
}

fn retransmit(event: &Event<'_>, flows: &mut Flows, batch: &mut Batch) -> Result<(), Unusable> {
    let (at, ends) = (event.at()?, event.ends()?);
    let stream = flows.sender(ends, None, batch);
    batch.retransmits.push(RetransmitEvent {
        at,
        flow: stream.flow,
        direction: stream.direction,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use crate::import::Format;
    use crate::import::log::{lines, read, rows_of};

    #[test]
    fn events_of_a_loss_yield_the_window_and_its_phases() {
        assert_snapshot!(rows_of(Format::TcpProbe, "
            # tracer: nop
            relay-22 [001] b..1. 12.000001: tcp_probe: family=AF_INET src=10.0.0.1:4 dest=10.0.0.2:5 mark=0x0 data_len=0 snd_nxt=0x1000 snd_una=0xFF0 snd_cwnd=10 ssthresh=2147483647 snd_wnd=100 srtt=45750 rcv_wnd=64512 sock_cookie=1f skbaddr=0 skaddr=0
            relay-22 [001] b..1. 12.000002: tcp_cong_state_set: family=AF_INET sport=4 dport=5 saddr=10.0.0.1 daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2 cong_state=3
            relay-22 [001] b..1. 12.000003: tcp_probe: family=AF_INET src=10.0.0.1:4 dest=10.0.0.2:5 mark=0x0 data_len=0 snd_nxt=0x1000 snd_una=0xFF1 snd_cwnd=10 ssthresh=7 snd_wnd=100 srtt=45750 rcv_wnd=64512 sock_cookie=1f skbaddr=0 skaddr=0
            relay-22 [001] b..1. 12.000004: tcp_cong_state_set: family=AF_INET sport=4 dport=5 saddr=10.0.0.1 daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2 cong_state=0
            relay-22 [001] b..1. 12.000005: tcp_probe: family=AF_INET src=10.0.0.1:4 dest=10.0.0.2:5 mark=0x0 data_len=0 snd_nxt=0x1000 snd_una=0x1000 snd_cwnd=7 ssthresh=7 snd_wnd=100 srtt=45750 rcv_wnd=64512 sock_cookie=1f skbaddr=0 skaddr=0
        "), @r"
        flow 0: 10.0.0.1:4 to 10.0.0.2:5
        12000001000 0 forward: una 4080 nxt 4096 flight 16 cwnd 10 phase slow_start srtt 45.750 ms usable 84
        12000003000 0 forward: una 4081 nxt 4096 flight 15 cwnd 10 ssthresh 7 phase fast_recovery epoch 0 srtt 45.750 ms usable 85
        12000005000 0 forward: una 4096 nxt 4096 flight 0 cwnd 7 ssthresh 7 phase congestion_avoidance srtt 45.750 ms usable 100
        ");
    }

    #[test]
    fn mark_of_a_sweep_yields_the_clock_offset() {
        let log = |clock: &str, at: &str| {
            format!("
                sh-619     [000] ..... {at}.276544: tracing_mark_write: tcpexp clock 1767225611275988510{clock}
                x-1 [0] . {at}.500000: tcp_probe: src=10.0.0.1:4 dest=10.0.0.2:5 snd_nxt=0x2 snd_una=0x1 snd_cwnd=1 ssthresh=9 snd_wnd=9 srtt=0
                x-1 [0] . {at}.600000: tracing_mark_write: something else
            ")
        };
        let first_ns = |clock: &str, at: &str| {
            let (batch, report) = read(Format::TcpProbe, &lines(&log(clock, at)));
            assert_eq!(
                (report.used, report.passed_over, report.unusable()),
                (1, 1, 1)
            );
            batch.samples[0].at.as_nanos()
        };
        // TAI is 37 seconds ahead of UTC if the kernel knows the leap seconds, and equal to it if not.
        assert_eq!(first_ns(" tai", "1767225611"), 1_767_225_611_500_000_000);
        assert_eq!(first_ns(" tai", "1767225648"), 1_767_225_611_500_000_000);
        assert_eq!(first_ns("", "1767225648"), 1_767_225_611_500_000_000);
        // Any other clock has an arbitrary offset.
        assert_eq!(first_ns(" mono", "712"), 1_767_225_611_499_444_510);
    }

    #[test]
    fn three_quarters_of_the_window_is_not_a_threshold() {
        let row = |cwnd: u32, ssthresh: u32| {
            format!(
                "x-1 [0] . 1.0: tcp_probe: src=10.0.0.1:4 dest=10.0.0.2:5 snd_nxt=0x2 snd_una=0x1 snd_cwnd={cwnd} ssthresh={ssthresh} snd_wnd=9 srtt=0\n"
            )
        };
        let log = [row(20, 15), row(20, 16), row(20, 14)].concat();
        let known = read(Format::TcpProbe, &log).0.samples;
        let known: Vec<_> = known.iter().map(|row| row.ssthresh_segments).collect();
        assert_eq!(known, [None, Some(16), Some(14)]);
    }

    #[test]
    fn old_kernels_and_other_printers_are_read_too() {
        assert_snapshot!(rows_of(Format::TcpProbe, "
            <idle>-0 [000] ..s. 7.5: tcp_probe: src=10.0.0.1:4 dest=10.0.0.2:5 mark=0x0 data_len=0 snd_nxt=0x30 snd_una=0x10 snd_cwnd=10 ssthresh=2147483647 snd_wnd=100 srtt=0 rcv_wnd=64512
            kworker/0:1 x 30 [001] 7.6: tcp:tcp_probe: family=AF_INET6 src=[2001:db8::1]:4 dest=[2001:db8::2]:5 mark=0x0 data_len=0 snd_nxt=0x30 snd_una=0x10 snd_cwnd=10 ssthresh=20 snd_wnd=100 srtt=9 rcv_wnd=64512
            x 30 [001] 7.7: tcp_probe: family=AF_INET6 src=[::ffff:10.0.0.2]:5 dest=[::ffff:10.0.0.1]:4 snd_nxt=0x30 snd_una=0x10 snd_cwnd=3 ssthresh=20 snd_wnd=100 srtt=9
        "), @r"
        flow 0: 10.0.0.1:4 to 10.0.0.2:5
        flow 1: [2001:db8::1]:4 to [2001:db8::2]:5
        7500000000 0 forward: una 16 nxt 48 flight 32 cwnd 10 phase slow_start usable 68
        7600000000 1 forward: una 16 nxt 48 flight 32 cwnd 10 ssthresh 20 srtt 9.000 µs usable 68
        7700000000 0 reverse: una 16 nxt 48 flight 32 cwnd 3 ssthresh 20 srtt 9.000 µs usable 68
        ");
    }

    #[test]
    fn different_cookie_is_a_different_connection() {
        let row = |cookie: &str| {
            format!(
                "x-1 [0] . 1.0: tcp_probe: src=10.0.0.1:4 dest=10.0.0.2:5 snd_nxt=0x2 snd_una=0x1 snd_cwnd=1 ssthresh=9 snd_wnd=9 srtt=0 sock_cookie={cookie}\n"
            )
        };
        let (batch, _) = read(Format::TcpProbe, &[row("a"), row("a"), row("b")].concat());
        assert_eq!(batch.flows.len(), 2);
        let flows: Vec<u32> = batch.samples.iter().map(|row| row.flow.0).collect();
        assert_eq!(flows, [0, 0, 1]);
    }

    #[test]
    fn wrapped_sequence_numbers_keep_increasing() {
        let row = |una: &str, nxt: &str| {
            format!(
                "x-1 [0] . 1.0: tcp_probe: src=10.0.0.1:4 dest=10.0.0.2:5 snd_nxt={nxt} snd_una={una} snd_cwnd=1 ssthresh=9 snd_wnd=9 srtt=0\n"
            )
        };
        let log = [row("0xfffffff0", "0x10"), row("0x10", "0x20")].concat();
        let rows = read(Format::TcpProbe, &log).0.samples;
        assert_eq!(rows[0].flight_size_bytes, Some(32));
        assert_eq!(rows[1].snd_una.unwrap().since(rows[0].snd_una.unwrap()), 32);
    }

    #[test]
    fn unusable_lines_are_counted_and_the_first_is_kept() {
        let (_, report) = read(Format::TcpProbe, &lines("
            x-1 [0] . 1.0: tcp_probe: src=10.0.0.1:4 dest=10.0.0.2:5 snd_nxt=0x2 snd_una=0x1 snd_cwnd=1 ssthresh=9 snd_wnd=9 srtt=0
            x-1 [0] . 1.1: tcp_probe: src=10.0.0.1:4 dest=10.0.0.2:5 snd_nxt=0x2 snd_una=0x1 ssthresh=9 snd_wnd=9 srtt=0
            x-1 [0] . 1.2: tcp_probe: src=10.0.0.1:4 dest=10.0.0.2:5 snd_nxt=0x2 snd_una=wrong snd_cwnd=1 ssthresh=9 snd_wnd=9 srtt=0
            x-1 [0] . 1.3: sched_switch: prev_comm=x
            something else
            x-1 [0] . 29012: tcp_probe: src=10.0.0.1:4 dest=10.0.0.2:5 snd_nxt=0x2 snd_una=0x1 snd_cwnd=1 ssthresh=9 snd_wnd=9 srtt=0
        "));
        let first = report.first_unusable.clone().unwrap();
        assert_eq!(
            (first.line, first.reason.to_string()),
            (2, "snd_cwnd is missing".to_owned())
        );
        let reasons: Vec<String> = report
            .reasons
            .iter()
            .map(|(reason, count)| format!("{count}: {reason}"))
            .collect();
        assert_snapshot!(reasons.join("\n"), @r"
        1: not a line of this format
        1: an event of another kind
        1: snd_cwnd is missing
        1: a time in ticks instead of seconds
        1: snd_una cannot be read
        ");
    }
}
