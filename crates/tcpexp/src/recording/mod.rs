//! A capture that supports several passes.

mod probe;
mod source;
mod stored;
mod tags;
mod times;

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use probe::Probed;
use source::Source;
use tcpexp_capture::{Capture, Interface, MappedFile, Passage, Record};
use tcpexp_flow::MAX_FLOWS;
use tcpexp_store::{Object, StoreOptions, as_url};
use tcpexp_wire::Tunnels;

use crate::Error;
use crate::capture_set::CaptureSet;
#[cfg(feature = "tables")]
use crate::contents::Contents;
use crate::described::Described;
use crate::order::Window;
use crate::part_marks::PartReader;
use crate::stored::Stored;
use crate::walk::{REPORT_RECORDS, Walk};

/// A capture file, an object in a store, or a copy of standard input or a pipe.
///
/// Most measurements take several passes, so standard input is copied to an unnamed temporary file.
/// The file disappears when the program ends, even if it is killed.
#[derive(Debug)]
pub struct Recording {
    name: PathBuf,
    source: Source,
    /// `None` unless the source is a file with a name.
    stored: Option<Stored>,
    progress: Arc<AtomicU64>,
    probed: OnceLock<Probed>,
    max_flows: NonZeroUsize,
    stop: Option<Arc<AtomicBool>>,
    /// Options of the stores of a set's files.
    #[cfg_attr(
        not(feature = "tables"),
        expect(dead_code, reason = "only a dataset reads the files of a set again")
    )]
    stores: StoreOptions,
    /// Description of the files of which this is a merged copy.
    copied: Option<Described>,
}

impl Recording {
    /// Opens one capture; `-` is standard input.
    pub(crate) fn open_file(path: &Path, options: &StoreOptions) -> Result<Self, Error> {
        if path.as_os_str() == "-" {
            return Self::spool("standard input".into(), io::stdin().lock());
        }
        if let Some(url) = as_url(path) {
            return Self::open_object(url, options);
        }
        let named = |source| Error::Open {
            path: path.to_owned(),
            source,
        };
        let metadata = std::fs::metadata(path).map_err(named)?;
        if !metadata.is_file() {
            // A pipe allows only one pass.
            return Self::spool(path.to_owned(), File::open(path).map_err(named)?);
        }
        // Empty files and files on some file systems cannot be mapped.
        let file = File::open(path).map_err(named)?;
        let mapped = MappedFile::new(&file).ok();
        let mut stored = file.metadata().ok().as_ref().and_then(Stored::of);
        if let (Some(stored), Some(mapped)) = (&mut stored, &mapped) {
            // The file may have grown between the two calls.
            stored.bytes = mapped.len() as u64;
        }
        Ok(Self {
            stored,
            ..Self::new(path.to_owned(), mapped.map_or(Source::Path, Source::Mapped))
        })
    }

    fn open_object(url: &str, options: &StoreOptions) -> Result<Self, Error> {
        match Object::open(url, options) {
            Ok(object) => Ok(Self::new(object.name().into(), Source::Object(object))),
            Err(source) => Err(Error::Store {
                path: url.into(),
                source,
            }),
        }
    }

    fn new(name: PathBuf, source: Source) -> Self {
        Self {
            name,
            source,
            stored: None,
            progress: Arc::default(),
            probed: OnceLock::new(),
            max_flows: MAX_FLOWS,
            stop: None,
            stores: StoreOptions::default(),
            copied: None,
        }
    }

    /// Reads the file as a stream instead of mapping it: slower, but safe if another program
    /// truncates the file during a pass.
    #[must_use]
    pub fn streamed(mut self) -> Self {
        self.source = self.source.streamed();
        self
    }

    /// Sets the upper bound on the flows that a measurement keeps at once. Beyond it, the least
    /// active flows end early: first those where only one end has sent, then those that have been
    /// silent longest. They are counted in [`CaptureInfo::flows_shed`](crate::CaptureInfo). Default:
    /// 131,072.
    #[must_use]
    pub fn with_max_flows(mut self, max_flows: NonZeroUsize) -> Self {
        self.max_flows = max_flows;
        self
    }

    /// Ends measurements with [`Error::Stopped`] soon after `stop` is set to true, from any thread.
    #[must_use]
    pub fn stopped_by(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Returns an error if the flag of [`stopped_by`](Self::stopped_by) is set, or a store has
    /// failed, so that a pass may have ended early, or if passes may have read different bytes.
    /// Measurements ask after their last pass.
    pub(crate) fn require_whole_passes(&self) -> Result<(), Error> {
        self.require_store()?;
        self.require_same_files()?;
        let stop = self.stop.as_ref();
        if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Error::Stopped {
                path: self.name.clone(),
            });
        }
        Ok(())
    }

    /// Returns an error if a store has failed. A file that breaks off contains what was captured,
    /// so it gives results. An object is complete in its store, so a failed read is an error.
    pub(crate) fn require_store(&self) -> Result<(), Error> {
        self.source.require_store(&self.name)
    }

    /// Copies `input` to a temporary file.
    pub fn spool(name: PathBuf, mut input: impl Read) -> Result<Self, Error> {
        let spooled = tempfile::tempfile().and_then(|mut file| {
            io::copy(&mut input, &mut file)?;
            Ok(file)
        });
        match spooled {
            Ok(file) => Ok(Self::new(name, Source::Spooled(file))),
            Err(source) => Err(Error::Spool { name, source }),
        }
    }

    /// A capture in memory.
    pub(crate) fn of_bytes(name: PathBuf, bytes: Vec<u8>) -> Self {
        Self::new(name, Source::Bytes(bytes))
    }

    /// A merged copy of captures, in an unnamed temporary file.
    pub(crate) fn of_copies(name: PathBuf, file: File, copied: Option<Described>) -> Self {
        Self {
            copied,
            ..Self::new(name, Source::Spooled(file))
        }
    }

    /// A file or object that is opened anew for each pass.
    pub(crate) fn reopened(path: PathBuf, options: &StoreOptions) -> Result<Self, Error> {
        if let Some(url) = as_url(&path) {
            return Self::open_object(url, options);
        }
        let metadata = std::fs::metadata(&path).ok();
        Ok(Self {
            stored: metadata.as_ref().and_then(Stored::of),
            ..Self::new(path, Source::MappedEachPass)
        })
    }

    /// A capture of several parts in order of time.
    pub(crate) fn of_parts(
        name: PathBuf,
        parts: Vec<Self>,
        set: CaptureSet,
        stores: StoreOptions,
    ) -> Self {
        Self {
            stores,
            ..Self::new(name, Source::Parts(parts, Arc::new(set)))
        }
    }

    /// The files of the capture, if it is made of several.
    pub fn set(&self) -> Option<&CaptureSet> {
        match &self.source {
            Source::Parts(_, set) => Some(set),
            _ => None,
        }
    }

    fn parts(&self) -> &[Self] {
        match &self.source {
            Source::Parts(parts, _) => parts,
            _ => std::slice::from_ref(self),
        }
    }

    /// Name in messages.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Length of the file in bytes: the number of bytes that a pass reads.
    pub fn file_bytes(&self) -> u64 {
        match self.stored {
            Some(stored) => stored.bytes,
            None => self.source.bytes(&self.name),
        }
    }

    /// Reads the stored file, or each file of a set, with `read`, which gets the number of bytes that
    /// passes read if another program may append to the file.
    ///
    /// Do not call it during a pass over spooled input: all handles share one file position.
    #[cfg(feature = "tables")]
    pub(crate) fn read_files<T>(
        &self,
        read: impl Fn(Contents, Option<u64>) -> io::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let file = (self.name.as_path(), self.stored);
        self.source.read_files(file, &self.stores, read)
    }

    /// True if [`read_files`](Self::read_files) may be called during a pass.
    #[cfg(feature = "tables")]
    pub(crate) const fn can_be_read_twice_at_once(&self) -> bool {
        !matches!(self.source, Source::Spooled(_))
    }

    /// Counter of the bytes read so far, summed over all passes.
    pub fn progress(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.progress)
    }

    /// Passes each record to `each`, in file order.
    pub(crate) fn each_record(&self, mut each: impl FnMut(&Record<'_>)) -> Result<(), Error> {
        for part in self.parts() {
            let mut capture = part.capture()?;
            while let Some(record) = capture.next_record() {
                each(&record);
            }
            self.progress
                .fetch_add(capture.position(), Ordering::Relaxed);
        }
        self.require_store()
    }

    /// Passes each record and its interface to `each`, in file order, until an error. Describes the
    /// files.
    pub(crate) fn each_described<E: From<Error>>(
        &self,
        mut each: impl FnMut(&Record<'_>, &Interface) -> Result<(), E>,
    ) -> Result<Described, E> {
        let mut described: Option<Described> = None;
        for part in self.parts() {
            let mut capture = part.capture()?;
            let (mut records, mut reported) = (0_u64, 0);
            while let Some((record, interface)) = capture.next_described() {
                each(&record, interface)?;
                records += 1;
                if records.is_multiple_of(REPORT_RECORDS) {
                    let position = capture.position();
                    self.progress
                        .fetch_add(position - reported, Ordering::Relaxed);
                    reported = position;
                    self.require_whole_passes()?;
                }
            }
            self.progress
                .fetch_add(capture.position() - reported, Ordering::Relaxed);
            let copied = part.copied.as_ref();
            let of_part = match copied {
                Some(copied) => copied.clone(),
                None if self.set().is_some() => Described::of(&capture).of_file(part.name()),
                None => Described::of(&capture),
            };
            match &mut described {
                Some(all) => all.add(of_part),
                None => described = Some(of_part),
            }
        }
        self.require_whole_passes()?;
        Ok(described.expect("a recording has a file"))
    }

    /// Starts a pass from the first record.
    pub fn walk(&self, tunnels: Tunnels) -> Result<Walk<'_>, Error> {
        let out_of_order = self.out_of_order()?;
        let mut parts = self.parts().iter();
        let first = parts.next().map_or(self, |part| part);
        let mut walk = Walk::new(first.capture()?, tunnels, self.progress());
        walk.copied = first.copied.as_ref();
        if let Source::Parts(_, set) = &self.source {
            walk.set = Some(set);
            walk.part_path = Some(first.name());
            walk.next_part = Some(Box::new(move || {
                let part = parts.next()?;
                Some(
                    part.capture()
                        .map(|capture| (capture, part.copied.as_ref(), part.name())),
                )
            }));
        }
        walk.part = PartReader::of(self.part_head()?);
        // A part is in the order of a pass over the whole capture.
        walk.out_of_order = walk.part.is_none().then_some(out_of_order);
        walk.max_flows = self.max_flows;
        walk.flows_with_several_tags = self.flows_with_several_tags(tunnels, None)?;
        walk.stop = self.stop.as_deref();
        // A later pass sorts from its first record, because a late record looks like a
        // retransmission.
        if out_of_order.load(Ordering::Relaxed) {
            walk.window = Some(Window::default());
        }
        if let Source::Mapped(file) = &self.source {
            walk.mapped = Some((file, Passage::default()));
        }
        Ok(walk)
    }

    /// Starts a pass that releases the mapped pages it has read, so memory does not grow with the
    /// file. A later pass reads the file again.
    pub fn walk_once(&self, tunnels: Tunnels) -> Result<Walk<'_>, Error> {
        let mut walk = self.walk(tunnels)?;
        if let Some((_, passage)) = &mut walk.mapped {
            *passage = Passage::new(true);
        }
        Ok(walk)
    }

    /// True if the probe or a pass has found records out of order in time.
    pub(crate) fn is_out_of_order(&self) -> Result<bool, Error> {
        Ok(self.out_of_order()?.load(Ordering::Relaxed))
    }

    /// Lets all later passes sort the records by time.
    #[cfg(feature = "tables")]
    pub(crate) fn set_out_of_order(&self) -> Result<(), Error> {
        self.out_of_order()?.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The upper bound on the flows that a measurement keeps at once.
    pub(crate) const fn flow_limit(&self) -> NonZeroUsize {
        self.max_flows
    }

    pub(crate) fn capture(&self) -> Result<Capture<'_>, Error> {
        self.source.capture(&self.name, self.stored)
    }
}
