//! Inputs of the comparison between reconstructed and logged sender state.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use tcpexp_logs::import::{Batch, Format};
use tcpexp_logs::score::{NamedRecord, Reconstructed, kernel_records, tabled_records};
use tcpexp_table::{SenderSampleRow, read_senders, table_format};

use crate::{CaptureInfo, CwndOptions, Error, LogFile, LogReport, Recording, cwnd};

/// Number of bytes at the start of a file from which a table is recognised.
const START_BYTES: u64 = 32;

/// Sender state from the logs or a table of a kernel.
#[derive(Clone, Debug)]
pub struct Truth {
    /// The senders.
    pub senders: Vec<NamedRecord>,
    /// Statistics of each log by file; empty for a table.
    pub logs: Vec<(PathBuf, LogReport)>,
}

/// Reads the rows at `path` if the file is a table of sender state.
pub fn sender_table(path: &Path) -> Result<Option<Vec<SenderSampleRow>>, Error> {
    let named = |source| Error::Open {
        path: path.to_owned(),
        source,
    };
    // Recognising a table in a pipe would take the first bytes away from the reader of the log.
    if !std::fs::metadata(path).map_err(named)?.is_file() {
        return Ok(None);
    }
    let mut file = File::open(path).map_err(named)?;
    let mut start = Vec::new();
    let read = (&mut file).take(START_BYTES).read_to_end(&mut start);
    read.map_err(named)?;
    let Some(format) = table_format(&start) else {
        return Ok(None);
    };
    file.rewind().map_err(named)?;
    let rows = read_senders(format, file);
    rows.map(Some).map_err(|source| Error::Table {
        path: path.to_owned(),
        source,
    })
}

/// Reconstructs all senders of a capture for the comparison with their logs.
///
/// Memory grows with the number of ACKs.
pub fn reconstructed_senders(
    recording: &Recording,
    options: &CwndOptions,
) -> Result<(Vec<NamedRecord>, CaptureInfo), Error> {
    let mut collected = Reconstructed::default();
    let mut infos = cwnd(recording, None, options, |rows| {
        for row in &rows {
            if let Some(ends) = row.flow.ends {
                collected.add(ends, &row.row);
            }
        }
        Ok::<(), Error>(())
    })?;
    Ok((collected.finish(), infos.swap_remove(0)))
}

/// Collects the rows of a table into records, one per sender.
pub fn tabled_senders(rows: &[SenderSampleRow]) -> Vec<NamedRecord> {
    tabled_records(rows.iter().map(|row| (row.flow.ends, row.row)))
}

/// Reads the logs of one host, or one table of its sender state.
///
/// `format` applies to all logs. If it is `None`, each log's format is recognised from the start of
/// the file.
pub fn logged_senders(paths: &[PathBuf], format: Option<Format>) -> Result<Truth, Error> {
    // Several files are logs of one host. A table stands alone, because it has all senders.
    if let [path] = paths
        && path.as_os_str() != "-"
        && let Some(rows) = sender_table(path)?
    {
        return Ok(Truth {
            senders: tabled_senders(&rows),
            logs: Vec::new(),
        });
    }
    let (mut batches, mut logs) = (Vec::new(), Vec::new());
    for path in paths {
        let mut log = LogFile::open(path)?;
        let format = match format {
            Some(format) => format,
            None => log.guess()?,
        };
        if !format.has_states() {
            return Err(Error::Nothing {
                path: path.clone(),
                why: format!(
                    "a log of {} has numbers of whole intervals, and no states to compare",
                    format.name()
                ),
            });
        }
        let name = log.name().to_owned();
        // `kernel_records` takes one batch with all rows of a log.
        let mut whole = Batch::default();
        let report = log.read(format, |batch| {
            whole.flows.extend(batch.flows);
            whole.samples.extend(batch.samples);
            whole.state_changes.extend(batch.state_changes);
            whole.retransmits.extend(batch.retransmits);
            whole.counters.extend(batch.counters);
            whole.lost_events += batch.lost_events;
            Ok::<(), Error>(())
        })?;
        batches.push(whole);
        logs.push((name, report));
    }
    Ok(Truth {
        senders: kernel_records(&batches),
        logs,
    })
}
