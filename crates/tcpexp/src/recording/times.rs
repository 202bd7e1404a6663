//! Times of the first and the last record.

use tcpexp_units::Timestamp;

use super::Recording;
use crate::Error;
use crate::order::WINDOW;

impl Recording {
    /// Time of the first record. If records are out of order in the file, the earliest counts.
    pub(crate) fn start(&self) -> Result<Timestamp, Error> {
        let times = self.first_times(WINDOW)?;
        times.into_iter().min().ok_or_else(|| self.timeless())
    }

    /// Time of the last record. Reads the capture to its end.
    pub(crate) fn end(&self) -> Result<Timestamp, Error> {
        let mut latest = None;
        for part in self.parts() {
            let mut capture = part.capture()?;
            while let Some(record) = capture.next_record() {
                latest = latest.max(record.at.ok());
            }
        }
        self.require_store()?;
        latest.ok_or_else(|| self.timeless())
    }

    /// Times of the first records that have one, at most `count`.
    fn first_times(&self, count: usize) -> Result<Vec<Timestamp>, Error> {
        let mut times = Vec::new();
        for part in self.parts() {
            if times.len() == count {
                break;
            }
            let mut capture = part.capture()?;
            while times.len() < count {
                let Some(record) = capture.next_record() else {
                    break;
                };
                times.extend(record.at);
            }
        }
        self.require_store()?;
        Ok(times)
    }

    fn timeless(&self) -> Error {
        Error::Nothing {
            path: self.name.clone(),
            why: "no record has a time".to_owned(),
        }
    }
}
