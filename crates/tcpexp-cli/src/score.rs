//! `tcpexp score RECONSTRUCTED TRUTH`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use tcpexp::{
    CwndOptions, logged_drops, loss_score, reconstructed_senders, sender_table, tabled_senders,
};
use tcpexp_flow::MAX_FLOWS;
use tcpexp_logs::score::{NamedRecord, Options, SenderScore, score_all};
use tcpexp_table::{
    ScoredPath, ScoredRow, ScoredSender, loss_score_text, score_columns, score_text,
};
use tcpexp_units::counted;

use crate::progress::Progress;
use crate::score_pairs::{Found, LoggedPath, Pair, found};
use crate::sender_args::{PositionArg, ProfileArg, ScoreArgs};
use crate::shared_args::wrong_usage;
use crate::sheet::Sheet;
use crate::{failure, fetched, places, shown, truth, warnings};

/// Number of passes over a source capture to find the losses on the path.
const LOSS_PASSES: u64 = 3;

pub(crate) fn run(args: &ScoreArgs) -> anyhow::Result<()> {
    if args
        .inputs
        .iter()
        .filter(|input| input.as_os_str() == "-")
        .count()
        > 1
    {
        return Err(wrong_usage("only one file can be standard input"));
    }
    let at_receiver = args.sender.position == Some(PositionArg::Receiver);
    let inputs: anyhow::Result<Vec<PathBuf>> = args
        .inputs
        .iter()
        .map(|input| fetched::local_with_captures(input))
        .collect();
    let Found {
        pairs,
        paths,
        unpaired,
    } = found(&inputs?, at_receiver)?;
    warn_of_unpaired(&unpaired);
    let of_pairs = pairs.iter().flat_map(|pair| {
        let truth = pair.truth.iter();
        truth.chain([&pair.reconstructed]).map(PathBuf::as_path)
    });
    let of_paths = paths.iter().flat_map(|path| {
        let files = [&path.src, &path.dst, &path.drops];
        files.map(PathBuf::as_path)
    });
    places::check_found(args.output.output.as_deref(), of_pairs.chain(of_paths))?;
    let has_senders = !pairs.is_empty();
    let mut sheet = Sheet::create(&args.output, score_columns())?;
    let mut all = Vec::new();
    for pair in pairs {
        let reconstructed = reconstructed(args, &pair)?;
        let truth = truth::read(&pair.truth, args.truth_format)?;
        warnings::of_truth(&truth);
        if truth
            .senders
            .iter()
            .any(|sender| sender.record.epochs_polled)
        {
            failure::print_line(&format!(
                "warning: {}: polls of a sender's state miss the recoveries between them, so recoveries and the \
                 causes of retransmissions are not compared",
                pair.name
            ));
        }
        let tabled = |senders: &[NamedRecord]| senders.iter().any(|one| one.record.epochs_tabled);
        let has_epochs = truth
            .senders
            .iter()
            .any(|one| !one.record.epochs.is_empty());
        if has_epochs && (tabled(&reconstructed) || tabled(&truth.senders)) {
            failure::print_line(&format!(
                "warning: {}: a table lacks the recoveries that begin and end between two of its rows, so \
                 recoveries and the causes of retransmissions are not compared",
                pair.name
            ));
        }
        // Acknowledgments in the log show its clock offset. Without them, the default of 0 assumes one clock.
        let scores = score_all(&reconstructed, &truth.senders, Options::default());
        sheet.add(rows(&pair, &scores))?;
        all.extend(scores.into_iter().map(|score| ScoredSender {
            name: pair.name.clone(),
            score,
        }));
    }
    if has_senders && !all.iter().any(|scored| scored.score.is_reconstructed) {
        bail!("nothing to compare: reconstruction and truth have no sender in common");
    }
    let mut losses = Vec::new();
    for path in paths {
        losses.push(scored_path(args, path, &mut sheet)?);
    }
    let mut texts = Vec::new();
    if has_senders {
        texts.push(score_text(&all));
    }
    if !losses.is_empty() {
        texts.push(loss_score_text(&losses));
    }
    sheet.finish(&texts.join("\n"), [])
}

/// Warns about the runs that have captures and logs, but nothing to compare.
fn warn_of_unpaired(runs: &[String]) {
    if let [first, others @ ..] = runs {
        let runs = match others.len() {
            0 => format!("run {first}"),
            more => format!("run {first} and {}", counted(more, "more run")),
        };
        failure::print_line(&format!(
            "warning: left out {runs}: no tcp_probe log with a capture to compare"
        ));
    }
}

/// Compares the losses between two captures with the drops of the bottleneck between them.
fn scored_path(
    args: &ScoreArgs,
    path: LoggedPath,
    sheet: &mut Sheet<ScoredRow>,
) -> anyhow::Result<ScoredPath> {
    let LoggedPath {
        name,
        src,
        dst,
        drops,
    } = path;
    let (from, to) = (args.reading.open(&src)?, args.reading.open(&dst)?);
    let (logged, is_cut) = logged_drops(&drops)?;
    if is_cut {
        failure::print_line(&format!(
            "warning: {}: the log ends early; its complete lines were used",
            drops.display()
        ));
    }
    let progress = Progress::watch(
        &[&from, &to],
        LOSS_PASSES + args.reading.extra_passes(2),
        args.output.quiet,
    );
    let (score, infos) = loss_score(&from, &to, &args.reading.capture_options(), &logged)?;
    drop(progress);
    for (info, path) in infos.iter().zip([&src, &dst]) {
        warnings::of_capture(info, path);
    }
    let [from, to, truth] = [&src, &dst, &drops].map(|path| fetched::as_given(path));
    let reconstructed: Arc<str> = format!("{},{}", from.display(), to.display()).into();
    let truth: Arc<str> = truth.display().to_string().into();
    let row = |row| ScoredRow {
        reconstructed: Arc::clone(&reconstructed),
        truth: Arc::clone(&truth),
        ends: None,
        is_reconstructed: true,
        row,
    };
    sheet.add(score.rows().into_iter().map(row))?;
    Ok(ScoredPath { name, score })
}

/// Reads the senders of a table, or reconstructs the senders of a capture.
fn reconstructed(args: &ScoreArgs, pair: &Pair) -> anyhow::Result<Vec<NamedRecord>> {
    let path = &pair.reconstructed;
    if path.as_os_str() != "-"
        && let Some(rows) = sender_table(path)?
    {
        if let Some(option) = option_of_captures(args) {
            return Err(wrong_usage(&format!(
                "{option} is for captures, and {} is a table",
                shown::path(&fetched::as_given(path))
            )));
        }
        return Ok(tabled_senders(&rows));
    }
    let recording = args.reading.open(path)?;
    let progress = Progress::watch(&[&recording], 2, args.output.quiet);
    let options: CwndOptions = args.sender.options().into();
    let options = options
        .tunnels(args.reading.tunnels())
        .select(args.reading.selection());
    let (senders, info) = reconstructed_senders(&recording, &options)?;
    drop(progress);
    warnings::of_capture(&info, path);
    Ok(senders)
}

/// An option that changes the reconstruction from a capture, which a table already has.
fn option_of_captures(args: &ScoreArgs) -> Option<&'static str> {
    let (reading, sender) = (&args.reading, &args.sender);
    let options = [
        (reading.inner, "--inner"),
        (reading.filter.is_some(), "--filter"),
        (reading.from.is_some(), "--from"),
        (reading.to.is_some(), "--to"),
        (reading.max_flows != MAX_FLOWS, "--max-flows"),
        (sender.position.is_some(), "--position"),
        (sender.profile != ProfileArg::Linux, "--profile"),
    ];
    let given = options.into_iter().find(|(is_given, _)| *is_given);
    given.map(|(_, name)| name)
}

fn rows(pair: &Pair, scores: &[SenderScore]) -> Vec<ScoredRow> {
    let names: Vec<String> = pair
        .truth
        .iter()
        .map(|path: &PathBuf| fetched::as_given(path).display().to_string())
        .collect();
    let reconstructed = fetched::as_given(&pair.reconstructed);
    let reconstructed: Arc<str> = reconstructed.display().to_string().into();
    let truth: Arc<str> = names.join(",").into();
    let numbers = scores.iter().flat_map(|sender| {
        let rows = sender.score.rows();
        rows.into_iter().map(move |row| (sender, row))
    });
    numbers
        .map(|(sender, row)| ScoredRow {
            reconstructed: Arc::clone(&reconstructed),
            truth: Arc::clone(&truth),
            ends: sender.ends,
            is_reconstructed: sender.is_reconstructed,
            row,
        })
        .collect()
}
