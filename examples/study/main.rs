//! Repeats a published study and writes the results into its README.
//!
//! Usage: `study NAME [short|middle|full]`, in the root of the repository. `examples/studies/run`
//! builds the required programs. The runs are those of `short.toml`, `middle.toml` or `plan.toml` in
//! the study's folder; the published numbers are in its `study.toml`.

#![allow(unreachable_pub, reason = "a program has no other users")]

mod definition;
mod numbers;
mod readme;
mod samples;
mod tables;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use self::definition::{Picture, Study};
use self::numbers::Numbers;

/// Folder of the studies.
const STUDIES: &str = "examples/studies";
/// Folder of the results.
const RESULTS: &str = "target/studies";

/// Grids of studies, and their plans. A study whose whole grid takes hours has a middle one.
const GRIDS: [(&str, &str); 3] = [
    ("short", "short.toml"),
    ("middle", "middle.toml"),
    ("full", "plan.toml"),
];

/// A study and one of its grids.
struct Repetition {
    name: String,
    grid: &'static str,
    folder: PathBuf,
    results: PathBuf,
    tcpexp: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let mut words = env::args().skip(1);
    let usage = "usage: study NAME [short|middle|full]";
    let name = words.next().context(usage)?;
    let wanted = words.next().unwrap_or_else(|| "short".to_owned());
    let named = GRIDS.into_iter().find(|(grid, _)| *grid == wanted);
    let (grid, plan) = named.with_context(|| format!("there is no grid {wanted}; {usage}"))?;
    let folder = Path::new(STUDIES).join(&name);
    ensure!(
        folder.is_dir(),
        "there is no {}: be in the root of the repository",
        folder.display()
    );
    ensure!(
        folder.join(plan).is_file(),
        "{name} has no grid {grid}: there is no {plan} in its folder"
    );
    let repetition = Repetition {
        results: Path::new(RESULTS).join(format!("{name}-{grid}")),
        tcpexp: env::current_exe()?.with_file_name("tcpexp"),
        name,
        grid,
        folder,
    };
    repetition.run(plan)
}

impl Repetition {
    fn run(&self, plan: &str) -> anyhow::Result<()> {
        let study = Study::read(&self.folder.join("study.toml"))?;
        self.sweep(&self.folder.join(plan))?;
        let compared = self.compare(&study)?;
        for picture in &study.pictures {
            self.draw(picture)?;
        }
        let numbers = Numbers::new(&compared, &self.results)?;
        let (text, missed) = tables::all(&study, &numbers, self.grid)?;
        let pictures = study
            .pictures
            .iter()
            .filter(|picture| picture.is_of(self.grid));
        let pictures = pictures.map(|picture| {
            let file = picture.file(self.grid);
            format!("![{}]({file})\n\n", picture.alt)
        });
        let block = format!(
            "{}{}{}",
            pictures.collect::<String>(),
            text,
            numbers.summary()
        );
        let path = self.folder.join("README.md");
        let readme =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let filled = readme::filled(&readme, self.grid, &block)?;
        fs::write(&path, filled).with_context(|| format!("cannot write {}", path.display()))?;
        print!("{block}");
        ensure!(
            missed == 0,
            "{missed} of the numbers are not as they must be"
        );
        Ok(())
    }

    /// Carries out the remaining runs.
    fn sweep(&self, plan: &Path) -> anyhow::Result<()> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = env::var("JOBS").unwrap_or_else(|_| cpus.to_string());
        let mut sweep = Command::new(&self.tcpexp);
        sweep
            .arg("sweep")
            .arg(plan)
            .args(["--lab", "--jobs", &jobs]);
        sweep.arg("-o").arg(&self.results);
        if self.results.join("runs").is_dir() {
            sweep.arg("--resume");
        }
        let status = sweep.status().context("cannot run tcpexp")?;
        ensure!(status.success(), "the sweep of {} failed", self.name);
        Ok(())
    }

    /// Returns the comparison, one JSON object per line.
    fn compare(&self, study: &Study) -> anyhow::Result<String> {
        let mut compare = Command::new(&self.tcpexp);
        compare.arg("compare").arg(&self.results);
        compare.args(&study.compare).args(["--format", "json"]);
        let output = compare.output().context("cannot run tcpexp")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cannot compare: {said}");
        Ok(String::from_utf8(output.stdout)?)
    }

    fn draw(&self, picture: &Picture) -> anyhow::Result<()> {
        let Some((kind, options)) = picture.plot.split_first() else {
            bail!("{} does not say what is drawn", picture.name);
        };
        if !picture.is_of(self.grid) {
            return Ok(());
        }
        let mut plot = Command::new(&self.tcpexp);
        plot.args(["plot", kind]).arg(&self.results).args(options);
        plot.arg("-o")
            .arg(self.folder.join(picture.file(self.grid)));
        let status = plot.status().context("cannot run tcpexp")?;
        ensure!(status.success(), "cannot draw {}", picture.name);
        Ok(())
    }
}
