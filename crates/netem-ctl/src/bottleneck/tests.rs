use insta::assert_snapshot;

use super::*;

fn read(text: &str) -> Bottleneck {
    Bottleneck::from_toml(text).unwrap()
}

fn refusal(text: &str) -> String {
    Bottleneck::from_toml(text).unwrap_err().to_string()
}

#[test]
fn every_written_value_reads_back() {
    let text = r#"[forward]
rate = "10mbit"
delay = "20ms"
jitter = "2ms"
jitter_distribution = "paretonormal"
jitter_reorders = true
reorder = "1%"
duplicate = "0.5%"
buffer = "0.5bdp"
queue = "fq_codel"
ecn = true
target = "5ms"

[forward.loss]
enter_bad = "0.1%"
leave_bad = "20%"
in_bad = "100%"
in_good = "0%"

[[forward.flows]]
source = "172.16.10.4/32"
destination_port = 5201
delay = "80ms"

[reverse]
rate = "1mbit"
buffer = "20p"
"#;
    assert_eq!(toml::to_string(&read(text)).unwrap(), text);
}

#[test]
fn reverse_delay_defaults_to_the_forward_delay() {
    let delays = |text| read(text).base_rtt().to_exact_text();
    assert_eq!(delays("forward.delay = '20ms'"), "40ms");
    assert_eq!(
        delays("forward.delay = '20ms'\nreverse.rate = '1mbit'"),
        "40ms"
    );
    assert_eq!(
        delays("forward.delay = '20ms'\nreverse.delay = '0ms'"),
        "20ms"
    );
    assert_eq!(
        delays("forward.rate = '1mbit'\nreverse.delay = '5ms'"),
        "5ms"
    );
}

#[test]
fn reverse_flows_default_to_the_mirrored_forward_flows() {
    let all = read("[[forward.flows]]\nsource = '10.0.0.3'\nsource_port = 80\ndelay = '9ms'");
    let back = &all.resolved().reverse.flows.unwrap()[0];
    assert_eq!(
        back.destination.map(|prefix| prefix.to_string()).as_deref(),
        Some("10.0.0.3/32")
    );
    assert_eq!((back.source, back.destination_port), (None, Some(80)));
}

#[test]
fn bursts_have_the_mean_loss_of_their_model() {
    let text = "forward.loss = { enter_bad = '1%', leave_bad = '24%', in_bad = '50%' }";
    let mean = read(text).forward.loss.unwrap().mean().unwrap();
    assert!((mean - 0.02).abs() < 1e-12, "{mean}");
}

#[test]
fn error_names_line_key_and_expected_value() {
    assert_snapshot!(refusal("[forward]\nrat = '10mbit'"), @"line 2 (rat = '10mbit'): unknown field `rat`, expected one of `rate`, `linklayer`, `overhead`, `police`, `police_burst`, `slot`, `slot_most`, `slot_packets`, `slot_bytes`, `trace`, `delay`, `jitter`, `jitter_distribution`, `jitter_reorders`, `loss`, `reorder`, `duplicate`, `buffer`, `queue`, `ecn`, `target`, `interval`, `update_interval`, `ce_threshold`, `flow_queues`, `red_min`, `red_max`, `red_probability`, `isolation`, `flows`");
    assert_snapshot!(refusal("[forward]\nrate = '10mbps'"), @r#"line 2 (rate = '10mbps'): "10mbps" is not a rate: expected bits per second such as "800kbit", "1.5mbit" or "1gbit""#);
    assert_snapshot!(refusal("[forward]\nrate = 10"), @r#"line 2 (rate = 10): invalid type: integer `10`, expected a string with bits per second such as "800kbit", "1.5mbit" or "1gbit""#);
    assert_snapshot!(refusal("[forward]\nloss = 0.01"), @r#"line 2 (loss = 0.01): invalid type: floating point `0.01`, expected a percentage such as "1%", or { enter_bad = "0.1%", leave_bad = "20%" }"#);
    assert_snapshot!(refusal("[forward]\nloss = { enter_bad = '1%' }"), @"line 2 (loss = { enter_bad = '1%' }): missing field `leave_bad`");
    assert_snapshot!(refusal("[forward]\nqueue = 'fifo'"), @"line 2 (queue = 'fifo'): unknown variant `fifo`, expected one of `pfifo`, `bfifo`, `red`, `codel`, `fq_codel`, `pie`, `fq_pie`, `cake`, `sfq`");
    assert_snapshot!(refusal("[[forward.flows]]\nsource = 'host'\ndelay = '1ms'"), @r#"line 2 (source = 'host'): "host" is not an address: expected for example "172.16.10.3" or "172.16.10.0/24""#);
    assert_snapshot!(refusal("[backward]\n"), @"line 1 ([backward]): unknown field `backward`, expected `forward` or `reverse`");
}

#[test]
fn list_in_place_of_a_table_is_refused() {
    assert_snapshot!(refusal("[[forward]]\nrate = '1mbit'\n[[forward]]\nrate = '2mbit'"), @"line 1 ([[forward]]): expected a table, found a list");
    assert_snapshot!(refusal("forward = ['1mbit']"), @"line 1 (forward = ['1mbit']): expected a table, found a list");
    assert_snapshot!(refusal("[forward]\nflows = [['10.0.0.1', '10.0.0.2', 5, 6, '3ms']]"), @"line 2 (flows = [['10.0.0.1', '10.0.0.2', 5, 6, '3ms']]): expected a table, found a list");
    assert_snapshot!(refusal("reverse = 1"), @"line 1 (reverse = 1): expected a table, found a number");
}

#[test]
fn a_flow_has_its_delay_in_both_directions_unless_reverse_lists_flows() {
    let between = |flows: &str, source: &str| {
        let text = format!("[forward]\ndelay = '20ms'\n{flows}");
        let hosts = [source, "172.16.11.1"].map(|address| address.parse().unwrap());
        read(&text)
            .base_rtt_between(hosts[0], hosts[1])
            .to_exact_text()
    };
    let flow = |keys: &str, delay: &str| format!("[[forward.flows]]\n{keys}\ndelay = '{delay}'\n");
    let of_one = flow("source = '172.16.10.1'", "80ms");
    assert_eq!(between(&of_one, "172.16.10.1"), "160ms");
    assert_eq!(between(&of_one, "172.16.10.2"), "40ms");
    let one_way = format!("{of_one}[reverse]\nflows = []\n");
    assert_eq!(between(&one_way, "172.16.10.1"), "100ms");
    let text = format!("[forward]\ndelay = '20ms'\n{one_way}");
    assert_eq!(read(&text).longest_rtt().to_exact_text(), "100ms");
    // The first matching entry applies.
    let net = flow("source = '172.16.10.0/24'", "5ms");
    assert_eq!(between(&format!("{net}{of_one}"), "172.16.10.1"), "10ms");
    assert_eq!(between(&net, "172.16.9.255"), "40ms");
    assert_eq!(
        between(&flow("source = '0.0.0.0/0'", "5ms"), "1.2.3.4"),
        "10ms"
    );
    let of_port = flow("source = '172.16.10.1'\ndestination_port = 80", "80ms");
    assert_eq!(between(&of_port, "172.16.10.1"), "40ms");
    let other = flow("destination = 'fd00:11::/64'", "80ms");
    assert_eq!(between(&other, "172.16.10.1"), "40ms");
}
