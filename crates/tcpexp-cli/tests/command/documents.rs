//! Checks that the README and the guide show the current output and charts of the commands.
//!
//! The test runs the fenced blocks of each page in order, in one empty folder with links to
//! `fixtures` and `examples`:
//!
//! - `console`: a shell runs each line after `$ `; the lines below it are the expected output.
//! - `console lab`: the same in the virtual testbed, without output.
//! - `toml NAME`: contents of the file NAME.
//! - `python`: a program to run.
//! - `sh`: cargo commands. Commands that start tcpexp run without cargo.
//!
//! `TCPEXP_UPDATE_DOCS=1 cargo test -p tcpexp-cli --test command documents` updates the pages with
//! the current output and charts.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use crate::desk::{Desk, text};

const UPDATE: &str = "TCPEXP_UPDATE_DOCS";
const GUIDE: &str = "crates/tcpexp/src/guide";
/// Runs tcpexp from a clone of the repository.
const FROM_A_CLONE: &str = "cargo run --release --bin tcpexp -- ";

/// Cargo commands that a test cannot run, because cargo runs the test.
const OF_CARGO: [&str; 7] = [
    "cargo test",
    "cargo install --path crates/tcpexp-cli",
    "cargo install --path crates/tcpexp-cli --features stores",
    "cargo bench -p tcpexp-benches",
    "cargo doc --open -p tcpexp",
    "cargo run --release -p tcpexp-testkit --example generate_pair -- src.pcap dst.pcap --packets 4000000 --flows 8 --loss-ppm 10000 --snaplen 96 --seed 1",
    "cargo run --release -p tcpexp-benches --bin torment -- --captures ../shared/captures --runs 500",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the README and all pages of the guide.
fn pages() -> Vec<PathBuf> {
    let guide = fs::read_dir(root().join(GUIDE)).unwrap();
    let guide = guide.map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = guide
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    pages.sort();
    pages.push(root().join("README.md"));
    pages
}

#[test]
fn commands_print_and_draw_what_the_pages_show() {
    let pages = pages();
    assert!(pages.len() > 10, "the guide has not been found");
    let wrong: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = pages
            .iter()
            .map(|page| scope.spawn(move || Page::open(page).run()))
            .collect();
        let wrong = running.into_iter().map(|page| page.join().unwrap());
        wrong.flatten().collect()
    });
    assert!(
        wrong.is_empty(),
        "{}\n{UPDATE}=1 cargo test -p tcpexp-cli --test command documents\nwrites what is printed and drawn today into the pages",
        wrong.join("\n")
    );
}

#[test]
fn commands_within_sentences_exist_with_their_options() {
    let desk = Desk::empty();
    let mut known: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut help = |command: &str| {
        let read = || {
            let output = desk.run(&format!("help {command}"));
            output.status.success().then(|| text(&output.stdout))
        };
        known.entry(command.to_owned()).or_insert_with(read).clone()
    };
    let mut wrong = Vec::new();
    let mut checked = 0;
    for page in pages() {
        let page_text = fs::read_to_string(&page).unwrap();
        for line in within_sentences(&page_text) {
            let words: Vec<&str> = line.split_whitespace().skip(1).collect();
            // The longest command that the words begin with; the others are its arguments.
            let found = (1..=words.len())
                .map_while(|number| help(&words[..number].join(" ")))
                .last();
            let options = words.iter().filter(|word| word.starts_with('-'));
            let is_right = found.is_some_and(|help| {
                let described: Vec<&str> = help
                    .split(|c: char| c.is_whitespace() || ",[]=".contains(c))
                    .collect();
                options.clone().all(|option| described.contains(option))
            });
            checked += 1;
            if !is_right {
                wrong.push(format!("{}: {line}", page.display()));
            }
        }
    }
    assert!(checked > 50, "only {checked} commands have been found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the commands of tcpexp between backquotes, outside of fenced blocks.
fn within_sentences(page: &str) -> Vec<String> {
    let mut sentences = String::new();
    let mut is_fenced = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            sentences += line;
            sentences.push(' ');
        }
    }
    let code = sentences.split('`').skip(1).step_by(2);
    let commands = code.filter(|code| code.starts_with("tcpexp "));
    commands.map(str::to_owned).collect()
}

#[test]
fn the_plan_reference_matches_the_types() {
    let page = root().join(GUIDE).join("plan_reference.md");
    let current = tcpexp_sweep::plan::reference();
    if env::var_os(UPDATE).is_some() {
        fs::write(&page, &current).unwrap();
    }
    let shown = fs::read_to_string(&page).unwrap_or_default();
    assert!(
        shown == current,
        "{}\n{UPDATE}=1 cargo test -p tcpexp-cli --test command documents\nwrites the page anew",
        differences(&shown, &current)
    );
}

#[test]
fn the_readme_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(lines.lines().count() < 170);
}

/// A page, the folder in which its commands run, and its expected text.
struct Page<'a> {
    path: &'a Path,
    shown: String,
    desk: Desk,
    printed: String,
    failed: Vec<String>,
}

impl<'a> Page<'a> {
    fn open(path: &'a Path) -> Self {
        let desk = Desk::empty();
        for name in ["fixtures", "examples"] {
            let target = fs::canonicalize(root().join(name)).unwrap();
            std::os::unix::fs::symlink(target, desk.path(name)).unwrap();
        }
        fs::create_dir(desk.path(".readme")).unwrap();
        Self {
            path,
            shown: fs::read_to_string(path).unwrap(),
            desk,
            printed: String::new(),
            failed: Vec::new(),
        }
    }

    /// Returns the problems of the page, after updating it if requested.
    fn run(mut self) -> Vec<String> {
        let shown = self.shown.clone();
        let mut lines = shown.lines();
        while let Some(line) = lines.next() {
            self.line(line);
            let Some(kind) = line.strip_prefix("```") else {
                continue;
            };
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            self.block(kind, &block);
            self.line("```");
        }
        let is_update = env::var_os(UPDATE).is_some();
        self.compare_pictures(is_update);
        if self.printed != self.shown {
            if is_update {
                fs::write(self.path, &self.printed).unwrap();
            } else {
                let differences = differences(&self.shown, &self.printed);
                let page = self.path.display();
                self.failed.push(format!("{page}:\n{differences}"));
            }
        }
        self.failed
    }

    fn line(&mut self, line: &str) {
        self.printed += line;
        self.printed.push('\n');
    }

    fn block(&mut self, kind: &str, block: &[&str]) {
        if kind == "console" {
            for command in commands(block) {
                self.line(&format!("$ {}", command.join("\n")));
                let output = self.shell(&command.join("\n"));
                self.printed += &text(&output.stdout);
            }
            return;
        }
        for line in block {
            self.line(line);
        }
        match kind.split_once(' ') {
            Some(("toml", name)) => self.desk.put(name, (block.join("\n") + "\n").as_bytes()),
            Some(("console", "lab")) if has_lab() => {
                for command in commands(block) {
                    self.shell(&command.join("\n"));
                }
            }
            None if kind == "python" => self.python(&block.join("\n")),
            None if kind == "sh" => self.cargo(&block.join("\n").replace("\\\n", " ")),
            _ => {}
        }
    }

    fn shell(&mut self, line: &str) -> Output {
        let tcpexp = Path::new(env!("CARGO_BIN_EXE_tcpexp")).parent().unwrap();
        let path = format!("{}:{}", tcpexp.display(), env::var("PATH").unwrap());
        let script = format!("exec 2>&1\n{line}");
        let mut shell = Command::new("sh");
        shell
            .args(["-ec", &script])
            .env("PATH", path)
            // All tests share the guest images, so each image is built once.
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        self.must_succeed(line, &mut shell)
    }

    fn python(&mut self, program: &str) {
        if let Some(python) = python() {
            let mut command = Command::new(python);
            command.args(["-c", program]);
            self.must_succeed(program, &mut command);
        }
    }

    fn cargo(&mut self, lines: &str) {
        for line in lines.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let line = words.join(" ");
            match line.strip_prefix(FROM_A_CLONE) {
                Some(words) => drop(self.shell(&format!("tcpexp {words}"))),
                None if OF_CARGO.contains(&line.as_str()) => {}
                None => self.failed.push(format!("no test runs: {line}")),
            }
        }
    }

    fn must_succeed(&mut self, what: &str, command: &mut Command) -> Output {
        let output = command.current_dir(self.desk.path("")).output().unwrap();
        if !output.status.success() {
            let page = self.path.display();
            let (said, why) = (text(&output.stdout), text(&output.stderr));
            self.failed
                .push(format!("{page}: {what} fails: {said}{why}"));
        }
        output
    }

    /// Compares the drawn pictures with those next to the page.
    fn compare_pictures(&mut self, is_update: bool) {
        let beside = self.path.parent().unwrap();
        for folder in ["", ".readme"] {
            for entry in fs::read_dir(self.desk.path(folder)).unwrap() {
                let drawn = entry.unwrap().path();
                let kept = beside.join(folder).join(drawn.file_name().unwrap());
                let is_picture = drawn.extension().is_some_and(|ending| ending == "svg");
                if !is_picture || !kept.exists() || same(&drawn, &kept) {
                    continue;
                }
                if is_update {
                    fs::copy(&drawn, &kept).unwrap();
                } else {
                    self.failed.push(format!("{} is stale", kept.display()));
                }
            }
        }
    }
}

fn same(one: &Path, other: &Path) -> bool {
    fs::read(one).unwrap() == fs::read(other).unwrap()
}

/// Returns the commands of a block, each with its continuation lines.
fn commands<'a>(block: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut commands: Vec<Vec<&str>> = Vec::new();
    let mut is_continued = false;
    for line in block {
        if is_continued {
            commands.last_mut().unwrap().push(line);
        } else if let Some(command) = line.strip_prefix("$ ") {
            commands.push(vec![command]);
        } else {
            continue;
        }
        is_continued = line.ends_with('\\');
    }
    commands
}

/// Returns the lines that a page shows and the lines that it should show instead.
fn differences(shown: &str, printed: &str) -> String {
    let (shown, printed): (Vec<_>, Vec<_>) = (shown.lines().collect(), printed.lines().collect());
    let mut text = String::new();
    for (lines, others, mark) in [(&shown, &printed, '-'), (&printed, &shown, '+')] {
        for line in lines.iter().filter(|line| !others.contains(line)) {
            writeln!(text, "{mark} {line}").unwrap();
        }
    }
    text
}

/// Returns a Python with the imports of the guide's programs.
pub(crate) fn python() -> Option<String> {
    let python = env::var("TCPEXP_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let imports = Command::new(&python)
        .args(["-c", "import duckdb, pandas, polars, pyarrow"])
        .output();
    if imports.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skipped("no Python with duckdb, pandas, polars and pyarrow; TCPEXP_PYTHON names one");
    None
}

/// True if commands that boot guests run: they take minutes and require `TCPEXP_NEED_TOOLS`.
fn has_lab() -> bool {
    let is_there = env::var_os("TCPEXP_NEED_TOOLS").is_some();
    if !is_there {
        skipped("commands of the guide that boot guests take minutes");
    }
    is_there
}

fn skipped(why: &str) {
    assert!(env::var_os("TCPEXP_NEED_TOOLS").is_none(), "{why}");
    eprintln!("skipped: {why}");
}
