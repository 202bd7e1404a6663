//! The log formats.

use super::error::Entry;

/// Supported log formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Linux's `tcp_probe` in any of three forms, detected line by line: events as printed by tracefs,
    /// including `tcp_cong_state_set` and `tcp_retransmit_skb`; the old `/proc/net/tcpprobe`; a CSV
    /// with the header `time,src,dst,snd_nxt,snd_una,snd_cwnd,ssthresh,snd_wnd,srtt_us`. Event times
    /// are converted to the clock of captures if the log contains the mark of a sweep.
    ///
    /// A row is the state at the arrival of a segment, before the kernel processes it.
    TcpProbe,
    /// `TCP_INFO` polled by the sending application into a CSV without endpoints: `time, ca_state,
    /// rto, unacked, sacked, lost, retrans, rtt, snd_ssthresh, snd_cwnd, total_retrans, busy_time,
    /// rwnd_limited, sndbuf_limited, app_limited, retransmits`; the time in seconds, all others as
    /// in the kernel's `struct tcp_info`. A header with these names may give another order.
    ///
    /// A row is the state between two segments.
    TcpInfo,
    /// Repeated output of `ss -tin`, with the time at the start of each line or before each call.
    ///
    /// A row is the state between two segments.
    Ss,
    /// SIFTR of FreeBSD, in both layouts.
    ///
    /// A row is the state at the arrival of a segment, before the kernel processes it.
    Siftr,
    /// The CSV of web10g's logger.
    ///
    /// A row is the state between two segments.
    Web10g,
    /// The JSON of iperf3, which yields intervals instead of samples.
    Iperf3,
    /// A data file of Flent, which yields series instead of samples.
    Flent,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::TcpProbe,
        Self::TcpInfo,
        Self::Ss,
        Self::Siftr,
        Self::Web10g,
        Self::Iperf3,
        Self::Flent,
    ];

    /// The formats whose rows belong to flows, as the rows of captures do.
    pub fn of_flows() -> impl Iterator<Item = Self> {
        let all = Self::ALL.into_iter();
        all.filter(|format| *format != Self::Flent)
    }

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TcpProbe => "tcp_probe",
            Self::TcpInfo => "tcpinfo",
            Self::Ss => "ss",
            Self::Siftr => "siftr",
            Self::Web10g => "web10g",
            Self::Iperf3 => "iperf3",
            Self::Flent => "flent",
        }
    }

    /// True if a log has states of the sender at single ACKs or polls. The logs of iperf3 and Flent have
    /// numbers of whole intervals.
    pub const fn has_states(self) -> bool {
        !self.is_document()
    }

    /// Unit of the counts in the [`Report`](super::Report) of a log.
    pub const fn entry(self) -> Entry {
        match self {
            Self::TcpProbe | Self::TcpInfo | Self::Ss | Self::Siftr | Self::Web10g => Entry::Line,
            Self::Iperf3 => Entry::Interval,
            Self::Flent => Entry::Value,
        }
    }

    /// True if a log is one JSON document, and not read by line.
    pub(super) const fn is_document(self) -> bool {
        matches!(self, Self::Iperf3 | Self::Flent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_logs_that_are_read_by_line_count_lines() {
        for format in Format::ALL {
            assert_eq!(
                format.entry() != Entry::Line,
                format.is_document(),
                "{format:?}"
            );
        }
    }
}
