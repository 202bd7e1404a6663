//! What a kernel logged while a capture was taken.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;

/// A time in seconds as text, in nanoseconds.
fn nanos(text: &str) -> i64 {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let fraction = format!("{fraction:0<9}");
    seconds.parse::<i64>().unwrap() * 1_000_000_000 + fraction[..9].parse::<i64>().unwrap()
}

/// One line of `tcp_probe`: the state when a segment arrives, before it is processed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) at: i64,
    pub(crate) port: u16,
    pub(crate) una: u32,
    pub(crate) nxt: u32,
    pub(crate) cwnd: u32,
    /// `tcp_current_ssthresh`: outside of recovery at least three quarters of the window.
    pub(crate) ssthresh: u32,
    pub(crate) srtt_micros: u32,
}

/// A recovery or a timeout by `tcp_cong_state_set`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch {
    pub(crate) port: u16,
    pub(crate) began: i64,
    pub(crate) ended: Option<i64>,
    pub(crate) is_timeout: bool,
}

/// The last line of `TCP_INFO`: times in microseconds since the connection began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) at: i64,
    pub(crate) busy: i64,
    pub(crate) rwnd_limited: i64,
}

/// All that was logged of one experiment.
#[derive(Debug, Default)]
pub(crate) struct KernelLog {
    pub(crate) probes: Vec<Probe>,
    /// `None` where congestion states were not logged.
    pub(crate) epochs: Option<Vec<Epoch>>,
    pub(crate) times: Option<Times>,
}

fn lines(path: &Path) -> impl Iterator<Item = String> {
    BufReader::new(GzDecoder::new(File::open(path).unwrap()))
        .lines()
        .map(Result::unwrap)
}

impl KernelLog {
    pub(crate) fn read(folder: &Path) -> Self {
        let csv = folder.join("probe.csv.gz");
        if csv.exists() {
            return Self {
                probes: lines(&csv).skip(1).map(|line| probe(&line)).collect(),
                ..Self::default()
            };
        }
        Self {
            times: lines(&folder.join("tcpinfo.csv.gz"))
                .last()
                .map(|line| times(&line)),
            ..Self::read_trace(&folder.join("trace.txt.gz"))
        }
    }

    fn read_trace(path: &Path) -> Self {
        let mut probes = Vec::new();
        let mut epochs: Vec<Epoch> = Vec::new();
        for line in lines(path) {
            let Some((at, event, fields)) = event(&line) else {
                continue;
            };
            let value = |key: &str| {
                let mut words = fields.split_whitespace().filter_map(|w| w.split_once('='));
                words.find(|(name, _)| *name == key).unwrap().1
            };
            let hex = |key| u32::from_str_radix(&value(key)[2..], 16).unwrap();
            match event {
                "tcp_probe" => probes.push(Probe {
                    at,
                    port: port(value("src")),
                    una: hex("snd_una"),
                    nxt: hex("snd_nxt"),
                    cwnd: value("snd_cwnd").parse().unwrap(),
                    ssthresh: value("ssthresh").parse().unwrap(),
                    srtt_micros: value("srtt").parse().unwrap(),
                }),
                "tcp_cong_state_set" => {
                    let port = value("sport").parse().unwrap();
                    change(&mut epochs, port, at, value("cong_state").parse().unwrap());
                }
                _ => {}
            }
        }
        Self {
            probes,
            epochs: Some(epochs),
            times: None,
        }
    }
}

/// Time, name and fields of a line of tracefs.
fn event(line: &str) -> Option<(i64, &str, &str)> {
    let (head, fields) = line.split_once(": tcp_")?;
    let at = nanos(head.split_whitespace().last()?);
    let (name, fields) = fields.split_once(": ")?;
    let start = line.len() - fields.len() - 2 - name.len() - "tcp_".len();
    Some((at, &line[start..start + name.len() + "tcp_".len()], fields))
}

fn port(endpoint: &str) -> u16 {
    endpoint.rsplit(':').next().unwrap().parse().unwrap()
}

fn probe(line: &str) -> Probe {
    let fields: Vec<&str> = line.split(',').collect();
    let number = |index: usize| fields[index].parse::<u64>().unwrap();
    let narrow = |index| u32::try_from(number(index)).unwrap();
    Probe {
        at: nanos(fields[0]),
        port: port(fields[1]),
        nxt: narrow(3),
        una: narrow(4),
        cwnd: narrow(5),
        ssthresh: narrow(6),
        srtt_micros: narrow(8),
    }
}

fn times(line: &str) -> Times {
    let fields: Vec<&str> = line.split(',').collect();
    Times {
        at: nanos(fields[0]),
        busy: fields[11].parse().unwrap(),
        rwnd_limited: fields[12].parse().unwrap(),
    }
}

/// States 3 and 4 are recovery and loss; one that follows the other begins an epoch of its own.
fn change(epochs: &mut Vec<Epoch>, port: u16, at: i64, state: u8) {
    let running = epochs.iter_mut().rev().find(|epoch| epoch.port == port);
    let running = running.filter(|epoch| epoch.ended.is_none());
    let began = match (running, state) {
        (Some(running), 3 | 4) if running.is_timeout == (state == 4) => false,
        (Some(running), _) => {
            running.ended = Some(at);
            state == 3 || state == 4
        }
        (_, state) => state == 3 || state == 4,
    };
    if began {
        epochs.push(Epoch {
            port,
            began: at,
            ended: None,
            is_timeout: state == 4,
        });
    }
}
