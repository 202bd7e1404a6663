//! `tcpexp cwnd SRC [DST]`.

use std::sync::Arc;

use anyhow::bail;
use tcpexp::{CwndOptions, LabelledSenderRow, Truth, cwnd};
use tcpexp_logs::score::{Options, Reconstructed, score_all};
use tcpexp_measure::naming::Namer;
use tcpexp_measure::sender::SenderRow;
use tcpexp_table::{
    ControlRow, CwndTable, FLOW_TABLE_WIDTH, Labelled, Ordered, ScoredSender, SenderEvent,
    SenderEventRow, SenderSampleRow, control_columns, score_text, sender_columns,
    sender_event_columns,
};

use crate::cwnd_chart::CwndChart;
use crate::progress::Progress;
use crate::sender_args::CwndArgs;
use crate::shared_args::{SelectArgs, shown_names};
use crate::sheet::Sheet;
use crate::side_table::SideTable;
use crate::warnings;
use crate::{failure, fetched, shown, truth};

pub(crate) fn run(args: &CwndArgs) -> anyhow::Result<()> {
    if let Some(dst) = &args.dst {
        args.sender.require_fitting(&args.src, dst)?;
    }
    let mut results = Results::create(args)?;
    // Reads the log first, to report its errors before the long measurement.
    let truth = args
        .truth
        .as_ref()
        .map(|path| truth::read(&[fetched::local(path)?], args.truth_format));
    let truth = truth.transpose()?;
    let (src, dst) = args.reading.open_both(&args.src, args.dst.as_deref())?;
    let captures: Vec<_> = [Some(&src), dst.as_ref()].into_iter().flatten().collect();
    let passes = if dst.is_some() { 4 } else { 2 } + args.reading.extra_passes(captures.len());
    let progress = Progress::watch(&captures, passes, args.output.quiet);
    let options: CwndOptions = args.sender.options().into();
    let options = options
        .tunnels(args.reading.tunnels())
        .select(args.reading.selection())
        .shard(args.part.shard);
    let infos = cwnd(&src, dst.as_ref(), &options, |rows| {
        rows.into_iter().try_for_each(|row| results.take(row))
    })?;
    drop(progress);
    for (info, capture) in infos.iter().zip(captures) {
        warnings::of_capture(info, capture.name());
    }
    // A part may be empty although the whole is not.
    let must_have_rows = args.part.shard.is_none() && src.part()?.is_none();
    if must_have_rows && results.table.acks() == 0 && !results.found && !args.select.flow.is_empty()
    {
        bail!(
            "no TCP flow in {} matches {}",
            shown::path(&args.src),
            shown_names(&args.select.flow)
        );
    }
    if must_have_rows && results.table.acks() == 0 {
        bail!(
            "no sender in {}: no selected TCP flow has acknowledged data of four segments or more",
            shown::path(&args.src)
        );
    }
    if args.dst.is_some() && results.found && !results.knows_losses {
        failure::print_line(
            "warning: losses on the path are unknown: neither capture was taken at the sender of data that \
             passes both",
        );
    }
    results.finish(truth)
}

/// Accumulated results.
struct Results<'a> {
    select: &'a SelectArgs,
    sheet: Sheet<SenderSampleRow>,
    events: Option<SideTable<SenderEventRow>>,
    controls: Option<SideTable<ControlRow>>,
    /// Names the senders, if asked for.
    namer: Option<Namer>,
    chart: Option<CwndChart>,
    table: CwndTable,
    /// True if a selected flow has a row.
    found: bool,
    /// True if losses on the path are known for at least one sender.
    knows_losses: bool,
    /// Rows to compare with the truth, if a truth is given.
    collected: Option<Reconstructed>,
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
            controls: match &args.control_table {
                Some(path) => Some(SideTable::create(path, control_columns())?),
                None => None,
            },
            namer: (args.control || args.control_table.is_some()).then(Namer::default),
            chart: args.plot.as_ref().map(CwndChart::create).transpose()?,
            table: CwndTable::new(args.select.limit, position).sorted_by(&args.sort),
            found: false,
            knows_losses: false,
            collected: args.truth.is_some().then(Reconstructed::default),
        })
    }

    fn take(&mut self, row: LabelledSenderRow) -> anyhow::Result<()> {
        if !self.select.wants_sender(&row.flow) {
            return Ok(());
        }
        self.found = true;
        let namer = self.namer.as_mut();
        if let Some(named) = namer.and_then(|namer| namer.see(&row.row)) {
            self.table.name(named.clone());
            if let Some(controls) = &mut self.controls {
                let flow = Arc::clone(&row.flow);
                controls.add([Labelled { flow, row: named }])?;
            }
        }
        self.table.add(&row);
        if let Some(chart) = &mut self.chart {
            chart.add(&row);
        }
        if let (Some(collected), Some(ends)) = (&mut self.collected, row.flow.ends) {
            collected.add(ends, &row.row);
        }
        let flow = row.flow;
        let event = match row.row {
            SenderRow::Sample(row) if self.sheet.takes_rows() => {
                return self.sheet.add([Labelled { flow, row }]);
            }
            SenderRow::Recovery(epoch) => SenderEvent::Recovery(epoch),
            SenderRow::Retransmission(retransmitted) => SenderEvent::Retransmission(retransmitted),
            SenderRow::Summary(summary) => {
                self.knows_losses |= summary.lost.is_some();
                return Ok(());
            }
            SenderRow::Sample(_) => return Ok(()),
        };
        match &mut self.events {
            Some(events) => events.add([Labelled { flow, row: event }]),
            None => Ok(()),
        }
    }

    fn finish(mut self, truth: Option<Truth>) -> anyhow::Result<()> {
        let mut text = self.table.into_text(FLOW_TABLE_WIDTH);
        if let (Some(truth), Some(collected)) = (truth, self.collected) {
            warnings::of_truth(&truth);
            if let Some(chart) = &mut self.chart {
                chart.add_truth(&truth.senders);
            }
            text.push('\n');
            text += &score(collected, &truth)?;
        }
        let events = self.events.map(SideTable::complete).transpose()?;
        let controls = self.controls.map(SideTable::complete).transpose()?;
        let chart = self.chart.map(CwndChart::draw).transpose()?;
        let others = [events, controls, chart].into_iter().flatten();
        self.sheet.finish(&text, others)
    }
}

/// Returns the errors of the reconstructed senders as text.
fn score(collected: Reconstructed, truth: &Truth) -> anyhow::Result<String> {
    let scores = score_all(&collected.finish(), &truth.senders, Options::default());
    let named: Vec<ScoredSender> = scores
        .into_iter()
        .filter(|score| score.is_reconstructed)
        .map(|score| ScoredSender {
            name: "against the log".to_owned(),
            score,
        })
        .collect();
    if named.is_empty() {
        bail!("the log contains none of the selected senders of the capture");
    }
    Ok(score_text(&named))
}
