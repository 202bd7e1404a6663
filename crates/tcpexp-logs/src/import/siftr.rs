//! SIFTR, FreeBSD's per-packet log of TCP.
//!
//! The rows have two layouts of up to 27 columns; the older one has a hash of `0x…` in its second
//! column. Windows are in bytes. A row of direction `i` is the state before an arriving segment is
//! processed and gives a sample; one of direction `o` is the state while sending and is passed over.
//!
//! During recovery, FreeBSD uses the window as a control variable: 1 segment, or inflated by duplicate
//! ACKs. [`Phase::FastRecovery`] marks these rows.

use std::net::{IpAddr, SocketAddr};

use tcpexp_measure::sender::{Phase, SenderSample};
use tcpexp_units::TimeDelta;

use super::error::{LineUse, Unusable};
use super::fields::Field;
use super::flows::Flows;
use super::rows::Batch;
use super::state::blank;

/// `TF_FASTRECOVERY` of FreeBSD's `tcp_var.h`.
const FAST_RECOVERY: u32 = 0x10_0000;
/// `TF_RCVD_TSTMP` of `tcp_var.h`: the connection uses timestamps.
const TIMESTAMPS: u32 = 0x100;
/// `TCPOLEN_TSTAMP_APPA` of `tcp.h`: length of the timestamps option with its padding.
const TIMESTAMPS_BYTES: u32 = 12;
/// First version (`__FreeBSD_version`) whose `t_maxseg`, which SIFTR logs, includes the options of each segment.
/// The SMSS is shorter by them (`tcp_maxseg`).
const MAXSEG_WITH_OPTIONS: u32 = 1_100_000;
/// `TCPS_ESTABLISHED`; the window is not set before this state.
const ESTABLISHED: u8 = 4;
/// `TCP_MAXWIN << TCP_MAX_WINSHIFT`, the initial threshold.
const INFINITE_SSTHRESH: u64 = 65_535 << 14;

/// The units, from the first record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Siftr {
    is_enabled: bool,
    /// Ticks per second.
    hz: Option<u32>,
    /// Scale of the smoothed round-trip time.
    rtt_scale: Option<u32>,
    /// Version of FreeBSD (`__FreeBSD_version`).
    version: Option<u32>,
    /// Packets that SIFTR left out, from the last records.
    pub(super) skipped_packets: u64,
}

/// Index of each column, from 0.
struct Layout {
    time: usize,
    local: usize,
    ssthresh: usize,
    state: usize,
    mss: usize,
    srtt: usize,
    flags: usize,
    rto: usize,
    flight: usize,
}

const WITH_HASH: Layout = Layout {
    time: 2,
    local: 3,
    ssthresh: 7,
    state: 14,
    mss: 15,
    srtt: 16,
    flags: 18,
    rto: 19,
    flight: 24,
};
const WITHOUT_HASH: Layout = Layout {
    time: 1,
    local: 2,
    ssthresh: 6,
    state: 13,
    mss: 14,
    srtt: 15,
    flags: 17,
    rto: 18,
    flight: 23,
};

impl Siftr {
    /// Reads one record.
    pub(super) fn line(
        &mut self,
        text: &str,
        flows: &mut Flows,
        batch: &mut Batch,
    ) -> Result<LineUse, Unusable> {
        if text.starts_with("enable_time_secs=") {
            self.enable(text)?;
            return Ok(LineUse::PassedOver);
        }
        if text.starts_with("disable_time_secs=") {
            let skipped = value(text, "total_skipped_tcp_pkts")?.unwrap_or(0);
            self.skipped_packets += u64::from(skipped);
            return Ok(LineUse::PassedOver);
        }
        let row: Vec<&str> = text.split(',').map(str::trim).collect();
        let has_hash = row.get(1).is_some_and(|column| column.starts_with("0x"));
        let layout = if has_hash { WITH_HASH } else { WITHOUT_HASH };
        if row.len() <= layout.flight {
            return Err(Unusable::OtherLayout);
        }
        match row[0] {
            "i" => self.arrival(&row, &layout, has_hash, flows, batch),
            "o" => Ok(LineUse::PassedOver),
            _ => Err(Unusable::OtherLayout),
        }
    }

    /// Reads the first record.
    fn enable(&mut self, text: &str) -> Result<(), Unusable> {
        *self = Self {
            is_enabled: true,
            hz: value(text, "hz")?,
            rtt_scale: value(text, "tcp_rtt_scale")?,
            version: value(text, "sysver")?,
            skipped_packets: self.skipped_packets,
        };
        Ok(())
    }

    fn arrival(
        self,
        row: &[&str],
        layout: &Layout,
        has_hash: bool,
        flows: &mut Flows,
        batch: &mut Batch,
    ) -> Result<LineUse, Unusable> {
        let field = |name, column: usize| Field::new(name, row[column]);
        if field("state", layout.state).number::<u8>()? < ESTABLISHED {
            return Ok(LineUse::PassedOver);
        }
        let end = |name, column| {
            let address: IpAddr = field(name, column).address()?;
            let port = field(name, column + 1).number()?;
            Ok(SocketAddr::new(address.to_canonical(), port))
        };
        let ends = (end("laddr", layout.local)?, end("faddr", layout.local + 2)?);
        let at = field("time", layout.time).time()?;
        let ssthresh: u64 = field("ssthresh", layout.ssthresh).number()?;
        let cwnd: u64 = field("cwnd", layout.ssthresh + 1).number()?;
        let mss: u32 = field("mss", layout.mss).number()?;
        let flags: u32 = field("t_flags", layout.flags).number()?;
        let srtt = self.span(field("srtt", layout.srtt), has_hash, self.rtt_scale)?;
        // The timeout counts whole ticks; only the smoothed round-trip time has a scale.
        let rto = self.span(field("rto", layout.rto), has_hash, Some(1))?;
        let flight = field("inflight", layout.flight).number()?;
        let smss = self.smss(mss, flags, has_hash);
        let segments = |bytes: u64| u32::try_from(bytes.checked_div(smss?.into())?).ok();

        let stream = flows.sender(ends, None, batch);
        // SIFTR logs no sequence numbers, so `snd_una` and `snd_nxt` stay unknown.
        batch.samples.push(SenderSample {
            smss_bytes: smss,
            flight_size_bytes: Some(flight),
            cwnd_segments: segments(cwnd),
            cwnd_bytes: Some(cwnd),
            ssthresh_segments: (ssthresh < INFINITE_SSTHRESH)
                .then(|| segments(ssthresh))
                .flatten(),
            phase: Some(phase(flags, cwnd, ssthresh)),
            srtt: srtt.filter(|srtt| *srtt > TimeDelta::ZERO),
            rto,
            ..blank(stream, at)
        });
        Ok(LineUse::Used)
    }

    /// The SMSS of a connection whose `t_maxseg` is `mss`; `None` if it depends on an unknown version.
    fn smss(self, mss: u32, flags: u32, has_hash: bool) -> Option<u32> {
        let smss = if flags & TIMESTAMPS == 0 {
            mss
        } else if !has_hash || self.version? >= MAXSEG_WITH_OPTIONS {
            // The layout without a hash is newer than this version.
            mss.checked_sub(TIMESTAMPS_BYTES)?
        } else {
            mss
        };
        Some(smss).filter(|smss| *smss > 0)
    }

    /// A time span in `1/scale` ticks, or in microseconds if the first record has no tick rate. The
    /// unit is unknown in the older layout without a first record.
    fn span(
        self,
        field: Field<'_>,
        has_hash: bool,
        scale: Option<u32>,
    ) -> Result<Option<TimeDelta>, Unusable> {
        let count: u32 = field.number()?;
        Ok(match (self.hz, scale) {
            (Some(hz), Some(scale)) => (1_000_000_000 * u128::from(count))
                .checked_div(u128::from(hz) * u128::from(scale))
                .and_then(|nanos| i64::try_from(nanos).ok())
                .map(TimeDelta::from_nanos),
            _ if has_hash && !self.is_enabled => None,
            _ => Some(TimeDelta::from_micros(count.into())),
        })
    }
}

/// The number of a key in the first or the last record: `key=value`, separated by tabs.
fn value(text: &str, key: &'static str) -> Result<Option<u32>, Unusable> {
    text.split('\t')
        .find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
        .map(|value| Field::new(key, value).number())
        .transpose()
}

fn phase(flags: u32, cwnd: u64, ssthresh: u64) -> Phase {
    // In fast recovery, the window is a control variable and does not show the phase.
    if flags & FAST_RECOVERY != 0 {
        Phase::FastRecovery
    } else if cwnd < ssthresh {
        Phase::SlowStart
    } else {
        Phase::CongestionAvoidance
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use crate::import::Format;
    use crate::import::log::{lines, read, rows_of};

    const OLD: &str = "
        i,0xbec491a5,1238556193.463551,172.16.7.28,22,172.16.2.5,55931,1073725440,172312,6144,66560,66608,8,1,4,1448,936,1,996,255,33304,208,66608,0,2896
        o,0xbec491a5,1238556193.463600,172.16.7.28,22,172.16.2.5,55931,1073725440,172312,6144,66560,66608,8,1,4,1448,936,1,996,255,33304,208,66608,0,2896
        i,0xbec491a5,1238556193.463700,172.16.7.28,22,172.16.2.5,55931,14480,1448,6144,66560,66608,8,1,4,1448,936,1,1049572,255,33304,208,66608,0,2896,9,9
    ";

    #[test]
    fn older_layout_counts_in_the_ticks_of_the_first_record() {
        assert_snapshot!(rows_of(Format::Siftr, &format!("
            enable_time_secs=1238556193\tenable_time_usecs=000123\tsiftrver=1.2.2\thz=1000\ttcp_rtt_scale=32\tsysname=FreeBSD\tsysver=800107
            i,0xbec491a5,1238556193.400000,172.16.7.28,22,172.16.2.5,55931,1073725440,1073725440,6144,0,66608,0,1,2,512,0,1,996,255,33304,208,66608,0,0
            {OLD}
            disable_time_secs=1238556197\tdisable_time_usecs=933607\tnum_inbound_tcp_pkts=356
        ")), @r"
        flow 0: 172.16.7.28:22 to 172.16.2.5:55931
        1238556193463551000 0 forward: smss 1448 flight 2896 cwnd 119 cwnd_bytes 172312 phase slow_start srtt 29.250 ms rto 255.000 ms
        1238556193463700000 0 forward: smss 1448 flight 2896 cwnd 1 cwnd_bytes 1448 ssthresh 10 phase fast_recovery srtt 29.250 ms rto 255.000 ms
        ");
    }

    #[test]
    fn older_layout_without_a_first_record_has_no_time_spans_and_no_segments() {
        assert_snapshot!(rows_of(Format::Siftr, OLD), @r"
        flow 0: 172.16.7.28:22 to 172.16.2.5:55931
        1238556193463551000 0 forward: flight 2896 cwnd_bytes 172312 phase slow_start
        1238556193463700000 0 forward: flight 2896 cwnd_bytes 1448 phase fast_recovery
        ");
    }

    #[test]
    fn newer_layout_has_no_hash_and_counts_microseconds() {
        assert_snapshot!(rows_of(Format::Siftr, "
            enable_time_secs=1685191807\tenable_time_usecs=160752\tsiftrver=1.3.0\tsysname=FreeBSD\tsysver=1400088\tipmode=4
            i,1685191807.200000,192.168.1.1,5001,192.168.1.2,40000,14480,28960,0,65535,65535,7,7,4,1460,40125,1,996,230000,33304,208,66608,0,14480,0,12345,1
            i,1685191807.200000,192.168.1.1,5001
        "), @r"
        flow 0: 192.168.1.1:5001 to 192.168.1.2:40000
        1685191807200000000 0 forward: smss 1448 flight 14480 cwnd 20 cwnd_bytes 28960 ssthresh 10 phase congestion_avoidance srtt 40.125 ms rto 230.000 ms
        1 line: not a line of this format
        ");
    }

    #[test]
    fn the_smss_is_without_the_timestamps_from_freebsd_11_on() {
        let row = OLD.lines().nth(1).unwrap_or_default().trim();
        let smss = |version: &str, row: &str| {
            let log = format!("enable_time_secs=1\thz=1000{version}\n{row}\n");
            read(Format::Siftr, &log).0.samples[0].smss_bytes
        };
        assert_eq!(smss("\tsysver=1003000", row), Some(1448));
        assert_eq!(smss("\tsysver=1102000", row), Some(1436));
        assert_eq!(smss("", row), None);
        // 996 with `TF_RCVD_TSTMP`, 740 without.
        let untimed = row.replace(",996,", ",740,");
        assert_eq!(smss("\tsysver=1102000", &untimed), Some(1448));
        assert_eq!(smss("", &untimed), Some(1448));
    }

    #[test]
    fn packets_that_siftr_skipped_are_gaps_of_the_log() {
        let last = "disable_time_secs=1238556197\ttotal_tcp_pkts=5011\ttotal_skipped_tcp_pkts=5000\tflow_list=";
        let gaps = |log: &str| read(Format::Siftr, &lines(log)).1.gaps();
        assert_eq!(
            gaps(&format!("{OLD}\n{last}")),
            ["SIFTR skipped 5000 packets, so their rows are missing"]
        );
        assert!(gaps(&format!("{OLD}\n{}", last.replace("5000", "0"))).is_empty());
    }
}
