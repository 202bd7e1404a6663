//! Round-trip times between two captures in progress.

mod buffer;
mod frontier;
mod numbers;

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tcpexp_capture::Capture;
use tcpexp_pair::spp::{ClockModel, PairedFlow, Point, RttSample};
use tcpexp_units::{TimeDelta, Timestamp};

use crate::{Error, Recording, RttOptions};
use buffer::{Buffers, Snapshot};
use frontier::Frontier;
use numbers::{FlowNumbers, WindowFlows};

pub use buffer::PointCounts;

/// Time between two measurements. A sample is known at most this time, the settling time and the
/// processing time after its second packet: less than a second together.
const PAUSE: Duration = Duration::from_millis(300);

/// Number of packets kept per point: 4 s of a link with 100 000 packets per second, and at most
/// 150 MB.
const CAPACITY: usize = 400_000;

/// Time for which packets are kept. The clocks are learned from them.
const HISTORY: TimeDelta = TimeDelta::from_seconds(60);

/// The stream of one capture point.
pub trait LiveInput: Send {
    /// Opens the stream. The function is called again after the end of the stream, with the error
    /// if the stream is not a capture. `None` if the stream has ended for good.
    fn open(
        &mut self,
        failure: Option<tcpexp_capture::Error>,
    ) -> Result<Option<Box<dyn Read + Send>>, Error>;
}

/// A stream that is opened once: a pipe or standard input.
pub struct OneStream {
    name: PathBuf,
    stream: Option<Box<dyn Read + Send>>,
}

impl OneStream {
    /// Reads this stream; `name` names it in messages.
    pub fn new(name: PathBuf, stream: impl Read + Send + 'static) -> Self {
        Self {
            name,
            stream: Some(Box::new(stream)),
        }
    }
}

impl LiveInput for OneStream {
    fn open(
        &mut self,
        failure: Option<tcpexp_capture::Error>,
    ) -> Result<Option<Box<dyn Read + Send>>, Error> {
        match failure {
            Some(source) => Err(Error::Capture {
                path: self.name.clone(),
                source,
            }),
            None => Ok(self.stream.take()),
        }
    }
}

/// What became known with one measurement.
#[derive(Debug)]
#[non_exhaustive]
pub struct LiveBatch {
    /// Flows without earlier samples. A flow keeps its number until it is in `ended`.
    pub flows: Vec<PairedFlow>,
    /// New samples, in order of their second packets at each point.
    pub samples: Vec<RttSample>,
    /// Flows without packets for a minute. Their numbers are not used again.
    pub ended: Vec<PairedFlow>,
    /// State of both points, source first.
    pub points: [PointCounts; 2],
    /// Clocks of the two points over the last minute; `None` if no packet was seen at both.
    pub clock: Option<ClockModel>,
    /// Why there is no packet that was seen at both points.
    pub nothing: Option<Error>,
    /// Damage at which the stream of each point ended, source first; only once.
    pub damage: [Option<String>; 2],
}

/// Measures the round-trip times between two captures in progress.
///
/// Repeatedly measures the packets of the last minute, or the last 400 000 packets per point if
/// there are more, so memory does not grow and the measurement follows drifting clocks. `sink`
/// receives each sample once, less than a second after its second packet if both streams are on
/// time. Returns when both streams have ended, after `stop` is set, or if the sink fails.
///
/// The samples are those of [`rtt`](fn@crate::rtt) over the complete captures, except where packets
/// arrive later than others by more than 200 ms, and where a round trip, or the time by which one
/// stream runs ahead of the other, is longer than the packets kept. The options may have a filter, and no limits in time.
pub fn live_pair<E: From<Error> + Send>(
    inputs: [Box<dyn LiveInput>; 2],
    options: &RttOptions,
    stop: &AtomicBool,
    sink: impl FnMut(LiveBatch) -> Result<(), E>,
) -> Result<(), E> {
    measure(inputs, options, (CAPACITY, PAUSE), stop, sink)
}

fn measure<E: From<Error> + Send>(
    inputs: [Box<dyn LiveInput>; 2],
    options: &RttOptions,
    (capacity, pause): (usize, Duration),
    stop: &AtomicBool,
    mut sink: impl FnMut(LiveBatch) -> Result<(), E>,
) -> Result<(), E> {
    if options.reading.selection.has_range() {
        return Err(Error::RangeOfLive {
            path: "a live capture".into(),
        }
        .into());
    }
    let buffers = Arc::new(Buffers::new(capacity));
    for (point, input) in [Point::Src, Point::Dst].into_iter().zip(inputs) {
        let buffers = Arc::clone(&buffers);
        // A blocked read cannot be interrupted, so nobody waits for the thread.
        thread::spawn(move || read(input, point, &buffers));
    }
    let mut measurement = Measurement::default();
    let mut before = [PointCounts::default(); 2];
    loop {
        let is_stopped = || stop.load(Ordering::Relaxed);
        let is_settling = measurement.is_settling;
        let taken = buffers.snapshot((&before, is_settling), pause, is_stopped)?;
        if is_stopped() {
            return Ok(());
        }
        let Some(snapshot) = taken else {
            continue;
        };
        before = snapshot.counts;
        let (is_last, is_stuck) = (snapshot.is_last, snapshot.is_stuck);
        let (batch, settled) = measurement.window(snapshot, options)?;
        sink(batch)?;
        if is_last {
            return Ok(());
        }
        buffers.trim(settled, HISTORY, is_stuck);
    }
}

/// Reads the stream of one point to its end, and again each time it is opened.
fn read(mut input: Box<dyn LiveInput>, point: Point, buffers: &Buffers) {
    let (mut failure, mut damage) = (None, None);
    loop {
        let stream = match input.open(failure.take()) {
            Ok(Some(stream)) => stream,
            Ok(None) => return buffers.end(point, damage),
            Err(error) => return buffers.fail(point, error),
        };
        match Capture::from_reader(stream) {
            Ok(capture) => {
                buffers.connected(point, true);
                let mut capture = capture.without_look_ahead();
                while let Some(record) = capture.next_record() {
                    match record.at {
                        Ok(at) => buffers.push(point, at, &record),
                        Err(_) => buffers.skip(point),
                    }
                }
                damage = capture.damage().map(ToString::to_string);
            }
            Err(error) => failure = Some(error),
        }
        buffers.connected(point, false);
    }
}

#[derive(Default)]
struct Measurement {
    frontier: Frontier,
    numbers: FlowNumbers,
    /// True if the last window had samples that were not final yet.
    is_settling: bool,
}

impl Measurement {
    /// Measures the packets of a snapshot. Also returns the time up to which all samples are out, on
    /// the clock of each point; `None` if the clocks are unknown.
    fn window(
        &mut self,
        snapshot: Snapshot,
        options: &RttOptions,
    ) -> Result<(LiveBatch, Option<[Timestamp; 2]>), Error> {
        let mut batch = LiveBatch {
            flows: Vec::new(),
            samples: Vec::new(),
            ended: Vec::new(),
            points: snapshot.counts,
            clock: None,
            nothing: None,
            damage: snapshot.damage,
        };
        let [Some(src_progress), Some(dst_progress)] = snapshot.progress else {
            return Ok((batch, None));
        };
        let [src, dst] = snapshot.files;
        let src = Recording::of_bytes("the source".into(), src);
        let dst = Recording::of_bytes("the destination".into(), dst);
        self.is_settling = false;
        let mut window = WindowFlows::default();
        let mut found = Vec::new();
        let mut new = Vec::new();
        let report = crate::rtt(&src, &dst, options, |part| {
            for flow in &part.flows {
                new.extend(self.numbers.add(&mut window, flow));
            }
            let renamed = part.samples.iter().filter_map(|one| window.renamed(one));
            found.extend(renamed);
            Ok::<(), Error>(())
        });
        let report = match report {
            Ok(report) => report,
            // Packets of the other point may still be on their way.
            Err(error @ (Error::Nothing { .. } | Error::Compare { .. })) => {
                batch.nothing = Some(error);
                return Ok((batch, None));
            }
            Err(error) => return Err(error),
        };
        batch.flows = new;
        batch.ended = self.numbers.forget_others(&window);
        if report.common_packets == 0 {
            return Ok((batch, None));
        }
        let offset = report.clock.offset().middle;
        let advance = if snapshot.is_last {
            self.frontier.finish()
        } else {
            self.frontier.advance([src_progress, dst_progress], offset)
        };
        self.is_settling = found.iter().any(|sample| advance.is_before(sample));
        found.retain(|sample| advance.has(sample));
        batch.samples = found;
        batch.clock = Some(report.clock);
        Ok((batch, Some(advance.until)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Cursor;
    use std::net::SocketAddr;

    use super::*;
    use tcpexp_flow::Direction;
    use tcpexp_testkit::{Scenario, TcpLoad, TwoCaptures, UdpLoad, simulate};

    /// A sample without the offset, which each window estimates again: sender and receiver of its
    /// first packet, whether it begins at the source, time, RTT.
    type Plain = ([SocketAddr; 2], bool, Timestamp, TimeDelta);

    fn plain(flow: &PairedFlow, sample: &RttSample) -> Plain {
        let ends = match sample.direction {
            Direction::Forward => [flow.initiator, flow.responder],
            Direction::Reverse => [flow.responder, flow.initiator],
        };
        let is_at_source = sample.reference == Point::Src;
        (ends, is_at_source, sample.time, sample.rtt)
    }

    /// The destination's clock minus the source's.
    const OFFSET: TimeDelta = TimeDelta::from_seconds(-70);

    fn captures() -> TwoCaptures {
        simulate(&Scenario {
            tcp: vec![TcpLoad {
                flows: 3,
                bytes: 4_000_000,
                ..TcpLoad::default()
            }],
            udp: vec![UdpLoad {
                datagrams: 300,
                ..UdpLoad::default()
            }],
            rate_bps: 8_000_000,
            loss_ppm: 5_000,
            offset: OFFSET,
            ..Scenario::default()
        })
    }

    /// The samples of the complete captures.
    fn of_files(captures: &TwoCaptures) -> BTreeSet<Plain> {
        let [src, dst] = [&captures.src, &captures.dst]
            .map(|file| Recording::of_bytes("file".into(), file.clone()));
        let (mut flows, mut found) = (Vec::new(), BTreeSet::new());
        crate::rtt(&src, &dst, &RttOptions::default(), |batch| {
            flows.extend(batch.flows);
            for sample in &batch.samples {
                let flow = flows.iter().find(|flow| flow.flow == sample.flow).unwrap();
                found.insert(plain(flow, sample));
            }
            Ok::<(), Error>(())
        })
        .unwrap();
        found
    }

    /// The samples of live batches; each comes once.
    #[derive(Default)]
    struct Collected {
        flows: Vec<PairedFlow>,
        found: BTreeSet<Plain>,
    }

    impl Collected {
        fn add(&mut self, batch: LiveBatch) {
            self.flows.extend(batch.flows);
            for sample in &batch.samples {
                let mut flows = self.flows.iter();
                let flow = flows.find(|flow| flow.flow == sample.flow).unwrap();
                let is_new = self.found.insert(plain(flow, sample));
                assert!(is_new, "{sample:?} came twice");
            }
        }
    }

    /// The samples of two streams that are read as fast as they come, all kept.
    fn of_streams(inputs: [Box<dyn LiveInput>; 2]) -> BTreeSet<Plain> {
        let mut collected = Collected::default();
        let limits = (1_000_000, Duration::from_millis(1));
        let never = AtomicBool::new(false);
        measure(inputs, &RttOptions::default(), limits, &never, |batch| {
            collected.add(batch);
            Ok::<(), Error>(())
        })
        .unwrap();
        collected.found
    }

    /// The samples of records that arrive in the order of their times, measured each time that a
    /// window of `capacity` packets has moved by an eighth.
    ///
    /// Threads would cut the windows elsewhere in each run.
    fn of_windows(captures: &TwoCaptures, capacity: usize) -> BTreeSet<Plain> {
        let buffers = Buffers::new(capacity);
        let mut measurement = Measurement::default();
        let mut collected = Collected::default();
        let mut window = |before: &[PointCounts; 2]| {
            let taken = buffers.snapshot((before, true), Duration::ZERO, || false);
            let snapshot = taken.unwrap().unwrap();
            let (counts, is_stuck) = (snapshot.counts, snapshot.is_stuck);
            let (batch, settled) = measurement
                .window(snapshot, &RttOptions::default())
                .unwrap();
            collected.add(batch);
            buffers.trim(settled, HISTORY, is_stuck);
            counts
        };
        let mut streams = [&captures.src, &captures.dst].map(|file| Capture::from_bytes(file));
        let mut reached = [Some(Timestamp::MIN); 2];
        let mut counts = [PointCounts::default(); 2];
        for arrived in 1.. {
            let [at_src, at_dst] = reached;
            let point = match [at_src, at_dst.map(|at| at - OFFSET)] {
                [None, None] => break,
                [Some(src), Some(dst)] if src > dst => Point::Dst,
                [None, Some(_)] => Point::Dst,
                _ => Point::Src,
            };
            let stream = streams[point.index()].as_mut().unwrap();
            let record = stream.next_record();
            reached[point.index()] = record.map(|record| {
                let at = record.at.unwrap();
                buffers.push(point, at, &record);
                at
            });
            if arrived % (capacity / 8) == 0 {
                counts = window(&counts);
            }
        }
        buffers.end(Point::Src, None);
        buffers.end(Point::Dst, None);
        window(&counts);
        collected.found
    }

    fn stream(file: &[u8]) -> Box<dyn LiveInput> {
        Box::new(OneStream::new("a pipe".into(), Cursor::new(file.to_vec())))
    }

    #[test]
    fn windows_have_the_samples_of_the_complete_captures() {
        let captures = captures();
        let complete = of_files(&captures);
        assert!(complete.len() > 5_000, "{}", complete.len());
        for capacity in [2_000, 5_000] {
            let live = of_windows(&captures, capacity);
            let difference = live.symmetric_difference(&complete).count();
            assert_eq!(difference, 0, "{capacity} of {}", complete.len());
        }
    }

    #[test]
    fn streams_have_the_samples_of_the_complete_captures() {
        let captures = captures();
        let complete = of_files(&captures);
        let live = of_streams([stream(&captures.src), stream(&captures.dst)]);
        let difference = live.symmetric_difference(&complete).count();
        assert!(difference <= 20, "{difference} of {}", complete.len());
    }

    /// A stream that breaks off after a part of the records and is opened again.
    struct Broken(Vec<Vec<u8>>);

    impl LiveInput for Broken {
        fn open(
            &mut self,
            failure: Option<tcpexp_capture::Error>,
        ) -> Result<Option<Box<dyn Read + Send>>, Error> {
            assert!(failure.is_none());
            let part = (!self.0.is_empty()).then(|| self.0.remove(0));
            Ok(part.map(|part| Box::new(Cursor::new(part)) as Box<_>))
        }
    }

    #[test]
    fn a_stream_that_is_opened_again_goes_on() {
        let captures = captures();
        let mut capture = Capture::from_bytes(&captures.src).unwrap();
        let mut middle = 0;
        for _ in 0..3_000 {
            middle = usize::try_from(capture.next_record().unwrap().offset).unwrap();
        }
        let rest = [&captures.src[..24], &captures.src[middle..]].concat();
        // The last record of the first part is cut in the middle, and is lost.
        let first = captures.src[..middle - 7].to_vec();
        let live = of_streams([Box::new(Broken(vec![first, rest])), stream(&captures.dst)]);
        let complete = of_files(&captures);
        // Pairs next to the lost record have another partner.
        let difference = live.symmetric_difference(&complete).count();
        assert!(difference < 20, "{difference} of {}", complete.len());
    }

    #[test]
    fn a_stream_that_is_no_capture_is_an_error_with_its_name() {
        let captures = captures();
        let inputs = [
            stream(&captures.src),
            stream(b"no capture at all, but text"),
        ];
        let never = AtomicBool::new(false);
        let failure = live_pair(inputs, &RttOptions::default(), &never, |_| {
            Ok::<(), Error>(())
        });
        assert_eq!(failure.unwrap_err().to_string(), "cannot read a pipe");
    }
}
