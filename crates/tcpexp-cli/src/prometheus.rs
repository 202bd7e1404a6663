//! Metrics of a live measurement in the text format of Prometheus.
//!
//! The format is that of "Exposition formats", version 0.0.4, which the textfile collector of
//! `node_exporter` reads from a file.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tcpexp::{LiveBatch, RttSample};
use tcpexp_pair::spp::Point;

use crate::output::Output;

/// Upper bounds of the histogram's buckets in seconds: three per decade, from a local network to a
/// full buffer.
const BUCKETS: [f64; 14] = [
    0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0,
];

const POINTS: [(Point, &str); 2] = [(Point::Src, "src"), (Point::Dst, "dst")];

/// Metrics since the start, and the file with them.
pub(crate) struct Metrics {
    path: PathBuf,
    /// By [`Point::index`] of the reference point.
    rtts: [Histogram; 2],
}

#[derive(Clone, Debug, Default)]
struct Histogram {
    /// Number of values in each bucket, without those of smaller buckets.
    counts: [u64; BUCKETS.len()],
    count: u64,
    sum_s: f64,
}

impl Histogram {
    fn add(&mut self, seconds: f64) {
        self.count += 1;
        self.sum_s += seconds;
        if let Some(bucket) = BUCKETS.iter().position(|bound| seconds <= *bound) {
            self.counts[bucket] += 1;
        }
    }
}

impl Metrics {
    /// Metrics for the file at `path`, which must be writable.
    pub(crate) fn at(path: &Path) -> anyhow::Result<Self> {
        // Reports an error before the measurement begins.
        drop(Output::create(Some(path))?);
        Ok(Self {
            path: path.to_owned(),
            rtts: Default::default(),
        })
    }

    /// Adds the samples, and replaces the file.
    pub(crate) fn write(&mut self, batch: &LiveBatch) -> anyhow::Result<()> {
        self.add(&batch.samples);
        let mut out = Output::create(Some(&self.path))?;
        out.write_all(self.text(batch).as_bytes())
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        out.finish()
    }

    fn add(&mut self, samples: &[RttSample]) {
        for sample in samples {
            self.rtts[sample.reference.index()].add(sample.rtt.as_seconds_f64());
        }
    }

    fn text(&self, batch: &LiveBatch) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, lines: Vec<String>| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for line in lines {
                let _ = writeln!(text, "{name}{line}");
            }
        };
        let per_point = |value: &dyn Fn(Point) -> String| {
            let line = |(point, name)| format!("{{point=\"{name}\"}} {}", value(point));
            POINTS.map(line).to_vec()
        };
        let counts = |point: Point| batch.points[point.index()];
        family(
            "tcpexp_rtt_seconds",
            "histogram",
            "Round-trip times between the two points, by the point where they begin and end.",
            POINTS
                .iter()
                .flat_map(|(point, name)| self.rtts[point.index()].lines(name))
                .collect(),
        );
        family(
            "tcpexp_packets_total",
            "counter",
            "Packets received from the capture point.",
            per_point(&|point| counts(point).packets.to_string()),
        );
        family(
            "tcpexp_discarded_packets_total",
            "counter",
            "Packets left out because they arrived faster than they were measured.",
            per_point(&|point| counts(point).discarded_packets.to_string()),
        );
        family(
            "tcpexp_point_connected",
            "gauge",
            "1 while the capture point sends packets or could send them.",
            per_point(&|point| u8::from(counts(point).is_connected).to_string()),
        );
        if let Some(clock) = &batch.clock {
            let offset = clock.offset().middle.as_seconds_f64();
            family(
                "tcpexp_clock_offset_seconds",
                "gauge",
                "Destination clock minus source clock.",
                vec![format!(" {offset:.9}")],
            );
        }
        text
    }
}

impl Histogram {
    /// Label sets and values of the family.
    fn lines(&self, point: &str) -> Vec<String> {
        let mut below = 0;
        let mut lines = Vec::new();
        for (bound, count) in BUCKETS.iter().zip(self.counts) {
            below += count;
            lines.push(format!(
                "_bucket{{reference=\"{point}\",le=\"{bound}\"}} {below}"
            ));
        }
        let Self { count, sum_s, .. } = self;
        lines.push(format!(
            "_bucket{{reference=\"{point}\",le=\"+Inf\"}} {count}"
        ));
        lines.push(format!("_sum{{reference=\"{point}\"}} {sum_s:.9}"));
        lines.push(format!("_count{{reference=\"{point}\"}} {count}"));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_counts_all_smaller_values() {
        let mut histogram = Histogram::default();
        for seconds in [0.000_05, 0.03, 0.05, 7.0] {
            histogram.add(seconds);
        }
        let lines = histogram.lines("src");
        let of = |bound: &str| lines.iter().find(|line| line.contains(bound)).unwrap();
        assert_eq!(
            of("\"0.0001\""),
            "_bucket{reference=\"src\",le=\"0.0001\"} 1"
        );
        assert_eq!(of("\"0.02\""), "_bucket{reference=\"src\",le=\"0.02\"} 1");
        assert_eq!(of("\"0.05\""), "_bucket{reference=\"src\",le=\"0.05\"} 3");
        assert_eq!(of("+Inf"), "_bucket{reference=\"src\",le=\"+Inf\"} 4");
        assert_eq!(of("_sum"), "_sum{reference=\"src\"} 7.080050000");
    }
}
