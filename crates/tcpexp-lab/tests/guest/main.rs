//! Guests that are really booted.

#![allow(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use tcpexp_lab::{Cache, Guest, Image, Job, KernelSource, LabError, Shape};

/// The image of this machine, or none if it lacks what a lab needs and may.
static IMAGE: LazyLock<Option<Image>> = LazyLock::new(|| {
    let cache = Cache::at(Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab"));
    match Image::ensure(&cache, &KernelSource::Distribution) {
        Ok(image) => Some(image),
        Err(missing) => {
            assert!(std::env::var_os("TCPEXP_NEED_TOOLS").is_none(), "{missing}");
            eprintln!("not tested: {missing}");
            None
        }
    }
});

const LIMIT: Option<Duration> = Some(Duration::from_secs(600));

/// What a guest printed and how it ended.
struct Ended {
    output: String,
    errors: String,
    code: Result<u8, LabError>,
}

fn run(job: &Job, limit: Option<Duration>) -> Option<Ended> {
    let guest = Guest::spawn(IMAGE.as_ref()?, job).unwrap();
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let code = guest.wait(&mut output, &mut errors, limit);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Some(Ended {
        output: text(output),
        errors: text(errors),
        code,
    })
}

fn job(command: &str) -> Job {
    Job::new(["sh", "-c", command].map(str::to_owned).to_vec())
}

/// From each source to each sink, over ssh, with a queue that counts on the router.
const EVERYBODY_TO_EVERYBODY: &str = "
    set -e
    ssh rtr tc qdisc add dev right root pfifo limit 50
    for src in src1 src2 src3; do
        for dst in 172.16.11.2 172.16.11.3; do
            ssh $src ping -q -c 1 -W 1 $dst >/dev/null && echo $src reaches $dst
        done
    done
    ssh rtr tc -s qdisc show dev right | grep -o 'Sent.*pkt'
    ssh dst2 hostname
    ssh src3 'cat > /tmp/own' </dev/null; ssh src1 test -e /tmp/own || echo own files
    ls /share; cat /share/below/greeting
    mkdir /out/below; echo done > /out/below/result
    echo and this is an error >&2
    exit 7
";

#[test]
fn hosts_of_a_guest_reach_each_other_and_their_results_come_out() {
    let folder = tempfile::tempdir().unwrap();
    let (share, out) = (folder.path().join("in,put"), folder.path().join("out,put"));
    std::fs::create_dir_all(share.join("below")).unwrap();
    std::fs::write(share.join("below/greeting"), "hello\n").unwrap();
    let mut job = job(EVERYBODY_TO_EVERYBODY);
    job.shape = Shape::new(3, 2).unwrap();
    job.share = Some(share);
    job.out = Some(out.clone());
    let Some(ended) = run(&job, LIMIT) else {
        return;
    };
    insta::assert_snapshot!(ended.output, @r"
        src1 reaches 172.16.11.2
        src1 reaches 172.16.11.3
        src2 reaches 172.16.11.2
        src2 reaches 172.16.11.3
        src3 reaches 172.16.11.2
        src3 reaches 172.16.11.3
        Sent 588 bytes 6 pkt
        dst2
        own files
        below
        hello
        ");
    assert!(
        ended.errors.contains("and this is an error\n"),
        "{}",
        ended.errors
    );
    assert_eq!(ended.code.unwrap(), 7);
    assert_eq!(
        std::fs::read_to_string(out.join("below/result")).unwrap(),
        "done\n"
    );
}

#[test]
fn guest_that_does_not_end_is_stopped() {
    let limit = Duration::from_secs(2);
    let Some(ended) = run(&job("while :; do :; done"), Some(limit)) else {
        return;
    };
    insta::assert_snapshot!(ended.code.unwrap_err(), @"the guest did not end within 2 s of real time and was stopped");
}
