//! Processes that go on when the script that started them is done.

use std::fmt::Write as _;
use std::time::Duration;

use super::script::{Script, quote};

/// A process in a session of its own, known by files in a folder of the host.
///
/// `NAME.pid` holds its process group and when that was born, so that nothing else is ever stopped
/// in its place; `NAME.out` and `NAME.err` hold what it printed, `NAME.exit` its exit code once it
/// ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Background {
    /// Folder on the host; it is made if need be.
    pub folder: String,
    /// Unique in its folder, without slashes.
    pub name: String,
    /// What it runs. Begin the last command with `exec` to have its own exit code.
    pub text: String,
    /// Whether it needs root.
    pub as_root: bool,
}

/// When a process was born, in whatever unit: Linux tells it exactly, `ps` to the second.
pub(crate) const BORN: &str = r#"born() {
    if [ -r "/proc/$1/stat" ]; then sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 20
    else ps -o lstart= -p "$1" || true; fi
}
"#;

/// Whether the process, or what is left of its group, is there and is ours. If its number went to
/// someone else, the group is gone: a number in use as a group is not given away.
pub(crate) const ALIVE: &str = r#"alive() {
    now=$(born "$pid" 2>/dev/null) || now=
    if [ -n "$now" ] && [ "$now" != "$was" ]; then return 1; fi
    kill -s 0 -- "-$pid" 2>/dev/null
}
"#;

impl Background {
    /// Starts it. Fails if one of that name is still running.
    pub fn start(&self) -> Script {
        let mut text = self.preamble("mkdir -p");
        let name = quote(&self.name);
        let _ = write!(
            text,
            r#"name={name}
if [ -e "$name.pid" ]; then
    read -r pid was <"$name.pid"
    if alive; then echo "$name is running already" >&2; exit 1; fi
fi
rm -f "$name.pid" "$name.exit"
cat >"$name.sh" <<'END_OF_BACKGROUND'
{}
END_OF_BACKGROUND
cat >"$name.run" <<'END_OF_RUN'
{BORN}trap : INT TERM HUP
printf '%s %s\n' "$$" "$(born "$$")" >"$1.pid.new" && mv "$1.pid.new" "$1.pid"
code=0; /bin/sh -eu "./$1.sh" || code=$?
echo "$code" >"$1.exit.new" && mv "$1.exit.new" "$1.exit"
END_OF_RUN
if command -v setsid >/dev/null 2>&1; then own="setsid -f"; else own=daemon; fi
$own /bin/sh "./$name.run" "$name" </dev/null >"$name.out" 2>"$name.err"
tries=0
while [ ! -e "$name.pid" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 200 ]; then echo "$name did not start" >&2; exit 1; fi
    sleep 0.02
done
"#,
            self.text
        );
        self.script(text)
    }

    /// Sends `signal` ("INT", "TERM") to its group, and after `grace` ends what is left of it.
    /// Succeeds if there is nothing to stop.
    pub fn stop(&self, signal: &str, grace: Duration) -> Script {
        let mut text = self.preamble("[ -d");
        let tries = grace.as_millis().div_ceil(50).max(1);
        let _ = write!(
            text,
            r#"name={name}; signal={signal}
[ -e "$name.pid" ] || exit 0
read -r pid was <"$name.pid"
if alive; then
    kill -s "$signal" -- "-$pid" 2>/dev/null || true
    tries=0
    while alive; do
        tries=$((tries + 1))
        if [ "$tries" -eq {tries} ]; then kill -s KILL -- "-$pid" 2>/dev/null || true; fi
        if [ "$tries" -gt {most} ]; then echo "$name cannot be stopped" >&2; exit 1; fi
        sleep 0.05
    done
fi
rm -f "$name.pid" "$name.sh" "$name.run"
"#,
            name = quote(&self.name),
            signal = quote(signal),
            most = tries + 100,
        );
        let script = self.script(text);
        let timeout = script.timeout + grace;
        script.within(timeout)
    }

    /// Prints `running`, `ended` and its exit code, or `gone`.
    pub fn status(&self) -> Script {
        let mut text = self.preamble("[ -d");
        let _ = write!(
            text,
            r#"name={}
if [ -e "$name.exit" ]; then echo "ended $(cat "$name.exit")"; exit 0; fi
[ -e "$name.pid" ] || {{ echo gone; exit 0; }}
read -r pid was <"$name.pid"
if alive; then echo running; else echo gone; fi
"#,
            quote(&self.name)
        );
        self.script(text)
    }

    /// Goes to the folder, which is made, or without which there is nothing to do.
    fn preamble(&self, how: &str) -> String {
        let folder = quote(&self.folder);
        let enter = match how {
            "mkdir -p" => format!("mkdir -p {folder}"),
            _ => format!("[ -d {folder} ] || exit 0"),
        };
        format!("{BORN}{ALIVE}{enter}\ncd {folder}\n")
    }

    fn script(&self, text: String) -> Script {
        let mut script = Script::new(text);
        script.as_root = self.as_root;
        script
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread;

    use super::super::{Local, Runner};
    use super::*;

    fn job(folder: &tempfile::TempDir, text: &str) -> Background {
        Background {
            folder: folder.path().join("jobs").to_str().unwrap().to_owned(),
            name: "generator".into(),
            text: text.into(),
            as_root: false,
        }
    }

    fn run(script: &Script) -> String {
        Local::new().run_ok(script).unwrap().text()
    }

    fn status(job: &Background) -> String {
        run(&job.status()).trim().to_owned()
    }

    #[test]
    fn it_goes_on_after_the_script_and_stops_with_all_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let job = job(&folder, "sleep 4711 & echo $! >child; wait");
        run(&job.start());
        assert_eq!(status(&job), "running");
        let again = Local::new().run(&job.start()).unwrap();
        assert_eq!(again.complaint(), "generator is running already");
        let child = fs::read_to_string(folder.path().join("jobs/child")).unwrap();
        let is_there = |pid: &str| fs::exists(format!("/proc/{}", pid.trim())).unwrap();
        assert!(is_there(&child));
        run(&job.stop("TERM", Duration::from_secs(5)));
        assert!(!is_there(&child));
        run(&job.stop("TERM", Duration::from_secs(5)));
    }

    #[test]
    fn its_exit_code_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let job = job(&folder, "echo done; exit 3");
        run(&job.start());
        for _ in 0..500 {
            if status(&job) != "running" {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(status(&job), "ended 3");
        let out = fs::read_to_string(folder.path().join("jobs/generator.out"));
        assert_eq!(out.unwrap(), "done\n");
    }

    #[test]
    fn an_interrupt_is_not_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let job = job(&folder, "exec sleep 4712");
        run(&job.start());
        run(&job.stop("INT", Duration::from_secs(30)));
        let code = fs::read_to_string(folder.path().join("jobs/generator.exit"));
        assert_eq!(code.unwrap().trim(), "130");
    }

    #[test]
    fn a_number_that_went_to_someone_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let job = job(&folder, "exec sleep 1");
        fs::create_dir(folder.path().join("jobs")).unwrap();
        let pid = folder.path().join("jobs/generator.pid");
        fs::write(&pid, format!("{} 1\n", std::process::id())).unwrap();
        assert_eq!(status(&job), "gone");
        run(&job.stop("KILL", Duration::from_secs(1)));
        assert!(!pid.exists());
    }
}
