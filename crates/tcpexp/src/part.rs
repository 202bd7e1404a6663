//! A capture that `tcpexp split` cut out of another one.

use tcpexp_capture::{PART_VERSION, PartEnd};
use tcpexp_flow::FlowShard;
use tcpexp_wire::Tunnels;

use crate::selection::Reading;
use crate::{Error, PartError, Recording, Walk};

impl Recording {
    /// Which part of a capture this is; `None` for a whole capture.
    pub fn part(&self) -> Result<Option<FlowShard>, Error> {
        let Some(head) = self.part_head()? else {
            return Ok(None);
        };
        if head.version != PART_VERSION {
            let version = head.version;
            return Err(self.no_part(PartError::Version { version }));
        }
        Ok(FlowShard::new(head.number, head.count))
    }

    /// Name of the capture in tables: of a part, that of the whole capture.
    pub fn table_name(&self) -> Result<String, Error> {
        let head = self.part_head()?;
        Ok(head.map_or_else(
            || self.name().display().to_string(),
            |head| head.name.clone(),
        ))
    }

    /// Returns an error if this is a part that cannot be read in this way.
    pub(crate) fn require_part_reading(&self, reading: &Reading) -> Result<(), Error> {
        let (Some(shard), Some(head)) = (self.part()?, self.part_head()?) else {
            return Ok(());
        };
        let is_inner = reading.tunnels == Tunnels::Entered;
        let is_other_limit = u64::try_from(self.flow_limit().get()) != Ok(head.max_flows);
        let option = [
            (is_inner != head.inner, "--inner"),
            (is_other_limit, "--max-flows"),
        ];
        if let Some((_, option)) = option.into_iter().find(|(differs, _)| *differs) {
            return Err(self.no_part(PartError::Options { shard, option }));
        }
        let selection = &reading.selection;
        let option = [
            (selection.filter.is_some(), "--filter"),
            (selection.from.is_some(), "--from"),
            (selection.to.is_some(), "--to"),
        ];
        if let Some((_, option)) = option.into_iter().find(|(is_given, _)| *is_given) {
            return Err(self.no_part(PartError::Selected { shard, option }));
        }
        match reading.shard {
            Some(wanted) if wanted != shard => {
                Err(self.no_part(PartError::OtherShard { shard, wanted }))
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if a measurement of a part that keeps results of its first pass for a second one
    /// would differ from that of the whole capture. `walk` is the finished first pass.
    pub(crate) fn require_second_pass(&self, walk: &Walk<'_>) -> Result<(), Error> {
        self.require_whole_passes()?;
        let (Some(shard), Some(head)) = (self.part()?, self.part_head()?) else {
            return Ok(());
        };
        let problem = match walk.capture().part_end() {
            None => PartError::Incomplete { shard },
            Some(end) if end.is_late_out_of_order => PartError::LateOutOfOrder { shard },
            Some(&PartEnd { flows, .. }) if flows > head.max_flows => {
                PartError::TooManyFlows { shard, flows }
            }
            Some(_) => return Ok(()),
        };
        Err(self.no_part(problem))
    }

    /// Returns an error if this is a part: `what` needs packets of all flows.
    pub(crate) fn require_all_flows(&self, what: &'static str) -> Result<(), Error> {
        match self.part()? {
            // The only part has all packets, with the numbers of the whole capture.
            Some(shard) => Err(self.no_part(PartError::AllFlows { shard, what })),
            None => Ok(()),
        }
    }

    /// Returns an error if this is a part: it is one of several files.
    pub(crate) fn require_no_part(&self) -> Result<(), Error> {
        match self.part()? {
            Some(shard) => Err(self.no_part(PartError::InSet { shard })),
            None => Ok(()),
        }
    }

    pub(crate) fn no_part(&self, source: PartError) -> Error {
        Error::Part {
            path: self.name().to_owned(),
            source,
        }
    }
}
