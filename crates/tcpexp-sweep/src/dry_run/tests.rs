use std::path::Path;

use insta::assert_snapshot;

use super::dry_run;
use crate::plan::Plan;

fn dry_run_of(plan: &str) -> String {
    let plan = Plan::parse(Path::new("plan.toml"), plan).unwrap_or_else(|error| panic!("{error}"));
    dry_run(&plan, None).unwrap()
}

/// The part of a dry run that is about one host in one phase.
fn part<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, rest) = text
        .split_once(&format!("# {heading}\n"))
        .unwrap_or_else(|| panic!("no {heading} in {text}"));
    rest.split("\n\n# ").next().unwrap_or(rest).trim_end()
}

/// Traffic of every kind that a testbed's plan can have.
const KINDS: &str = r#"
kind = "lab"
[path.forward]
rate = "8mbit"
buffer = "50p"
[[traffic]]
name = "bulk"
tool = "iperf3"
duration = "2s"
count = 2
stagger = "500ms"
cc = "reno"
mss = 1000
window = "64KiB"
[[traffic]]
name = "upload"
tool = "iperf3"
from = "dst1"
to = "src1"
bytes = "300kB"
cc = "cubic"
[[traffic]]
name = "old"
tool = "iperf"
duration = "1500ms"
rate = "2mbit"
cc = "vegas"
mss = 1200
window = "64KiB"
port = 5202
[[traffic]]
name = "voice"
tool = "udp"
duration = "2s"
rate = "80kbit"
packet_bytes = 200
[[traffic]]
name = "asks"
tool = "request-response"
duration = "1s"
interval = "50ms"
request = "400B"
cc = "cubic"
[[traffic]]
name = "asks-on"
tool = "netperf"
duration = "1s"
reply = "1kB"
cc = "cubic"
[[traffic]]
name = "pages"
tool = "http"
sizes = ["10kB", "50kB"]
interval = "200ms"
cc = "reno"
[[traffic]]
name = "mirror"
tool = "rsync"
bytes = "200kB"
cc = "reno"
[[traffic]]
name = "copy"
tool = "scp"
bytes = "150kB"
cc = "reno"
[[traffic]]
name = "echo"
tool = "ping"
duration = "1500ms"
interval = "200ms"
packet_bytes = 100
[[traffic]]
name = "own"
tool = "command"
command = ["sh", "-c", "echo $HOME | nc dst1 7000"]
server = ["nc", "-l", "-p", "7000"]
duration = "1s"
"#;

#[test]
fn a_plan_without_a_matrix_varies_nothing() {
    let text = dry_run_of(KINDS);
    let first: Vec<&str> = text.lines().take(2).collect();
    assert_eq!(first, ["1 cell x 1 = 1 run, about 0 h 01 min", ""]);
}

#[test]
fn each_kind_of_traffic_has_its_commands() {
    let text = dry_run_of(KINDS);
    assert_snapshot!(part(&text, "dst1: servers"), @"
    spawn bulk-1-server bulk-1-server.txt 0 iperf3 -s -1 -p 5201
    await_server bulk-1-server 5201
    spawn bulk-2-server bulk-2-server.txt 0 iperf3 -s -1 -p 5203
    await_server bulk-2-server 5203
    spawn old-server old-server.txt 0 iperf -s -p 5202 -w 65536
    await_server old-server 5202
    spawn voice-server voice-server.txt 0 iperf -s -u -p 5205 -l 200
    await_server voice-server 5205
    spawn asks-server asks-server.txt 0 iperf -s -p 5206
    await_server asks-server 5206
    spawn asks-on-server asks-on-server.txt 0 netserver -D -p 5207
    await_server asks-on-server 5207
    spawn own-server own-server.txt 0 nc -l -p 7000
    ");
    assert_snapshot!(part(&text, "src1: servers"), @"
    spawn upload-server upload-server.txt 0 iperf3 -s -1 -p 5204
    await_server upload-server 5204
    spawn pages-server pages-server.txt 0 serve_files 172.16.10.3 5208 10000 50000
    await_server pages-server 5208
    spawn mirror-server mirror-server.txt 0 serve_rsync 172.16.10.3 5209 200000
    await_server mirror-server 5209
    ");
    assert_snapshot!(part(&text, "src1: clients, start in ns after the start of all"), @"
    spawn bulk-1 bulk-1.json 0 iperf3 -c 172.16.11.2 -p 5201 --json -t 2 -C reno -M 1000 -w 65536
    spawn bulk-2 bulk-2.json 500000000 iperf3 -c 172.16.11.2 -p 5203 --json -t 2 -C reno -M 1000 -w 65536
    spawn old old.txt 0 iperf -c 172.16.11.2 -p 5202 -i 1 -t 1.5 -Z vegas -M 1200 -w 65536 -b 2000000
    spawn voice voice.txt 0 iperf -c 172.16.11.2 -u -p 5205 -b 80000 -l 200 -t 2
    spawn asks asks.txt 0 iperf -c 172.16.11.2 -p 5206 -i 1 --bounceback=1 --bounceback-period 0.05 -t 1 -Z cubic -l 400
    spawn asks-on asks-on.txt 0 netperf -H 172.16.11.2 -p 5207 -t TCP_RR -l 1 -- -r 1,1000 -K cubic
    spawn copy copy.txt 0 push_with_scp 172.16.11.2 22 dst1 150000
    spawn echo echo.txt 0 ping -D -n -i 0.2 -s 100 -w 2 172.16.11.2
    spawn own own.txt 0 sh -c 'echo $HOME | nc dst1 7000'
    ");
    assert_snapshot!(part(&text, "dst1: clients, start in ns after the start of all"), @"
    spawn upload upload.json 0 iperf3 -c 172.16.10.3 -p 5204 --json -n 300000 -C cubic
    spawn pages pages.txt 0 download_files 172.16.10.3 5208 0.2 10000 50000
    spawn mirror mirror.txt 0 pull_with_rsync 172.16.10.3 5209
    ");
    // iperf sets its own congestion control; the other tools use their host's default.
    assert_snapshot!(part(&text, "src1: prepare"), @"
    offloads_off data
    set_sysctl net.ipv4.tcp_no_metrics_save 1
    ip tcp_metrics flush all >/dev/null 2>&1 || :
    modprobe tcp_cubic 2>/dev/null || :
    modprobe tcp_reno 2>/dev/null || :
    modprobe tcp_vegas 2>/dev/null || :
    set_sysctl net.ipv4.tcp_congestion_control reno
    ");
    assert_snapshot!(part(&text, "dst1: prepare"), @"
    offloads_off data
    set_sysctl net.ipv4.tcp_no_metrics_save 1
    ip tcp_metrics flush all >/dev/null 2>&1 || :
    modprobe tcp_cubic 2>/dev/null || :
    ");
}

#[test]
fn iperf_gets_the_ipv6_option() {
    let text = dry_run_of(
        r#"
        [hosts]
        a = { role = "source", interface = "eth1", address = "fd00:1::1" }
        r = { role = "router", left = "eth1", right = "eth2" }
        b = { role = "sink", interface = "eth1", address = "fd00:2::1" }
        [path.forward]
        [[traffic]]
        name = "old"
        tool = "iperf"
        duration = "1s"
        [[traffic]]
        name = "pages"
        tool = "http"
        sizes = ["10kB"]
        "#,
    );
    assert_snapshot!(part(&text, "b: servers"), @"
    spawn old-server old-server.txt 0 iperf -s -p 5201 -V
    await_server old-server 5201
    ");
    assert_snapshot!(part(&text, "a: clients, start in ns after the start of all"), @"spawn old old.txt 0 iperf -c fd00:2::1 -p 5201 -i 1 -V -t 1");
    assert_snapshot!(part(&text, "b: clients, start in ns after the start of all"), @"spawn pages pages.txt 0 download_files fd00:1::1 5202 0 10000");
}

/// A source and a router that run FreeBSD.
const FREEBSD: &str = r#"
[hosts.alice]
role = "source"
os = "freebsd"
interface = "em1"
address = "172.16.10.2"
[hosts.middle]
role = "router"
os = "freebsd"
left = "em1"
right = "em2"
[hosts.bob]
role = "sink"
interface = "eth1"
address = "172.16.11.2"
[path.forward]
rate = "10mbit"
delay = "20ms"
buffer = "50p"
[[traffic]]
name = "bulk"
tool = "iperf3"
duration = "30s"
cc = "newreno"
[[traffic]]
name = "pages"
tool = "http"
sizes = ["100kB"]
start = "5s"
cc = "newreno"
[[change]]
at = "10s"
rate = "5mbit"
[loggers]
siftr = true
queue = "500ms"
"#;

#[test]
fn freebsd_hosts_have_their_own_commands() {
    let text = dry_run_of(FREEBSD);
    let (_, commands) = text.split_once("# ").unwrap();
    assert_snapshot!(commands, @"
    alice: preflight
    is_free /tmp/tcpexp-alice ''
    tools iperf3 ping sysctl tar tcpdump
    has_interface em1
    has_address em1 172.16.10.2
    has_route 172.16.11.2 em1
    has_cc newreno
    has_room 20000

    # bob: preflight
    is_free /tmp/tcpexp-bob ''
    tools ethtool ip iperf3 sysctl tar tcpdump
    has_interface eth1
    has_address eth1 172.16.11.2
    has_route 172.16.10.2 eth1
    has_room 20000

    # middle: preflight
    is_free /tmp/tcpexp-middle ''
    tools ipfw sysctl tar tcpdump
    has_room 20000

    # alice: prepare
    offloads_off em1
    set_sysctl net.inet.tcp.cc.algorithm newreno

    # bob: prepare
    offloads_off eth1
    set_sysctl net.ipv4.tcp_no_metrics_save 1
    ip tcp_metrics flush all >/dev/null 2>&1 || :

    # middle: prepare
    offloads_off em1
    offloads_off em2

    # middle: apply
    ipfw -q delete set 17 2>/dev/null || :
    ipfw -q queue delete 7101 2>/dev/null || :
    ipfw -q sched delete 7101 2>/dev/null || :
    ipfw -q pipe delete 7101 7110 7111 7112 7113 7114 7115 7116 7117 7118 7119 7120 7121 7122 7123 7124 7125 7126 7127 7128 7129 7130 7131 7132 7133 7134 7135 7136 7137 7138 7139 7140 2>/dev/null || :
    ipfw -q queue delete 7301 2>/dev/null || :
    ipfw -q sched delete 7301 2>/dev/null || :
    ipfw -q pipe delete 7301 7310 7311 7312 7313 7314 7315 7316 7317 7318 7319 7320 7321 7322 7323 7324 7325 7326 7327 7328 7329 7330 7331 7332 7333 7334 7335 7336 7337 7338 7339 7340 2>/dev/null || :
    sysctl net.inet.ip.fw.one_pass=0
    sysctl net.inet.ip.dummynet.io_fast=0
    sysctl net.inet.ip.dummynet.pipe_slot_limit=20000
    sysctl net.inet.ip.dummynet.pipe_byte_limit=33554432
    ipfw -q pipe 7110 config delay 20 queue 10000 noerror
    ipfw -q pipe 7310 config delay 20 queue 10000 noerror
    ipfw -q pipe 7101 config bw 10000000bit/s queue 50 droptail noerror
    ipfw -q add 7298 set 17 pipe 7110 ip from any to any out via em2
    ipfw -q add 7299 set 17 pipe 7101 ip from any to any out via em2
    ipfw -q add 7498 set 17 pipe 7310 ip from any to any out via em1

    # middle: undo
    ipfw -q delete set 17 2>/dev/null || :
    ipfw -q queue delete 7101 2>/dev/null || :
    ipfw -q sched delete 7101 2>/dev/null || :
    ipfw -q pipe delete 7101 7110 7111 7112 7113 7114 7115 7116 7117 7118 7119 7120 7121 7122 7123 7124 7125 7126 7127 7128 7129 7130 7131 7132 7133 7134 7135 7136 7137 7138 7139 7140 2>/dev/null || :
    ipfw -q queue delete 7301 2>/dev/null || :
    ipfw -q sched delete 7301 2>/dev/null || :
    ipfw -q pipe delete 7301 7310 7311 7312 7313 7314 7315 7316 7317 7318 7319 7320 7321 7322 7323 7324 7325 7326 7327 7328 7329 7330 7331 7332 7333 7334 7335 7336 7337 7338 7339 7340 2>/dev/null || :

    # middle: change at 10.000 s: rate 5mbit
    ipfw -q pipe 7101 config bw 5000000bit/s queue 50 droptail noerror

    # alice: capture
    capture alice em1 96 32768 'tcp or udp'
    trace_siftr alice-siftr alice-siftr.txt

    # bob: capture
    capture bob eth1 96 32768 'tcp or udp'

    # middle: capture
    spawn middle-queue middle-queue.jsonl 0 poll_queues 0.5 em1 em2

    # alice: servers
    spawn pages-server pages-server.txt 0 serve_files 172.16.10.2 5202 100000
    await_server pages-server 5202

    # bob: servers
    spawn bulk-server bulk-server.txt 0 iperf3 -s -1 -p 5201
    await_server bulk-server 5201

    # alice: clients, start in ns after the start of all
    spawn bulk bulk.json 0 iperf3 -c 172.16.11.2 -p 5201 --json -t 30 -C newreno

    # bob: clients, start in ns after the start of all
    spawn pages pages.txt 5000000000 download_files 172.16.10.2 5202 0 100000
    ");
}

#[test]
fn kernel_settings_are_checked_and_made() {
    let plan = r#"
kind = "lab"
[prepare]
sysctl.net.ipv4.tcp_ecn = 1
module.tcp_cubic.hystart = 0
[path.forward]
[[traffic]]
name = "bulk"
tool = "iperf3"
duration = "1s"
"#;
    let text = dry_run_of(plan);
    assert!(
        part(&text, "src1: preflight")
            .contains("has_setting net.ipv4.tcp_ecn\nhas_parameter tcp_cubic hystart")
    );
    assert!(
        part(&text, "dst1: prepare")
            .contains("set_sysctl net.ipv4.tcp_ecn 1\nset_parameter tcp_cubic hystart 0")
    );
    assert!(!part(&text, "rtr: prepare").contains("set_sysctl"));
}
