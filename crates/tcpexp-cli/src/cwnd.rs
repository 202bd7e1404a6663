//! `tcpexp cwnd SRC [DST]`.

use std::sync::Arc;

use anyhow::bail;
use tcpexp::measure::sender::SenderRow;
use tcpexp::table::{
    CwndTable, FLOW_TABLE_WIDTH, Labelled, SenderEvent, SenderEventRow, SenderLabel,
    SenderSampleRow, sender_columns, sender_event_columns,
};
use tcpexp::{LabelledSenderRow, cwnd};

use crate::args::{CwndArgs, SelectArgs, wrong_usage};
use crate::flows::warn;
use crate::output::Output;
use crate::progress::Progress;
use crate::sheet::Sheet;
use crate::side_table::SideTable;

pub(crate) fn run(args: &CwndArgs) -> anyhow::Result<()> {
    if let Some(dst) = &args.dst {
        if args.src.as_os_str() == "-" && dst.as_os_str() == "-" {
            return Err(wrong_usage(
                "only one of the two captures can be standard input",
            ));
        }
        if args.sender.position.is_some() {
            return Err(wrong_usage(
                "two captures are taken at two places: use --position with one",
            ));
        }
    }
    let mut results = Results::create(args)?;
    let src = args.reading.open(&args.src)?;
    let dst = args.dst.as_deref().map(|dst| args.reading.open(dst));
    let dst = dst.transpose()?;
    let captures: Vec<_> = [Some(&src), dst.as_ref()].into_iter().flatten().collect();
    let progress = Progress::watch(&captures, 2, args.output.quiet);
    let (tunnels, options) = (args.reading.tunnels(), args.sender.options());
    let infos = cwnd(&src, dst.as_ref(), tunnels, options, |rows| {
        rows.into_iter().try_for_each(|row| results.take(row))
    })?;
    drop(progress);
    for (info, capture) in infos.iter().zip(captures) {
        warn(info, capture.name());
    }
    if results.table.acks() == 0 {
        bail!(
            "no sender in {}: no data was acknowledged in a TCP flow that was asked for",
            args.src.display()
        );
    }
    results.finish()
}

/// What has been reconstructed so far.
struct Results<'a> {
    select: &'a SelectArgs,
    sheet: Sheet<SenderSampleRow>,
    events: Option<SideTable<SenderEventRow>>,
    table: CwndTable,
}

impl<'a> Results<'a> {
    fn create(args: &'a CwndArgs) -> anyhow::Result<Self> {
        let position = args.sender.options().position;
        Ok(Self {
            select: &args.select,
            sheet: Sheet::create(&args.output, sender_columns())?,
            events: match &args.events {
                Some(path) => Some(SideTable::create(path, sender_event_columns())?),
                None => None,
            },
            table: CwndTable::new(args.select.limit, position),
        })
    }

    fn take(&mut self, row: LabelledSenderRow) -> anyhow::Result<()> {
        if !wants(self.select, &row.flow) {
            return Ok(());
        }
        self.table.add(&row);
        let flow = row.flow;
        let event = match row.row {
            SenderRow::Sample(row) if self.sheet.takes_rows() => {
                return self.sheet.add([Labelled { flow, row }]);
            }
            SenderRow::Recovery(epoch) => SenderEvent::Recovery(epoch),
            SenderRow::Resent(resent) => SenderEvent::Resent(resent),
            SenderRow::Sample(_) | SenderRow::Summary(_) => return Ok(()),
        };
        match &mut self.events {
            Some(events) => events.add([Labelled { flow, row: event }]),
            None => Ok(()),
        }
    }

    fn finish(self) -> anyhow::Result<()> {
        let events = self.events.map(SideTable::complete).transpose()?;
        self.sheet.finish(&self.table.into_text(FLOW_TABLE_WIDTH))?;
        events.map_or(Ok(()), Output::finish)
    }
}

fn wants(select: &SelectArgs, label: &Arc<SenderLabel>) -> bool {
    let SenderLabel { flow, ends, .. } = **label;
    ends.is_some_and(|(initiator, responder)| select.wants(flow, initiator, responder))
}
