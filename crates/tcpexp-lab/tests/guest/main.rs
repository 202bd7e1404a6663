//! Guests that are really booted.

#![allow(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use tcpexp_lab::{Cache, Guest, Image, Job, KernelSource, LabError, Shape, Topology, script};

/// The image of this machine, or the requirement that the machine lacks.
static IMAGE: LazyLock<Result<Image, String>> = LazyLock::new(|| {
    let cache = Cache::at(Path::new(env!("CARGO_TARGET_TMPDIR")).join("tcpexp/lab"));
    Image::ensure(&cache, &KernelSource::Distribution).map_err(|missing| missing.to_string())
});

const LIMIT: Option<Duration> = Some(Duration::from_secs(600));

/// Output and outcome of a guest.
struct Ended {
    output: String,
    errors: String,
    code: Result<u8, LabError>,
}

/// `None` where no guest can boot; the test is then skipped.
fn run(job: &Job, limit: Option<Duration>) -> Option<Ended> {
    let image = match &*IMAGE {
        Ok(image) => image,
        Err(missing) => {
            tcpexp_testkit::skip(missing);
            return None;
        }
    };
    let guest = Guest::spawn(image, job).unwrap();
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
    scp -q /share/below/greeting src2:/tmp/copy && ssh src2 cat /tmp/copy
    ssh -o HostKeyAlias=rtr src1 true || echo not the host that it should be
    for cc in bbr cdg cubic dctcp htcp reno vegas veno; do
        grep -qw $cc /proc/sys/net/ipv4/tcp_available_congestion_control || echo no $cc
    done
    for queue in cake codel fq_codel fq_pie pie 'red limit 100000 avpkt 1000' sfq; do
        ip netns exec rtr tc qdisc replace dev right root $queue
    done
    mkdir /out/below; echo done > /out/below/result
    echo and this is an error >&2
    exit 7
";

#[test]
fn hosts_of_a_guest_reach_each_other_and_return_results() {
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
    hello
    not the host that it should be
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

/// On a machine with other namespaces: creates the lab's namespaces, uses them, removes them twice,
/// and lists the remains.
const NAMESPACES_COME_AND_GO: &str = "
    set -e
    ls /sys/class/net | sort >/tmp/before
    sh /share/create
    ip netns exec lab-src2 ping -q -c 1 -W 1 172.16.11.2 >/dev/null && echo reached
    ip netns exec lab-rtr tc qdisc add dev right root netem delay 1ms
    sh /share/remove
    sh /share/remove 2>/dev/null
    ip netns list | grep lab- || echo nothing left
    ls /sys/class/net | sort | cmp - /tmp/before
    sh /share/create && echo made again
";

#[test]
fn namespaces_are_created_and_removed() {
    let shape = Shape::new(2, 1).unwrap();
    let topology = Topology::with_prefix(shape, "lab-");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("create"), script(&topology.create())).unwrap();
    std::fs::write(folder.path().join("remove"), script(&topology.remove())).unwrap();
    let mut job = job(NAMESPACES_COME_AND_GO);
    job.share = Some(folder.path().to_owned());
    let Some(ended) = run(&job, LIMIT) else {
        return;
    };
    insta::assert_snapshot!(ended.output, @r"
    reached
    nothing left
    made again
    ");
    assert_eq!(ended.code.unwrap(), 0, "{}", ended.errors);
}

/// A second of TCP through a bottleneck that also loses packets at random.
const TRANSFER: &str = "
    set -e
    ssh rtr tc qdisc add dev right root netem rate 4mbit delay 10ms loss 1% limit 40
    ip netns exec src1 tcpdump -q -i data -w /out/src1.pcap 2>/dev/null &
    captures=$!
    ssh dst1 iperf3 -s -1 -D
    sleep 1
    ssh src1 iperf3 -c 172.16.11.2 -t 1 >/dev/null
    kill -INT $captures; wait $captures
";

#[test]
fn guests_with_the_same_seed_behave_identically() {
    let folder = tempfile::tempdir().unwrap();
    let captured = |name: &str, seed| {
        let mut job = job(TRANSFER);
        job.seed = seed;
        job.out = Some(folder.path().join(name));
        let ended = run(&job, LIMIT)?;
        assert_eq!(ended.code.unwrap(), 0, "{}", ended.errors);
        Some(std::fs::read(folder.path().join(name).join("src1.pcap")).unwrap())
    };
    let both = std::thread::scope(|scope| {
        // Side by side, so that each disturbs the other in real time.
        let other = IMAGE
            .is_ok()
            .then(|| scope.spawn(|| captured("other", 7).unwrap()));
        (captured("one", 7), other.map(|other| other.join().unwrap()))
    });
    let (Some(one), Some(other)) = both else {
        return;
    };
    assert!(one.len() > 100_000, "{} bytes", one.len());
    assert!(
        one == other,
        "two captures of {} and {} bytes",
        one.len(),
        other.len()
    );
    assert!(
        captured("third", 8).unwrap() != one,
        "another seed, the same capture"
    );
}

/// Prints the times of waking from ten thousand short sleeps; the clock jumps at each.
const SLEEPS: &str = "
    exec bash -c '
        exec 3<> <(:)
        for i in {1..10000}; do read -t 0.001 -u 3; echo $EPOCHREALTIME; done
    '
";

#[test]
fn guest_clocks_are_independent_of_machine_load() {
    // Once alone, for there may be no state to go on from; then more than there are processors.
    let Some(first) = run(&job(SLEEPS), LIMIT) else {
        return;
    };
    let woken = first.output.lines().count();
    assert_eq!(woken, 10_000, "{}", first.errors);
    std::thread::scope(|scope| {
        let others = [(); 5].map(|()| scope.spawn(|| run(&job(SLEEPS), LIMIT).unwrap()));
        for other in others {
            let other = other.join().unwrap();
            let pairs = first.output.lines().zip(other.output.lines());
            let off = pairs.enumerate().find(|(_, (one, other))| one != other);
            assert_eq!(off, None, "the first that differs");
            assert_eq!(other.output.len(), first.output.len());
        }
    });
}

#[test]
fn guest_beyond_its_time_limit_is_stopped() {
    let limit = Duration::from_secs(2);
    let Some(ended) = run(&job("while :; do :; done"), Some(limit)) else {
        return;
    };
    insta::assert_snapshot!(ended.code.unwrap_err(), @"the guest did not end within 2 s of real time and was stopped");
}
