//! How far reconstructed sender state is from what the kernel logged.

use std::collections::HashMap;
use std::convert::Infallible;

use tcpexp::Recording;
use tcpexp::flow::{Flow, FlowId, Segment};
use tcpexp::measure::sender::{
    CwndSource, Hindsight, RecoveryEpoch, RecoveryKind, SenderOptions, SenderRow, SenderSample,
    SenderSummary, sender_state,
};
use tcpexp::measure::{Meter, meter};
use tcpexp::wire::Tunnels;

use super::truth::{Epoch, KernelLog, Probe};

/// A sample is compared with what the kernel logged within this time, in nanoseconds.
const NEAR: i64 = 50_000_000;
/// An epoch begins when the kernel says so within this time, in nanoseconds.
const EPOCH_NEAR: i64 = 20_000_000;

/// All rows of one capture, by the port of the sender.
pub(crate) struct Reconstruction {
    pub(crate) samples: HashMap<u16, Vec<SenderSample>>,
    pub(crate) epochs: Vec<(u16, RecoveryEpoch)>,
    pub(crate) summaries: HashMap<u16, SenderSummary>,
}

struct Ports(FlowId);

impl Meter for Ports {
    type Row = (FlowId, u16);

    fn segment(&mut self, _: &Segment, _: &mut impl Extend<Self::Row>) {}

    fn end(self, flow: &Flow, rows: &mut impl Extend<Self::Row>) {
        rows.extend([(self.0, flow.initiator().port())]);
    }
}

impl Reconstruction {
    pub(crate) fn of(recording: &Recording, options: SenderOptions) -> Self {
        let walk = || recording.walk(Tunnels::Closed).unwrap();
        let mut ports = HashMap::new();
        let found: Result<_, Infallible> = meter(
            &mut walk(),
            |flow| Ports(flow.id),
            |rows| {
                ports.extend(rows);
                Ok(())
            },
        );
        assert!(found.is_ok());
        let hindsight = Hindsight::of(&mut walk());
        let mut rows = Vec::new();
        let measured: Result<_, Infallible> =
            sender_state(&mut walk(), &hindsight, options, |batch| {
                rows.extend(batch);
                Ok(())
            });
        assert!(measured.is_ok());
        let mut samples: HashMap<u16, Vec<SenderSample>> = HashMap::new();
        let mut epochs = Vec::new();
        let mut summaries = HashMap::new();
        for row in &rows {
            match row {
                SenderRow::Sample(sample) => {
                    samples
                        .entry(ports[&sample.flow])
                        .or_default()
                        .push(*sample);
                }
                SenderRow::Recovery(epoch) => epochs.push((ports[&epoch.flow], *epoch)),
                SenderRow::Summary(summary) => {
                    summaries.insert(ports[&summary.flow], *summary);
                }
                SenderRow::Resent(_) => {}
            }
        }
        Self {
            samples,
            epochs,
            summaries,
        }
    }
}

/// Relative errors of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors(Vec<f64>);

impl Errors {
    pub(crate) fn add(&mut self, estimate: f64, truth: f64) {
        self.0.push((estimate - truth) / truth);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Mean absolute relative error in percent.
    pub(crate) fn mean_percent(&self) -> f64 {
        100.0 * self.0.iter().map(|error| error.abs()).sum::<f64>() / self.0.len().max(1) as f64
    }

    /// Share of errors that are 5 % or less, in percent.
    pub(crate) fn within_five_percent(&self) -> f64 {
        let within = self.0.iter().filter(|error| error.abs() <= 0.05).count();
        100.0 * within as f64 / self.0.len().max(1) as f64
    }
}

/// How far one capture is off.
#[derive(Debug, Default)]
pub(crate) struct Score {
    pub(crate) probes: usize,
    pub(crate) matched: usize,
    pub(crate) abstained: usize,
    pub(crate) cwnd: Errors,
    pub(crate) by_source: HashMap<CwndSource, Errors>,
    pub(crate) flight: Errors,
    pub(crate) srtt: Errors,
    pub(crate) ssthresh: Errors,
    pub(crate) true_epochs: usize,
    pub(crate) found_epochs: usize,
    pub(crate) matched_epochs: usize,
    pub(crate) right_kinds: usize,
}

impl Score {
    pub(crate) fn of(found: &Reconstruction, log: &KernelLog, is_exact: bool) -> Self {
        let mut score = Self::default();
        let ports = data_ports(log);
        for &port in &ports {
            let probes: Vec<Probe> = log
                .probes
                .iter()
                .filter(|p| p.port == port)
                .copied()
                .collect();
            let empty = Vec::new();
            let samples = found.samples.get(&port).unwrap_or(&empty);
            score.windows(samples, &probes, is_exact);
        }
        score.epochs(found, log, &ports);
        score
    }

    /// Errors by how the window was known, in order.
    pub(crate) fn sources(&self) -> Vec<(CwndSource, &Errors)> {
        let mut sources: Vec<_> = self.by_source.iter().map(|(s, e)| (*s, e)).collect();
        sources.sort_by_key(|(source, _)| *source);
        sources
    }

    fn windows(&mut self, samples: &[SenderSample], probes: &[Probe], is_exact: bool) {
        let index = Index::of(samples);
        for probe in probes {
            self.probes += 1;
            let Some(sample) = index.nearest(samples, probe, is_exact) else {
                continue;
            };
            self.matched += 1;
            if let Some(srtt) = sample.srtt
                && probe.srtt_micros > 0
            {
                let micros = srtt.as_nanos() as f64 / 1e3;
                self.srtt.add(micros, f64::from(probe.srtt_micros));
            }
            let flight =
                sample.flight_size_bytes.unwrap() as f64 / f64::from(sample.smss_bytes.unwrap());
            self.flight.add(flight, f64::from(probe.cwnd));
            let Some(cwnd) = sample.cwnd_segments else {
                self.abstained += 1;
                continue;
            };
            let (cwnd, truth) = (f64::from(cwnd), f64::from(probe.cwnd));
            self.cwnd.add(cwnd, truth);
            let class = self.by_source.entry(sample.cwnd_source).or_default();
            class.add(cwnd, truth);
        }
    }

    fn epochs(&mut self, found: &Reconstruction, log: &KernelLog, ports: &[u16]) {
        let losses = |kind| kind != RecoveryKind::CongestionEcho;
        let epochs: Vec<&(u16, RecoveryEpoch)> = found
            .epochs
            .iter()
            .filter(|(port, epoch)| ports.contains(port) && losses(epoch.kind))
            .collect();
        self.found_epochs = epochs.len();
        // What began after the last sample was not captured.
        let is_captured = |e: &&Epoch| {
            let last = found
                .samples
                .get(&e.port)
                .and_then(|samples| samples.last());
            ports.contains(&e.port)
                && last.is_some_and(|last| e.began <= last.at.as_nanos() + EPOCH_NEAR)
        };
        let truth = log.epochs.iter().flatten().filter(is_captured);
        let mut used = vec![false; epochs.len()];
        for truth in truth {
            self.true_epochs += 1;
            let near = |&index: &usize| {
                let (port, epoch) = epochs[index];
                let off = (epoch.began.as_nanos() - truth.began).abs();
                !used[index] && *port == truth.port && off < EPOCH_NEAR
            };
            if let Some(index) = (0..epochs.len()).find(near) {
                used[index] = true;
                self.matched_epochs += 1;
                let is_timeout = epochs[index].1.kind == RecoveryKind::Timeout;
                self.right_kinds += usize::from(is_timeout == truth.is_timeout);
            }
        }
        for (port, epoch) in epochs {
            let (Some(ended), Some(estimate)) = (epoch.ended, epoch.ssthresh_segments) else {
                continue;
            };
            let during = |p: &&Probe| {
                p.port == *port && p.at > epoch.began.as_nanos() && p.at < ended.as_nanos()
            };
            if epoch.kind == RecoveryKind::Fast
                && let Some(probe) = log.probes.iter().rfind(during)
            {
                self.ssthresh
                    .add(f64::from(estimate), f64::from(probe.ssthresh));
            }
        }
    }
}

/// The senders with data: a control connection hears a few ACKs only.
fn data_ports(log: &KernelLog) -> Vec<u16> {
    let mut counts: HashMap<u16, usize> = HashMap::new();
    for probe in &log.probes {
        *counts.entry(probe.port).or_default() += 1;
    }
    let mut ports: Vec<u16> = counts
        .into_iter()
        .filter(|(_, n)| *n > 100)
        .map(|(p, _)| p)
        .collect();
    ports.sort_unstable();
    ports
}

/// Samples by what is unacknowledged and what is next.
struct Index {
    exact: HashMap<(u32, u32), Vec<usize>>,
    by_una: HashMap<u32, Vec<usize>>,
}

impl Index {
    fn of(samples: &[SenderSample]) -> Self {
        let mut index = Self {
            exact: HashMap::new(),
            by_una: HashMap::new(),
        };
        for (place, sample) in samples.iter().enumerate() {
            let [Some(una), Some(nxt)] =
                [sample.snd_una, sample.snd_nxt].map(|o| o.map(|o| o.seq().0))
            else {
                continue;
            };
            index.exact.entry((una, nxt)).or_default().push(place);
            index.by_una.entry(una).or_default().push(place);
        }
        index
    }

    fn nearest<'a>(
        &self,
        samples: &'a [SenderSample],
        probe: &Probe,
        is_exact: bool,
    ) -> Option<&'a SenderSample> {
        let off = |place: &&usize| (samples[**place].at.as_nanos() - probe.at).abs();
        let near = |places: &Vec<usize>| {
            places
                .iter()
                .filter(|place| off(place) < NEAR)
                .min_by_key(off)
                .map(|place| &samples[*place])
        };
        let exact = self.exact.get(&(probe.una, probe.nxt)).and_then(near);
        exact.or_else(|| {
            self.by_una
                .get(&probe.una)
                .filter(|_| !is_exact)
                .and_then(near)
        })
    }
}
