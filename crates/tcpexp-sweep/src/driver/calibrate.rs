//! Calibration: measures the path before the traffic.

use std::net::IpAddr;
use std::time::Duration;

use netem_ctl::{Loss, Os, Queue};
use tcpexp_runs::record::{Calibration, Role};
use tcpexp_units::{ByteCount, TimeDelta, counted};

use super::context::Run;
use super::crew::PATIENCE;
use super::drain::drain;
use super::error::Trouble;
use super::load_times::{self, LoadTimes};
use crate::plan::{Calibrate, Setup};
use crate::site::{self, Counters};

/// The verdict of the calibration.
pub(super) enum Verdict {
    /// The path is as planned.
    Good,
    /// The path differs from the plan; the text has the difference.
    Invalid(String),
}

/// Bytes of a ping: 56 of data and the headers of ICMP (8) and IPv6 (40); 20 less with IPv4.
const PING_BYTES: u64 = 104;
/// Bytes of the headers of UDP (8) and IPv4 (20).
const UDP_HEADERS: u64 = 28;
/// Bytes of the headers of UDP (8) and IPv6 (40).
const UDP_HEADERS_OF_IPV6: u64 = 48;
/// Part of the planned rate below which the load has not begun.
const SILENT_PART: f64 = 0.01;
/// Part of the round trips without loss from which on chance does not stop all four attempts to begin the load:
/// each needs its opening datagram and the answer to it, so 0.1⁴ at most.
const BEGINS_LOAD: f64 = 0.9;
/// Port of the load.
const LOAD_PORT: u16 = 5_199;

/// Measures the idle round-trip time, the rate, and drops under load.
pub(super) fn calibrate(run: &mut Run<'_>) -> Result<Verdict, Trouble> {
    let settings = run.cell.setup.calibration.clone();
    if !settings.enabled {
        return Ok(Verdict::Good);
    }
    let mut found = Calibration {
        idle_rtt_ms: idle_rtt_ms(run)?,
        ..Calibration::default()
    };
    let mut verdict = judge_rtt(run, &settings, found.idle_rtt_ms);
    // A path with a wrong delay is invalid already, so it needs no load.
    if let Verdict::Good = verdict
        && let Some(times) = LoadTimes::of(&run.cell.setup).filter(|_| run.cell.setup.is_loaded())
    {
        if let Some((rate_bps, drops)) = load(run, &settings, &times)? {
            found.rate_mbps = Some(rate_bps / 1e6);
            found.drops = drops;
            verdict = judge_load(run, &settings, rate_bps, &found);
        }
        // An invalid run has no traffic for the rest of the load to delay.
        if let Verdict::Good = verdict
            && let Some(fault) = drain(run, &times)?
        {
            verdict = Verdict::Invalid(fault);
        }
    }
    run.record.calibration = Some(found);
    Ok(verdict)
}

/// The median of up to ten pings.
fn idle_rtt_ms(run: &Run<'_>) -> Result<Option<f64>, Trouble> {
    let (source, sink) = ends(run)?;
    // With `-A`, Linux pings again as soon as the answer is there. With a short interval it spins for the last 10 ms
    // of each, which occupies the only CPU of the virtual testbed.
    let next = match run.cell.setup.hosts.get(source).map(|host| host.os) {
        Some(Os::FreeBsd) => "-i 0.05",
        Some(Os::Linux) | None => "-A",
    };
    // The first ping may wait for address resolution, so it is ignored.
    let ping = format!("ping -n -c 11 {next} -w 10 {sink}\n");
    let text = run.crew.at(source, "idle", &site::plain(source, &ping))?;
    let others = text.lines().filter(|line| !line.contains("icmp_seq=1 "));
    let times = others.filter_map(|line| {
        let (_, time) = line.split_once("time=")?;
        time.split(' ').next()?.parse::<f64>().ok()
    });
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    let Some(upper) = times.get(middle) else {
        return Ok(None);
    };
    let lower = times[(times.len() - 1) / 2];
    Ok(Some(f64::midpoint(lower, *upper)))
}

fn judge_rtt(run: &Run<'_>, settings: &Calibrate, found: Option<f64>) -> Verdict {
    let paths: Vec<_> = run
        .cell
        .setup
        .paths()
        .flat_map(|(_, _, path)| {
            let path = path.resolved();
            [path.forward, path.reverse]
        })
        .collect();
    let Some(found) = found else {
        return Verdict::Invalid("no ping was answered".to_owned());
    };
    if paths.iter().any(is_spread) {
        return Verdict::Good;
    }
    let sending: TimeDelta = paths
        .iter()
        .filter_map(|path| {
            let bytes = ByteCount::new(path.link_bytes(PING_BYTES));
            path.rate?.time_of(bytes)
        })
        .sum();
    // Each packet on an idle link may wait for the next slot.
    let slots: TimeDelta = paths
        .iter()
        .filter_map(|path| path.slot_most.or(path.slot))
        .sum();
    // On Linux, an idle shaper passes a small packet at once. Other systems add its transmission
    // time.
    let base = run.cell.setup.base_rtt();
    let [least, most] = [base, base + sending + slots];
    let [least, most, within] =
        [least, most, settings.rtt_within].map(|time| time.as_nanos() as f64 / 1e6);
    if (least - within..=most + within).contains(&found) {
        return Verdict::Good;
    }
    Verdict::Invalid(format!(
        "the idle round-trip time is {found:.3} ms, but the plan has {least:.3} ms"
    ))
}

/// True if ten pings do not determine the delay: jitter and a trace spread them, and a reordered packet skips the
/// delay.
fn is_spread(path: &netem_ctl::Path) -> bool {
    path.jitter.is_some() || path.trace.is_some() || path.reorder.is_some()
}

/// The rate that the load can reach. It is not 0, because `load` measures only a path with a rate.
fn planned_bps(setup: &Setup) -> f64 {
    load_times::planned_bps(setup).unwrap_or_default()
}

/// Percentage by which a rate is above the planned one.
fn off_percent(setup: &Setup, rate_bps: f64) -> f64 {
    (rate_bps / planned_bps(setup) - 1.0) * 100.0
}

fn judge_load(run: &Run<'_>, settings: &Calibrate, rate_bps: f64, found: &Calibration) -> Verdict {
    let path = run.cell.setup.path.resolved();
    let planned = planned_bps(&run.cell.setup);
    let off_percent = off_percent(&run.cell.setup, rate_bps);
    if off_percent.abs() > f64::from(settings.rate_within_percent) {
        let (found, planned) = (rate_bps / 1e6, planned / 1e6);
        return Verdict::Invalid(format!(
            "the bottleneck sends {found:.3} Mbit/s, but the plan has {planned:.3} Mbit/s"
        ));
    }
    // The overload makes the queue drop packets. A delay stage must drop none.
    let delayed = found
        .drops
        .iter()
        .find(|(queue, _)| site::is_delay_stage(queue));
    match delayed {
        Some((queue, drops)) if path.forward.loss.is_none() && path.reverse.loss.is_none() => {
            let packets = counted(drops, "packet");
            Verdict::Invalid(format!("the delay stage {queue} dropped {packets}"))
        }
        _ => Verdict::Good,
    }
}

/// True if calibration loads the path and this host receives the load.
fn is_loaded(setup: &Setup, name: &str) -> bool {
    setup.is_loaded()
        && setup
            .first(Role::Sink)
            .is_some_and(|(sink, _)| sink == name)
}

/// Commands that start the server of the load.
pub(super) fn server(setup: &Setup, name: &str) -> String {
    if !is_loaded(setup, name) {
        return String::new();
    }
    // iperf3 sleeps between packets. iperf 2 spins, which occupies the only CPU of the virtual testbed.
    format!("spawn load-server load-server.txt 0 iperf3 -s -1 -p {LOAD_PORT}\n")
}

/// Commands that end the server of the load.
pub(super) fn forget_server(setup: &Setup, name: &str) -> String {
    if is_loaded(setup, name) {
        site::forget(name, "load-server")
    } else {
        String::new()
    }
}

type Load = (f64, std::collections::BTreeMap<String, u64>);

/// Overloads the bottleneck and reads its rate from its counters. `None` if the load did not begin on a path with
/// much loss or bursts of loss: the packets of its control connection may have been lost. Counters that cannot be
/// read are an error.
fn load(run: &Run<'_>, settings: &Calibrate, times: &LoadTimes) -> Result<Option<Load>, Trouble> {
    let (source, address) = ends(run)?;
    // The load must last beyond the last read of the counters; `forget` ends it.
    let seconds = times.most().as_secs() + 1;
    // `-b` of iperf3 counts payload, the bottleneck counts frames.
    let headers = match address {
        IpAddr::V4(_) => UDP_HEADERS,
        IpAddr::V6(_) => UDP_HEADERS_OF_IPV6,
    };
    let payload = times.packet_bytes - headers;
    let offered = times.offered_bps(payload);
    let port = LOAD_PORT;
    let client = format!(
        "spawn load load.txt 0 iperf3 -c {address} -u -p {port} -b {offered:.0} -l {payload} -t {seconds}\n"
    );
    run.crew.at(source, "load", &site::plain(source, &client))?;
    let least_percent = -f64::from(settings.rate_within_percent);
    let is_slow = |(rate_bps, _): &Load| off_percent(&run.cell.setup, *rate_bps) < least_percent;
    let is_silent = |(rate_bps, _): &Load| *rate_bps < planned_bps(&run.cell.setup) * SILENT_PART;
    let mut measured: Option<Load> = None;
    for wait in times.waits() {
        if measured.as_ref().is_some_and(is_silent) {
            restart(run, source, &client)?;
        }
        let load = counted_load(run, wait, times.measure)?;
        // Packets of the load or of its control connection may be lost.
        let is_enough = !is_slow(&load);
        measured = Some(load);
        if is_enough {
            break;
        }
    }
    run.crew.at(source, "load", &site::forget(source, "load"))?;
    // With little loss, a path that passes nothing differs from the plan.
    let loses_little = loses_little(&run.cell.setup);
    Ok(measured.filter(|load| loses_little || !is_silent(load)))
}

/// True if loss does not explain a load that never begins. One burst of loss can last for all attempts, because
/// its state changes with each packet, and an attempt sends few.
fn loses_little(setup: &Setup) -> bool {
    let has_bursts = |path: &netem_ctl::Path| matches!(path.loss, Some(Loss::Bursts(_)));
    setup.kept_part() >= BEGINS_LOAD
        && !setup
            .paths()
            .any(|(.., path)| has_bursts(&path.forward) || has_bursts(&path.reverse))
}

/// Starts the load anew. iperf3 opens a test over UDP with one datagram; if that is lost, both ends wait for
/// half a minute.
fn restart(run: &Run<'_>, source: &str, client: &str) -> Result<(), Trouble> {
    run.crew.at(source, "load", &site::forget(source, "load"))?;
    let setup = &run.cell.setup;
    if let Some((sink, _)) = setup.first(Role::Sink) {
        let forgotten = forget_server(setup, sink);
        let server = server(setup, sink) + &format!("await_server load-server {LOAD_PORT}\n");
        let started = site::plain(sink, &server);
        run.crew.at(sink, "load", &forgotten)?;
        run.crew.at(sink, "load", &started)?;
    }
    run.crew.at(source, "load", &site::plain(source, client))?;
    Ok(())
}

/// The rate and the drops of the bottleneck, from its counters: after `wait`, and `time` later.
fn counted_load(run: &Run<'_>, wait: Duration, time: Duration) -> Result<Load, Trouble> {
    let (router, host) = run.router()?;
    let read = site::reading(host);
    // One script reads both times, because another connection in between takes an unknown time.
    let reads = format!(
        "sleep {:.3}\n{read}echo\nsleep {:.3}\n{read}",
        wait.as_secs_f64(),
        time.as_secs_f64()
    );
    let reads = site::plain(router, &reads);
    let text = run
        .crew
        .at_within(router, "load", &reads, wait + time + PATIENCE)?;
    let right = host.right.as_deref().unwrap_or_default();
    let unread = |why: String| Trouble::Counters {
        router: router.to_owned(),
        why,
    };
    let (before, after) = text.split_once("\n\n").unwrap_or((&text, ""));
    let [before, after] = [before, after].map(|text| Counters::parse(text, &[right]));
    let (before, after) = (before.map_err(unread)?, after.map_err(unread)?);
    let path = run.cell.setup.path.resolved();
    let rate = after.rate_bps(&before, right);
    let rate = rate.ok_or_else(|| unread(format!("the queue of {right} was replaced")))?;
    // The counters of `cake` have Ethernet frames, however it counts bytes for its rate.
    let scale = if path.forward.queue == Some(Queue::Cake) {
        load_times::link_bytes_per_byte(&run.cell.setup)
    } else {
        1.0
    };
    Ok((rate * scale, after.drops(&before)))
}

/// The first source, and the address of the first sink.
fn ends<'a>(run: &Run<'a>) -> Result<(&'a str, IpAddr), Trouble> {
    let setup = &run.cell.setup;
    let source = setup.first(Role::Source).map(|(name, _)| name);
    let sink = setup.first(Role::Sink).and_then(|(_, sink)| sink.address);
    source
        .zip(sink)
        .ok_or_else(|| Trouble::Unknown("a source and a sink".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use netem_ctl::Bottleneck;

    use super::*;
    use crate::plan::Plan;

    #[test]
    fn little_independent_loss_does_not_explain_a_load_that_never_begins() {
        let loses_little = |loss: &str| {
            let text = format!(
                "kind = \"lab\"\n[path.forward]\n{loss}\n[path.reverse]\n{loss}\n[[traffic]]\n\
                 name = \"a\"\ntool = \"iperf3\"\nduration = \"1s\"\n"
            );
            let plan = Plan::parse(Path::new("plan.toml"), &text).unwrap();
            super::loses_little(&plan.cells[0].setup)
        };
        assert!(loses_little(""));
        assert!(loses_little("loss = \"1%\""));
        // Both directions lose 6 %.
        assert!(!loses_little("loss = \"6%\""));
        assert!(!loses_little(
            "loss = { enter_bad = \"0.01%\", leave_bad = \"1%\" }"
        ));
    }

    #[test]
    fn pings_do_not_determine_a_delay_that_differs_between_packets() {
        let spreads = |keys: &str| {
            let text = format!("[forward]\ndelay = \"20ms\"\n{keys}");
            is_spread(&Bottleneck::from_toml(&text).unwrap().forward)
        };
        assert!(!spreads(""));
        assert!(!spreads("loss = \"1%\""));
        assert!(spreads("reorder = \"60%\""));
        assert!(spreads("jitter = \"1ms\""));
    }
}
