//! What the first passes over two captures learn, as a file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tcpexp_pair::path::FirstPass;
use tcpexp_pair::spp::{Alignment, PairedFlow};
use tcpexp_units::{TimeDelta, Timestamp};

use crate::{Error, SurveyError, checksum};

/// Kind of the file.
const KIND: &str = "tcpexp survey";

/// Version of the file's fields.
const VERSION: u32 = 11;

/// Number and length of the samples of a file that its checksum covers. A checksum of the whole
/// file would take as long as the passes that a survey saves.
const SAMPLES: u64 = 64;
const SAMPLE_BYTES: u64 = 1 << 16;

/// The results of the first passes over two captures: the fields that identify packets, the clocks,
/// the smallest delays, and the flows that correspond under address translation.
///
/// [`rtt`](fn@crate::rtt), [`path`](fn@crate::path) and [`analyze`](fn@crate::analyze) take a survey
/// in place of these passes, with equal results. A survey is valid for its captures and for the
/// options that it was made with; any other use is an error.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PairSurvey {
    pub(crate) kind: String,
    pub(crate) version: u32,
    pub(crate) tcpexp_version: String,
    /// SHA-256 of the file with [zeros](no_checksum) in this place. Without it, tcpexp would accept a survey
    /// with a changed digit.
    pub(crate) sha256: String,
    /// Source first.
    pub(crate) captures: [Surveyed; 2],
    pub(crate) options: Options,
    pub(crate) alignment: Alignment,
    pub(crate) first_pass: FirstPass,
    pub(crate) translated_flows: Vec<TranslatedFlow>,
    /// Where it was read from, for messages.
    #[serde(skip)]
    pub(crate) path: PathBuf,
}

/// A capture of a survey.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Surveyed {
    pub(crate) path: String,
    pub(crate) files: Vec<Fingerprint>,
    /// True if a pass found records out of order in time, so that later passes sort them.
    pub(crate) is_out_of_order: bool,
    /// The selected times on the clock of this capture; `None` for all.
    pub(crate) selected_ns: Option<[Timestamp; 2]>,
}

/// Identity of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    pub(crate) bytes: u64,
    /// SHA-256 of [`SAMPLES`] evenly spaced samples; of the whole file if it is not longer.
    pub(crate) sha256_of_samples: String,
}

/// The options that the passes depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Options {
    pub(crate) filter: Option<String>,
    pub(crate) from_ns: Option<Timestamp>,
    pub(crate) to_ns: Option<Timestamp>,
    pub(crate) inner: bool,
    pub(crate) max_owd: TimeDelta,
    #[serde(default)]
    pub(crate) one_clock: bool,
    pub(crate) max_flows: usize,
}

/// A flow whose addresses or ports differ at the two points.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TranslatedFlow {
    /// Number in the measurements of both captures.
    pub(crate) flow: u32,
    pub(crate) protocol: String,
    /// Numbers in the measurements of one capture, source first.
    pub(crate) in_captures: [u32; 2],
    /// Initiator and responder at the source.
    pub(crate) at_src: [SocketAddr; 2],
    /// Initiator and responder at the destination.
    pub(crate) at_dst: [SocketAddr; 2],
}

impl PairSurvey {
    /// A survey of this version.
    pub(crate) fn new(
        captures: [Surveyed; 2],
        options: Options,
        alignment: Alignment,
        first_pass: FirstPass,
        translated_flows: Vec<TranslatedFlow>,
    ) -> Self {
        Self {
            kind: KIND.to_owned(),
            version: VERSION,
            tcpexp_version: env!("CARGO_PKG_VERSION").to_owned(),
            sha256: no_checksum(),
            captures,
            options,
            alignment,
            first_pass,
            translated_flows,
            path: PathBuf::new(),
        }
    }

    /// Reads a survey from a file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        /// The fields that every version has.
        #[derive(Deserialize)]
        struct Head {
            kind: String,
            version: u32,
            tcpexp_version: String,
        }
        let cannot_open = |source| Error::Open {
            path: path.to_owned(),
            source,
        };
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(cannot_open)?;
        let unread = |source| SurveyError::Parse {
            path: path.to_owned(),
            source,
        };
        let text: serde_json::Value = serde_json::from_slice(&bytes).map_err(unread)?;
        let head = Head::deserialize(&text).map_err(unread)?;
        if head.kind != KIND || head.version != VERSION {
            return Err(SurveyError::OtherKind {
                path: path.to_owned(),
                kind: format!("\"{}\", version {}", head.kind, head.version),
            }
            .into());
        }
        // What is learned may change between versions of tcpexp without a change of the fields.
        if head.tcpexp_version != env!("CARGO_PKG_VERSION") {
            return Err(SurveyError::OtherKind {
                path: path.to_owned(),
                kind: format!("a file of tcpexp {}", head.tcpexp_version),
            }
            .into());
        }
        let survey: Self = serde_json::from_value(text).map_err(unread)?;
        let written = String::from_utf8_lossy(&bytes);
        let unsigned = written.replacen(&survey.sha256, &no_checksum(), 1);
        let (_, sha256) = checksum::of(unsigned.as_bytes()).map_err(cannot_open)?;
        if sha256 != survey.sha256 {
            return Err(SurveyError::Damaged {
                path: path.to_owned(),
            }
            .into());
        }
        Ok(Self {
            path: path.to_owned(),
            ..survey
        })
    }

    /// Writes the survey as JSON. Equal surveys give equal bytes.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let unsigned = Self {
            sha256: no_checksum(),
            ..self.clone()
        };
        let mut text = serde_json::to_string_pretty(&unsigned)?;
        text.push('\n');
        let (_, sha256) = checksum::of(text.as_bytes())?;
        // The checksum stands before anything that a user names.
        let text = text.replacen(&no_checksum(), &sha256, 1);
        out.write_all(text.as_bytes())
    }

    /// Number of flows whose addresses or ports are translated.
    pub fn translated_flows(&self) -> usize {
        self.translated_flows.len()
    }
}

/// What stands in place of a checksum while it is computed.
fn no_checksum() -> String {
    "0".repeat(64)
}

impl Options {
    /// The option of the command line that differs, if any.
    pub(crate) fn first_difference(&self, other: &Self) -> Option<&'static str> {
        let differences = [
            (self.filter != other.filter, "--filter"),
            (self.from_ns != other.from_ns, "--from"),
            (self.to_ns != other.to_ns, "--to"),
            (self.inner != other.inner, "--inner"),
            (self.max_owd != other.max_owd, "--max-owd"),
            (self.one_clock != other.one_clock, "--one-clock"),
            (self.max_flows != other.max_flows, "--max-flows"),
        ];
        let (_, option) = differences.into_iter().find(|(differs, _)| *differs)?;
        Some(option)
    }
}

impl TranslatedFlow {
    pub(crate) fn of(flow: &PairedFlow) -> Option<Self> {
        let (initiator, responder) = **flow.translated.as_ref()?;
        Some(Self {
            flow: flow.flow.0,
            protocol: flow.protocol.name().to_owned(),
            in_captures: flow.local.map(|local| local.flow.0),
            at_src: [flow.initiator, flow.responder],
            at_dst: [initiator, responder],
        })
    }
}

impl Fingerprint {
    /// The identity of a file, or of its first `stored` bytes.
    pub(crate) fn of(mut file: impl Read + Seek, stored: Option<u64>) -> io::Result<Self> {
        let bytes = match stored {
            Some(bytes) => bytes,
            None => file.seek(SeekFrom::End(0))?,
        };
        file.rewind()?;
        let mut samples = Vec::new();
        if bytes <= SAMPLES * SAMPLE_BYTES {
            (&mut file).take(bytes).read_to_end(&mut samples)?;
        } else {
            for sample in 0..SAMPLES {
                let from = (bytes - SAMPLE_BYTES) / (SAMPLES - 1) * sample;
                file.seek(SeekFrom::Start(from))?;
                (&mut file).take(SAMPLE_BYTES).read_to_end(&mut samples)?;
            }
        }
        let (_, sha256_of_samples) = checksum::of(samples.as_slice())?;
        Ok(Self {
            bytes,
            sha256_of_samples,
        })
    }
}
