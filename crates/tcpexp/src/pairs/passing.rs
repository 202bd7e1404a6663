//! Failures that say nothing about the captures of a pair.

use std::error::Error as StdError;
use std::io;

use rustix::io::Errno;
use tcpexp_store::Error as StoreError;

use crate::{DatasetError, Error};

/// True for an error that is no fault of the captures, so that the pair may succeed later.
pub(super) fn is_passing(error: &Error) -> bool {
    match error {
        Error::Store { source, .. } => *source != StoreError::NotFound,
        Error::Write { .. }
        | Error::Encode { .. }
        | Error::Spool { .. }
        | Error::Stopped { .. }
        | Error::Changed { .. }
        | Error::Dataset(DatasetError::NoFolder { .. } | DatasetError::NotOurs { .. }) => true,
        other => {
            let other: &(dyn StdError + 'static) = other;
            let mut causes = std::iter::successors(Some(other), |&error| error.source());
            causes.any(|cause| cause.downcast_ref().is_some_and(is_passing_io))
        }
    }
}

/// Numbers of errors that the path of a capture or the kind of the file has, again in a later run. After
/// a change of the path or of its permissions, the part has another name, so the pair is tried again.
const OF_THE_PATH: [Errno; 10] = [
    Errno::NOENT,
    Errno::NOTDIR,
    Errno::ISDIR,
    Errno::ACCESS,
    Errno::PERM,
    Errno::LOOP,
    Errno::NAMETOOLONG,
    Errno::INVAL,
    Errno::NODEV,
    Errno::NXIO,
];

/// True for an error of the machine, its disks, its network or an object store, such as too many open
/// files (EMFILE). The errors of decoders have no number of the operating system.
pub(super) fn is_passing_io(error: &io::Error) -> bool {
    if let Some(errno) = Errno::from_io_error(error) {
        return !OF_THE_PATH.contains(&errno);
    }
    let Some(inner) = error.get_ref() else {
        return error.kind() == io::ErrorKind::OutOfMemory;
    };
    // `source` of an error that wraps another skips the wrapped error.
    let is_passing_store = |error: &StoreError| *error != StoreError::NotFound;
    inner.downcast_ref().is_some_and(is_passing_io)
        || inner.downcast_ref().is_some_and(is_passing_store)
}

#[cfg(test)]
mod tests {
    use tcpexp_capture::Error as CaptureError;

    use super::*;

    fn at_opening(source: io::Error) -> Error {
        Error::Open {
            path: "src.pcap".into(),
            source,
        }
    }

    fn at_reading(source: io::Error) -> Error {
        Error::Capture {
            path: "src.pcap".into(),
            source: CaptureError::Read { source },
        }
    }

    #[test]
    fn failures_of_the_machine_are_not_final_results_of_a_pair() {
        let passing = [
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOMEM,
            Errno::IO,
            Errno::STALE,
            Errno::TIMEDOUT,
        ];
        for errno in passing {
            assert!(is_passing(&at_opening(errno.into())), "{errno}");
            assert!(is_passing(&at_reading(errno.into())), "{errno}");
            // The decoder of a compressed capture wraps the error of the file.
            let decoder = io::Error::other(io::Error::from(errno));
            assert!(is_passing(&at_reading(decoder)), "{errno}");
        }
        assert!(is_passing(&at_reading(io::ErrorKind::OutOfMemory.into())));
        let throttled = StoreError::Failed {
            reason: "503 Slow Down".to_owned(),
        };
        assert!(is_passing(&at_opening(io::Error::other(throttled))));
    }

    #[test]
    fn failures_of_a_capture_are_final_results_of_its_pair() {
        for errno in OF_THE_PATH {
            assert!(!is_passing(&at_opening(errno.into())), "{errno}");
        }
        assert!(!is_passing(&at_reading(
            io::ErrorKind::UnexpectedEof.into()
        )));
        let corrupt = io::Error::new(io::ErrorKind::InvalidData, "corrupt deflate stream");
        assert!(!is_passing(&at_reading(corrupt)));
        assert!(!is_passing(&at_opening(io::Error::other(
            StoreError::NotFound
        ))));
        assert!(!is_passing(&Error::Capture {
            path: "src.pcap".into(),
            source: CaptureError::Empty,
        }));
    }
}
