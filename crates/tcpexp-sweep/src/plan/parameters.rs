//! The parameters of a cell as columns, whose names end in their unit.

use std::collections::BTreeMap;

use netem_ctl::{Bottleneck, Path};
use tcpexp_runs::record::Parameter;
use tcpexp_units::{BitRate, Buffer, ByteCount, Share, TimeDelta};

use super::kernel::Values;
use super::place::{MODULE, SYSCTL};
use super::{Setup, Traffic};

type Parameters = BTreeMap<String, Option<Parameter>>;

/// The round-trip time, which follows from the delays.
pub(super) const BASE_RTT: &str = "base_rtt_ms";

/// The one-way delay of a path.
pub(super) const DELAY: &str = "delay_ms";
/// The beginning of the names of parameters of the reverse path.
pub(super) const REVERSE: &str = "reverse_";

/// The parameters of a cell: set ones and derived ones.
pub(super) fn of(setup: &Setup) -> Parameters {
    let mut all = Parameters::new();
    of_paths(&mut all, "", &setup.path);
    for (router, path) in &setup.hops {
        of_paths(&mut all, &format!("{router}_"), path);
    }
    put(&mut all, BASE_RTT, Some(millis(setup.base_rtt())));
    of_kernels(&mut all, setup);
    let prepare = &setup.prepare;
    put(
        &mut all,
        "initcwnd",
        prepare.initcwnd.map(|segments| count(segments.into())),
    );
    put(
        &mut all,
        "mtu_bytes",
        prepare.mtu.map(|bytes| count(bytes.into())),
    );
    let common = |value: fn(&Traffic) -> Option<Parameter>| {
        // Entries that do not set the key, such as a ping without `cc`, do not count.
        let mut values = setup.traffic.iter().filter_map(value);
        let first = values.next()?;
        values.all(|other| other == first).then_some(first)
    };
    all.insert("cc".to_owned(), common(cc));
    all.insert("duration_s".to_owned(), common(duration));
    let flows = setup
        .traffic
        .iter()
        .map(|traffic| i64::from(traffic.count))
        .sum();
    put(&mut all, "generators", Some(Parameter::Count(flows)));
    // An entry for all hosts has the same parameters for each.
    let mut entries: Vec<&Traffic> = setup.traffic.iter().collect();
    entries.dedup_by_key(|traffic| traffic.entry);
    if let [traffic] = entries.as_slice() {
        of_traffic(&mut all, "", traffic);
    } else {
        for traffic in entries {
            let prefix = format!("{}_", traffic.name);
            put(&mut all, &format!("{prefix}cc"), cc(traffic));
            put(&mut all, &format!("{prefix}duration_s"), duration(traffic));
            put(
                &mut all,
                &format!("{prefix}start_s"),
                Some(seconds(traffic.start)),
            );
            put(
                &mut all,
                &format!("{prefix}count"),
                Some(Parameter::Count(traffic.count.into())),
            );
            of_traffic(&mut all, &prefix, traffic);
        }
    }
    all
}

/// Kernel settings: `sysctl_net_ipv4_tcp_ecn`, with the role or the name of the host before settings
/// of fewer hosts.
fn of_kernels(all: &mut Parameters, setup: &Setup) {
    let prepare = &setup.prepare;
    let mut put = |prefix: &str, sysctl: &Values, module: &Values| {
        for (kind, values) in [(SYSCTL, sysctl), (MODULE, module)] {
            for (key, value) in values {
                let name = format!("{prefix}{kind}_{}", plain(key));
                put(all, &name, Some(setting(value)));
            }
        }
    };
    put("", &prepare.sysctl, &prepare.module);
    for (prefix, group) in [
        ("source_", &prepare.source),
        ("sink_", &prepare.sink),
        ("router_", &prepare.router),
    ] {
        put(prefix, &group.sysctl, &group.module);
    }
    for (name, host) in &setup.hosts {
        put(&format!("{name}_"), &host.sysctl, &host.module);
    }
}

/// A key as a part of the name of a column.
pub(super) fn plain(key: &str) -> String {
    key.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}

/// A value as it stands in a plan.
pub(super) fn setting(value: &str) -> Parameter {
    value.parse().map_or_else(|_| text(value), Parameter::Count)
}

/// Both directions of a router's path.
fn of_paths(all: &mut Parameters, prefix: &str, path: &Bottleneck) {
    let path = path.resolved();
    of_path(all, prefix, &path.forward);
    let reverse = Path {
        // A reverse delay equal to the forward one, which is its default, is not a parameter, unless
        // another cell has one (`hidden.rs`).
        delay: path
            .reverse
            .delay
            .filter(|delay| Some(*delay) != path.forward.delay),
        ..path.reverse.clone()
    };
    of_path(all, &format!("{prefix}{REVERSE}"), &reverse);
}

fn of_path(all: &mut Parameters, prefix: &str, path: &Path) {
    let mut put =
        |name: &str, value: Option<Parameter>| put(all, &format!("{prefix}{name}"), value);
    put("rate_mbps", path.rate.map(mbps));
    let trace = path.trace.as_ref().map(|trace| text(&trace.file));
    put("trace", trace);
    put("linklayer", path.linklayer.map(|layer| text(layer.name())));
    let overhead = path.overhead.map(|bytes| Parameter::Count(bytes.into()));
    put("overhead_bytes", overhead);
    put("police_mbps", path.police.map(mbps));
    put("police_burst_bytes", path.police_burst.map(size));
    put("slot_ms", path.slot.map(millis));
    put("slot_most_ms", path.slot_most.map(millis));
    let packets = path.slot_packets.map(|packets| count(packets.into()));
    put("slot_packets", packets);
    put("slot_bytes", path.slot_bytes.map(size));
    put(DELAY, path.delay.map(millis));
    put("jitter_ms", path.jitter.map(millis));
    let lost = path.loss.and_then(|loss| loss.mean());
    put(
        "loss_percent",
        lost.map(|ratio| Parameter::Number(Share::percent_of(ratio))),
    );
    put("reorder_percent", path.reorder.map(percent));
    put("duplicate_percent", path.duplicate.map(percent));
    match path.buffer {
        None => {}
        Some(Buffer::Packets(packets)) => put("buffer_packets", Some(count(packets))),
        Some(Buffer::Bytes(bytes)) => put("buffer_bytes", Some(size(bytes))),
        Some(Buffer::Time(time)) => put("buffer_ms", Some(millis(time))),
        Some(Buffer::Bdp { thousandths }) => {
            put(
                "buffer_bdp",
                Some(Parameter::Number(thousandths as f64 / 1e3)),
            );
        }
    }
    put("queue", path.queue.map(|queue| text(queue.name())));
    put("ecn", path.ecn.map(Parameter::Flag));
    put("target_ms", path.target.map(millis));
    put("interval_ms", path.interval.map(millis));
}

fn of_traffic(all: &mut Parameters, prefix: &str, traffic: &Traffic) {
    let mut put =
        |name: &str, value: Option<Parameter>| put(all, &format!("{prefix}{name}"), value);
    put("transfer_bytes", traffic.bytes.map(size));
    put("mss_bytes", traffic.mss.map(|mss| count(mss.into())));
    put("window_bytes", traffic.window.map(size));
    put("sending_rate_mbps", traffic.rate.map(mbps));
    let packet = traffic.packet_bytes;
    put("packet_bytes", packet.map(|bytes| count(bytes.into())));
    put("dscp", traffic.dscp.map(|dscp| count(dscp.number().into())));
    put("request_bytes", traffic.request.map(size));
    put("reply_bytes", traffic.reply.map(size));
    // The path has an `interval_ms` of its own.
    put("traffic_interval_ms", traffic.interval.map(millis));
    put("download_sizes", traffic.sizes.as_deref().map(list));
    put("video_bitrates", traffic.bitrates.as_deref().map(list));
    put("segment_s", traffic.segment.map(seconds));
    put("video_length_s", traffic.length.map(seconds));
    put("player_buffer_s", traffic.buffer.map(seconds));
}

fn list<T: ToString>(values: &[T]) -> Parameter {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    text(&values.join(" "))
}

fn put(all: &mut Parameters, name: &str, value: Option<Parameter>) {
    if value.is_some() {
        all.insert(name.to_owned(), value);
    }
}

fn cc(traffic: &Traffic) -> Option<Parameter> {
    traffic.cc.as_deref().map(text)
}

fn duration(traffic: &Traffic) -> Option<Parameter> {
    traffic.duration.map(seconds)
}

fn text(text: &str) -> Parameter {
    Parameter::Text(text.to_owned())
}

fn count(count: u64) -> Parameter {
    Parameter::Count(i64::try_from(count).unwrap_or(i64::MAX))
}

fn size(bytes: ByteCount) -> Parameter {
    count(bytes.as_bytes())
}

fn mbps(rate: BitRate) -> Parameter {
    Parameter::Number(rate.as_bps() as f64 / 1e6)
}

pub(super) fn millis(time: TimeDelta) -> Parameter {
    Parameter::Number(time.as_nanos() as f64 / 1e6)
}

fn seconds(time: TimeDelta) -> Parameter {
    Parameter::Number(time.as_nanos() as f64 / 1e9)
}

fn percent(share: Share) -> Parameter {
    Parameter::Number(Share::percent_of(share.as_f64()))
}
