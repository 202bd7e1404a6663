//! `tcpexp lab`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::desk::Desk;

/// The cache of all tests, also of those that set `XDG_CACHE_HOME`, so that the kernel is downloaded and each image
/// built once.
fn cache() -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("tcpexp/lab")
}

/// True if guests can boot on this machine; otherwise skips the running test.
fn has_lab() -> bool {
    let built = Command::new(env!("CARGO_BIN_EXE_tcpexp"))
        .args(["lab", "build", "--cache"])
        .arg(cache())
        .output()
        .unwrap();
    if built.status.success() {
        return true;
    }
    tcpexp_testkit::skip(&String::from_utf8_lossy(&built.stderr));
    false
}

#[test]
fn a_guest_runs_the_same_command_with_the_same_result() {
    if !has_lab() {
        return;
    }
    let desk = Desk::new();
    let share = desk.path("share");
    std::fs::create_dir(&share).unwrap();
    for name in ["src.pcap", "dst.pcap"] {
        std::fs::copy(desk.path(name), share.join(name)).unwrap();
    }
    let inside = Command::new(env!("CARGO_BIN_EXE_tcpexp"))
        .args(["lab", "run", "--limit", "600", "--share"])
        .arg(&share)
        .arg("--cache")
        .arg(cache())
        .args([
            "--",
            "tcpexp",
            "rtt",
            "/share/src.pcap",
            "/share/dst.pcap",
            "--format",
            "csv",
        ])
        .output()
        .unwrap();
    let outside = desk.run("rtt src.pcap dst.pcap --format csv");
    assert!(outside.stdout.len() > 1000);
    assert_eq!(
        String::from_utf8(inside.stdout).unwrap(),
        String::from_utf8(outside.stdout).unwrap(),
        "{}",
        String::from_utf8_lossy(&inside.stderr)
    );
    assert_eq!(inside.status.code(), Some(0));
}

#[test]
fn a_killed_command_leaves_nothing_of_its_guest() {
    if !has_lab() {
        return;
    }
    let desk = Desk::new();
    let folder = desk.path("temporary");
    std::fs::create_dir(&folder).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tcpexp"))
        .args(["lab", "run", "--cache"])
        .arg(cache())
        .args(["--", "sleep", "inf"])
        .env("TMPDIR", &folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the guest runs", || !machines(&folder).is_empty());
    command.kill().unwrap();
    command.wait().unwrap();
    until("the guest is gone", || machines(&folder).is_empty());
    until("its files are gone", || {
        std::fs::read_dir(&folder).unwrap().next().is_none()
    });
}

/// Returns the virtual machines that boot from a folder.
fn machines(folder: &Path) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let called = processes.filter_map(|entry| {
        let called = std::fs::read(entry.unwrap().path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&called).replace('\0', " "))
    });
    let folder = folder.to_string_lossy();
    called
        .filter(|called| called.contains("qemu") && called.contains(&*folder))
        .collect()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "not within a minute: {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Transfers of 2 MB over a queue that marks: with each kind of ECN that the kernel has. Prints the
/// name, the marks of the queue, the marks that the sender's kernel knew of near the end, and how often
/// it entered a reduction after echoes (`TCP_CA_CWR`).
const MARKED_TRANSFERS: &str = r"
    on() { ip netns exec $@; }
    trace=/sys/kernel/tracing
    [ -d $trace/events ] || mount -t tracefs tracefs $trace
    echo 1 >$trace/events/tcp/tcp_cong_state_set/enable
    transfer() {
        name=$1 ecn=$2 cc=$3; shift 3
        for host in src1 dst1; do on $host sysctl -qw net.ipv4.tcp_ecn=$ecn; done
        on rtr tc qdisc add dev right root handle 1: htb default 1
        on rtr tc class add dev right parent 1: classid 1:1 htb rate 10mbit
        on rtr tc qdisc add dev right parent 1:1 codel ecn limit 1000 $@
        on rtr tc qdisc add dev left root netem delay 20ms limit 10000
        for host in src1 dst1; do
            on $host tcpdump -i data -s 120 -w /out/$name-$host.pcap tcp 2>/dev/null &
        done
        on dst1 iperf3 -s -1 -D
        sleep 1
        while sleep 0.1; do on src1 ss -tinOH; done >/tmp/ss 2>/dev/null &
        logger=$!
        echo >$trace/trace
        on src1 iperf3 -c 172.16.11.2 -n 2000000 -C $cc >/dev/null
        sleep 1
        kill $logger
        pkill tcpdump
        sleep 0.5
        marks=$(on rtr tc -s qdisc show dev right | grep -o '_mark [0-9]*' | cut -d' ' -f2)
        known=$(grep -o 'delivered_ce:[0-9]*' /tmp/ss | cut -d: -f2 | sort -n | tail -n 1)
        reductions=$(grep -c 'dport=5201 .*cong_state=2' $trace/trace)
        echo $name $(($(echo $marks | tr ' ' +))) ${known:-0} $reductions
        on rtr tc qdisc del dev right root
        on rtr tc qdisc del dev left root
    }
    transfer classic 1 cubic target 5ms
    transfer dctcp 1 dctcp ce_threshold 1ms target 100ms
    if [ -e /proc/sys/net/ipv4/tcp_ecn_option ]; then
        transfer accurate 3 cubic target 5ms
        transfer accurate-dctcp 3 dctcp ce_threshold 1ms target 100ms
    fi
";

/// `ce_packets` and `ce_reported_packets` of the client's data in a capture, all flows together.
fn marks(desk: &Desk, capture: &str) -> (u64, u64) {
    let text = desk.run(&format!("flows {capture} --format json")).stdout;
    let rows = text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let rows = rows.map(|line| serde_json::from_slice::<serde_json::Value>(line).unwrap());
    let rows: Vec<_> = rows.filter(|row| row["direction"] == "forward").collect();
    let sum = |name: &str| rows.iter().map(|row| row[name].as_u64().unwrap()).sum();
    (sum("ce_packets"), sum("ce_reported_packets"))
}

/// Reductions after congestion echoes in a capture, all flows together.
fn reductions(desk: &Desk, capture: &str) -> u64 {
    let text = desk.text(&format!("cwnd {capture} --quiet"));
    let mut before: Vec<&str> = text.split(" after congestion echoes").collect();
    before.pop();
    let number = |text: &str| text.split(' ').next_back()?.parse::<u64>().ok();
    before.into_iter().map(|text| number(text).unwrap()).sum()
}

/// Runs the transfers on a kernel; compares the marks in the captures with those of the queue and of
/// the sender's kernel, and the reductions with the kernel's.
fn compare_marks(kernel: Option<&str>, transfers: usize) {
    let desk = Desk::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tcpexp"));
    command
        .args(["lab", "run", "--limit", "600", "--cache"])
        .arg(cache())
        .args(kernel.iter().flat_map(|kernel| ["--kernel", kernel]))
        .arg("--out")
        .arg(desk.path("marked"))
        .args(["--", "bash", "-c", MARKED_TRANSFERS]);
    let ended = command.output().unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    for line in said.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        let (name, marked, known) = (words[0], number(1), number(2));
        let [at_src, at_dst] = ["src1", "dst1"].map(|host| format!("marked/{name}-{host}.pcap"));
        let (none, at_source) = marks(&desk, &at_src);
        let (seen, at_sink) = marks(&desk, &at_dst);
        let of_kernel = number(3);
        assert!(of_kernel > 0, "{line}");
        let found = [at_src, at_dst].map(|capture| reductions(&desk, &capture));
        assert_eq!(found, [of_kernel; 2], "{line}");
        assert!(marked > 0, "{line}");
        assert_eq!((none, seen), (0, marked), "{line}");
        assert_eq!(at_source, at_sink, "{line}");
        // The last marked packets may stay unacknowledged.
        assert!(at_source <= marked, "{line}: {at_source}");
        // Echoes of RFC 3168 are fewer than marks, and the kernel counts all packets that they
        // cover.
        if name != "classic" {
            assert!(known <= at_source, "{line}: {at_source}");
            assert!(at_source * 100 >= marked * 95, "{line}: {at_source}");
        }
    }
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(said.lines().count(), transfers, "{said}{errors}");
}

#[test]
fn marks_and_reductions_in_captures_are_those_of_the_queue_and_of_the_kernel() {
    if tcpexp_testkit::has_minutes() && has_lab() {
        compare_marks(None, 2);
    }
}

#[test]
#[ignore = "takes minutes, and downloads kernels that Debian replaces from time to time"]
fn marks_and_reductions_on_other_kernels_are_those_of_the_queue_and_of_the_kernel() {
    if has_lab() {
        compare_marks(Some("6.12"), 2);
        compare_marks(Some("7.2"), 4);
    }
}

/// A transfer over three queues in a row, with captures before, between and behind them. Prints the
/// drops of the three queues on the way out, then of those on the way back.
const FOUR_POINTS: &str = r"
    on() { ip netns exec $@; }
    # Behind the sink: a middle and an end, with a network each. Neither ARP nor IPv6 reaches a queue.
    for host in mid end; do
        ip netns add $host
        on $host sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv4.ip_forward=1
    done
    join() {
        ip link add $2 netns $1 address 02:00:00:00:$4:01 type veth peer name $6 netns $5 address 02:00:00:00:$4:02
        on $1 ip address add $3.1/24 dev $2
        on $5 ip address add $3.2/24 dev $6
        on $1 ip link set $2 up
        on $5 ip link set $6 up
        on $1 ip neigh replace $3.2 lladdr 02:00:00:00:$4:02 dev $2
        on $5 ip neigh replace $3.1 lladdr 02:00:00:00:$4:01 dev $6
    }
    join dst1 far 172.16.20 20 mid near
    join mid far 172.16.21 21 end data
    on dst1 sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv4.ip_forward=1
    on rtr sysctl -qw net.ipv6.conf.all.disable_ipv6=1
    on src1 sysctl -qw net.ipv6.conf.all.disable_ipv6=1
    on src1 ip route replace 172.16.20.0/22 via $(on rtr ip -4 -o address show left | sed 's/.*inet \([0-9.]*\).*/\1/')
    on rtr ip route add 172.16.20.0/22 via 172.16.11.2
    on dst1 ip route add 172.16.21.0/24 via 172.16.20.2
    on mid ip route add 172.16.10.0/24 via 172.16.20.1
    on end ip route add default via 172.16.21.1
    on src1 ping -qc 1 172.16.21.2 >/dev/null
    for place in src1:data rtr:left rtr:right dst1:data; do
        host=${place%:*} device=${place#*:}
        on $host ethtool -K $device tso off gso off gro off >/dev/null
        on $host ip neigh show dev $device | while read address lladdr mac rest; do
            on $host ip neigh replace $address $lladdr $mac dev $device nud permanent
        done
    done
    for place in dst1:far mid:near mid:far end:data; do
        on ${place%:*} ethtool -K ${place#*:} tso off gso off gro off >/dev/null
    done
    on rtr tc qdisc add dev right root netem delay 11ms loss 1.5% limit 9000 rate 4mbit
    on dst1 tc qdisc add dev far root netem delay 7ms loss 0.7% limit 9000
    on mid tc qdisc add dev far root netem delay 3ms loss 1% limit 9000
    on mid tc qdisc add dev near root netem delay 2ms loss 0.5% limit 9000
    on dst1 tc qdisc add dev data root netem delay 5ms loss 0.8% limit 9000
    on rtr tc qdisc add dev left root netem delay 9ms loss 0.3% limit 9000
    for place in src1:data rtr:right dst1:far end:data; do
        on ${place%:*} tcpdump -i ${place#*:} --immediate-mode -s 120 -w /out/${place%:*}.pcap tcp or udp 2>/dev/null &
    done
    on end iperf3 -s -D
    sleep 1
    on src1 iperf3 -c 172.16.21.2 -t 6 >/dev/null
    sleep 2
    pkill tcpdump
    sleep 0.5
    for place in rtr:right dst1:far mid:far rtr:left dst1:data mid:near; do
        dropped=$(on ${place%:*} tc -s qdisc show dev ${place#*:} | grep -o 'dropped [0-9]*' | cut -d' ' -f2)
        echo $dropped
    done
";

#[test]
#[ignore = "takes a guest of its own"]
fn losses_between_four_points_are_the_drops_of_the_queues() {
    if !has_lab() {
        return;
    }
    let desk = Desk::new();
    let ended = Command::new(env!("CARGO_BIN_EXE_tcpexp"))
        .args(["lab", "run", "--limit", "600", "--cache"])
        .arg(cache())
        .arg("--out")
        .arg(desk.path("points"))
        .args(["--", "bash", "-c", FOUR_POINTS])
        .output()
        .unwrap();
    let printed = String::from_utf8(ended.stdout).unwrap();
    let drops: Vec<u64> = printed.lines().map(|line| line.parse().unwrap()).collect();
    let text =
        desk.text("path points/src1.pcap points/rtr.pcap points/dst1.pcap points/end.pcap --quiet");
    let parts: Vec<&str> = text.split("\nall ").collect();
    // Column of a segment, for all flows together: in the first table packets, then delays.
    let column = |part: &str, segment: &str, index: usize| -> f64 {
        let line = part
            .lines()
            .find_map(|line| line.trim().strip_prefix(segment));
        // One space separates thousands.
        let cells = line.into_iter().flat_map(|line| line.split("  "));
        let mut cells = cells.map(str::trim).filter(|cell| !cell.is_empty());
        let digits = cells.nth(index).unwrap().replace(' ', "");
        digits.parse().unwrap()
    };
    let segments = ["1 > 2", "2 > 3", "3 > 4", "2 > 1", "3 > 2", "4 > 3"];
    let lost = segments.map(|segment| column(parts[1], segment, 3));
    assert_eq!(drops.len(), lost.len(), "{printed}");
    for (drops, lost) in drops.iter().zip(lost) {
        assert!((*drops as f64 - lost).abs() < 0.5, "{printed}{text}");
    }
    assert!(drops.iter().sum::<u64>() > 10, "{printed}");
    // Nothing waits on the way back.
    let sum: f64 = segments[3..]
        .iter()
        .map(|segment| column(parts[2], segment, 1))
        .sum();
    let whole = column(parts[2], "4 > 1", 1);
    assert!((sum - whole).abs() < 0.05, "{sum} {whole}\n{text}");
}

#[test]
fn invalid_lab_arguments_create_nothing() {
    let desk = Desk::new();
    let none = desk.misuse("lab run --cache c --sources 0 -- true");
    insta::assert_snapshot!(none, @"error: invalid value '0' for '--sources <N>': 0 is not in 1..=64");
    let modules = desk.misuse("lab run --cache c --modules m -- true");
    insta::assert_snapshot!(modules, @"error: the following required arguments were not provided:");
    assert!(!desk.path("c").exists());
}

#[test]
fn the_cache_is_listed_and_cleared() {
    let desk = Desk::new();
    let empty = "      0 B  in c\n";
    assert_eq!(desk.text("lab cache --cache c"), empty);
    let image = desk.path("c/images/key");
    std::fs::create_dir_all(&image).unwrap();
    std::fs::write(image.join("root"), [1; 10_000]).unwrap();
    let listed = desk.text("lab cache --cache c");
    assert!(listed.contains("  images/key, used "), "{listed}");
    let cleared = desk.text("lab cache --cache c --clear");
    assert!(cleared.starts_with("removed "), "{cleared}");
    assert_eq!(desk.text("lab cache --cache c"), empty);
}
