//! `tcpexp netem` with the lab's kernel; netem-ctl's own tests check the commands it runs.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use tcpexp_lab::{Cache, Guest, Image, Job, KernelSource};

use crate::desk::Desk;

#[test]
fn a_dry_run_prints_the_commands_for_the_router() {
    let desk = Desk::new();
    desk.put(
        "b.toml",
        b"[forward]\nrate = '10mbit'\ndelay = '20ms'\nbuffer = '90p'\n",
    );
    let script = desk.text("netem apply --config b.toml --left eth1 --right eth2 --dry-run");
    assert!(script.starts_with("### on localhost\n"), "{script}");
    assert!(
        script.contains(
            "run tc qdisc add dev tcxd-l root handle 7d1: netem limit 44643 delay 20ms\n"
        )
    );
    let script = desk.text("netem clear --host rtr --os freebsd --dry-run");
    assert!(script.contains("ipfw -q delete set 17"), "{script}");
}

#[test]
fn every_bottleneck_of_the_guide_is_accepted() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tcpexp/src/guide/bottlenecks.md");
    let page = fs::read_to_string(page).unwrap();
    let bodies: Vec<&str> = page
        .split("\n```toml")
        .skip(1)
        .filter_map(|block| block.split_once('\n')?.1.split("\n```").next())
        .collect();
    assert!(bodies.len() >= 4, "{bodies:?}");
    let desk = Desk::new();
    desk.put("downlink.trace", b"10\n20\n");
    for body in bodies {
        desk.put("b.toml", body.as_bytes());
        desk.text("netem apply --config b.toml --left eth1 --right eth2 --dry-run");
    }
}

/// Every bottleneck with golden commands, over sshd or in the router's namespace: applied, read back,
/// changed, and cleared.
#[test]
fn every_bottleneck_is_created_in_the_lab() {
    if !tcpexp_testkit::has_minutes() {
        return;
    }
    let cache = Cache::at(Path::new(env!("CARGO_TARGET_TMPDIR")).join("tcpexp/lab"));
    let image = Image::ensure(&cache, &KernelSource::Distribution).unwrap();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../netem-ctl/tests");
    let folder = tests.join("bottlenecks").read_dir().unwrap();
    let files = folder.map(|file| file.unwrap().file_name().into_string().unwrap());
    let (mut names, traces): (Vec<String>, Vec<String>) =
        files.partition(|name| !name.contains(".trace"));
    names.sort();
    assert!(names.len() >= 20);
    let (one, other) = names.split_at(names.len() / 2);
    let share = |names: &[String]| apply_all(&image, &tests, names, &traces);
    let [one, other] = thread::scope(|scope| {
        [one, other]
            .map(|names| scope.spawn(move || share(names)))
            .map(|guest| guest.join().unwrap())
    });
    for (name, (output, code)) in [("one", one), ("other", other)] {
        assert_eq!(code, 0, "{name}: {output}");
        assert!(output.contains(" passed, 0 failed\n"), "{name}: {output}");
    }
}

/// Applies these bottlenecks in a guest; returns its output and exit code.
fn apply_all(image: &Image, tests: &Path, names: &[String], traces: &[String]) -> (String, u8) {
    // A guest with little to read resumes instead of booting.
    let share = Desk::empty();
    let take = |name: &str, from: &Path| share.put(name, &fs::read(from).unwrap());
    take("apply-all.sh", &tests.join("apply-all.sh"));
    for name in names.iter().chain(traces) {
        take(name, &tests.join("bottlenecks").join(name));
    }
    let line = format!(
        "cd /share && sh apply-all.sh 'tcpexp netem' left right rtr {}",
        names.join(" ")
    );
    let mut job = Job::new(["sh", "-c", &line].map(str::to_owned).to_vec());
    job.programs = vec![env!("CARGO_BIN_EXE_tcpexp").into()];
    job.share = Some(share.path("."));
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let guest = Guest::spawn(image, &job).unwrap();
    let limit = Some(Duration::from_secs(3600));
    let code = guest.wait(&mut output, &mut errors, limit).unwrap();
    output.extend(errors);
    (String::from_utf8_lossy(&output).into_owned(), code)
}
