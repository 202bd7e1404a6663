use super::*;
use crate::router::Os;

fn planned(text: &str) -> Result<Plan, PlanError> {
    let router = Router {
        os: Os::Linux,
        left: "r0".parse().unwrap(),
        right: "r1".parse().unwrap(),
    };
    plan(&Bottleneck::from_toml(text).unwrap(), &router)
}

#[test]
fn a_change_that_removes_a_ce_threshold_is_refused() {
    let with = |threshold: &str| {
        let text = format!("[forward]\nrate = '10mbit'\nqueue = 'fq_codel'\n{threshold}");
        planned(&text).unwrap()
    };
    let [none, one, two] = ["", "ce_threshold = '1ms'", "ce_threshold = '2ms'"].map(with);
    let queue = || ChangeError::Fixed("the queue forward".into());
    assert_eq!(one.change_to(&none), Err(queue()));
    assert_eq!(one.change_to(&two).unwrap().len(), 1);
}

#[test]
fn a_change_that_removes_the_buffer_of_cake_is_refused() {
    let with = |buffer: &str| {
        let text = format!("[forward]\nrate = '10mbit'\nqueue = 'cake'\n{buffer}");
        planned(&text).unwrap()
    };
    let [none, one, two] = ["", "buffer = '20p'", "buffer = '40p'"].map(with);
    let queue = || ChangeError::Fixed("the queue forward".into());
    assert_eq!(one.change_to(&none), Err(queue()));
    assert_eq!(one.change_to(&two).unwrap().len(), 1);
}

fn refused(text: &str) -> String {
    let text = format!("[forward]\nrate = '10mbit'\n{text}");
    planned(&text).unwrap_err().to_string()
}

#[test]
fn a_probability_that_red_cannot_have_is_refused() {
    let with = |share: &str| {
        refused(&format!(
            "queue = 'red'\nbuffer = '50kB'\nred_probability = '{share}'"
        ))
    };
    for share in ["0%", "100%"] {
        assert_eq!(
            with(share),
            format!("forward.red_probability is {share}: expected more than 0% and less than 100%")
        );
    }
}

#[test]
fn times_that_a_queue_cannot_have_are_refused() {
    for (queue, key, time, expected) in [
        ("codel", "target", "-5ms", "a time from 1us to 4294s"),
        ("codel", "target", "5000s", "a time from 1us to 4294s"),
        ("codel", "interval", "0s", "a time from 1us to 4294s"),
        (
            "fq_codel",
            "ce_threshold",
            "-1ms",
            "a time from 0s to 4294s",
        ),
        ("cake", "interval", "0s", "a time from 1us to 4294s"),
        ("pie", "target", "0s", "a time from 1us to 4294s"),
        ("pie", "update_interval", "1us", "a time from 1ms to 4294s"),
    ] {
        assert_eq!(
            refused(&format!("queue = '{queue}'\n{key} = '{time}'")),
            format!("forward.{key} is {time}: expected {expected}")
        );
    }
    let zero = "[forward]\nrate = '10mbit'\nqueue = 'codel'\nce_threshold = '0s'";
    assert!(planned(zero).is_ok());
}

#[test]
fn a_memory_limit_of_more_than_32_bits_is_refused() {
    let with = |packets: u64| {
        let queue = format!("queue = 'cake'\nbuffer = '{packets}p'");
        planned(&format!("[forward]\nrate = '10gbit'\n{queue}"))
    };
    assert!(with(1_864_135).is_ok());
    assert_eq!(
        with(1_864_136).unwrap_err().to_string(),
        "forward.buffer is 1864136 packets: expected at most 1864135 packets with cake, whose limit is 4 GiB of memory"
    );
}

#[test]
fn a_burst_whose_time_tc_cannot_pass_on_is_refused() {
    let with = |rate: &str, burst: &str| {
        let text = format!("[forward]\npolice = '{rate}'\npolice_burst = '{burst}'");
        planned(&text)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        with("8kbit", "10MB").unwrap_err(),
        "forward.police_burst is 10MB: expected at most the bytes of 274 s at the rate of the policer"
    );
    assert_eq!(
        with("100gbit", "1514B").unwrap_err(),
        "forward.police_burst is 1.514kB: expected at least what the policer passes in 107 us, because tc cuts the \
         burst to whole microseconds"
    );
    assert_eq!(with("8kbit", "274kB"), Ok(()));
    assert_eq!(with("10gbit", "125kB"), Ok(()));
    assert_eq!(with("10mbit", "1514B"), Ok(()));
}

#[test]
fn thresholds_that_red_cannot_have_are_refused() {
    let with = |keys: &str| refused(&format!("queue = 'red'\nbuffer = '100kB'\n{keys}"));
    assert_eq!(
        with("red_min = '30kB'\nred_max = '10kB'"),
        "forward.red_max is 10kB: expected at least red_min, which is a twelfth of the buffer by default"
    );
    assert_eq!(
        with("red_min = '30kB'\nred_max = '200kB'"),
        "forward.red_max is 200kB: expected at most the buffer"
    );
    assert_eq!(
        with("red_min = '60kB'"),
        "forward.red_min is 60kB: expected at most a third of the buffer, because red_max is three times red_min \
         by default"
    );
    assert_eq!(
        with("red_probability = '0.0000001%'"),
        "forward.red_probability is 0.0000001%: expected more than (red_max - red_min) / 2^31, with both in bytes"
    );
}

#[test]
fn red_has_a_weight_in_small_and_large_buffers() {
    let words = |buffer: &str| {
        let text = format!("[forward]\nrate = '1gbit'\nqueue = 'red'\nbuffer = '{buffer}'");
        let lines = planned(&text).unwrap().apply;
        let line = lines
            .iter()
            .map(Step::line)
            .find(|line| line.contains(" red "))
            .unwrap();
        line.split_once(" red ").unwrap().1.to_owned()
    };
    for (buffer, expected) in [
        ("2p", "limit 3028 min 252 max 756 avpkt 126 burst 4"),
        (
            "100kB",
            "limit 100000 min 8333 max 24999 avpkt 1000 burst 14",
        ),
        // The advised burst of 1389 gives a weight of 2^-10, which does not fit the kernel's 32 bits.
        (
            "10MB",
            "limit 10000000 min 833333 max 2499999 avpkt 1000 burst 1304",
        ),
    ] {
        let all = format!("{expected} probability 0.1 bandwidth 1gbit");
        assert_eq!(words(buffer), all);
    }
}

#[test]
fn a_probability_of_red_is_read_back() {
    let text =
        "[forward]\nrate = '10mbit'\nqueue = 'red'\nbuffer = '50kB'\nred_probability = '99%'";
    let plan = planned(text).unwrap();
    let check = plan
        .verify
        .iter()
        .find(|check| check.argv.join(" ") == "tc -j -s -d qdisc show dev r1");
    let found = |probability: &str| {
        let output = format!(
            r#"[{{"kind":"htb","handle":"7b1:","root":true,"options":{{"default":"0x10"}}}},
            {{"kind":"red","handle":"7c1:","parent":"7b1:10","options":{{"limit":50000,"min":4166,"max":12498,{probability}"ewma":3}}}}]"#
        );
        let wrong = check.unwrap().compare(&output);
        wrong.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(found("\"probability\":0.99,").is_empty());
    assert_eq!(
        found("\"probability\":0.508543,"),
        ["probability of red on r1 is 0.508543, not 0.99"]
    );
    assert_eq!(found(""), ["probability of red on r1 is missing, not 0.99"]);
}

#[test]
fn an_update_interval_that_the_kernel_rounds_is_a_difference_unless_it_is_the_default() {
    let found = |update: &str, us: u32| {
        let text = format!("[forward]\nrate = '10mbit'\nqueue = 'pie'\n{update}");
        let plan = planned(&text).unwrap();
        let facts = plan.verify.iter().filter_map(|check| match &check.must {
            Must::Qdiscs(facts) => Some(facts),
            _ => None,
        });
        let mut options = facts.flatten().flat_map(|fact| &fact.options);
        let update = options.find(|option| option.path == "tupdate").unwrap();
        let OptionValue::Number(number) = update.value else {
            panic!("{update:?}")
        };
        (f64::from(us) - number.value).abs() <= number.tolerance
    };
    // 250 ticks per second.
    assert!(!found("update_interval = '1ms'", 4_000));
    assert!(!found("update_interval = '9ms'", 12_000));
    assert!(found("update_interval = '12ms'", 12_000));
    // 300 ticks per second.
    assert!(found("update_interval = '10ms'", 9_999));
    assert!(found("", 16_000));
}

#[test]
fn a_buffer_that_the_queues_of_sfq_cannot_hold_is_refused() {
    let with = |buffer: &str, flows: &str| {
        refused(&format!("queue = 'sfq'\nbuffer = '{buffer}'\n{flows}"))
    };
    assert_eq!(
        with("1000p", "flow_queues = 4"),
        "forward.buffer is 1000 packets: expected at most 508, because each queue of sfq has room for 127; with \
         more flow_queues, up to 1024, there is more room"
    );
    assert!(with("200000p", "").contains("expected at most 130048"));
    assert!(with("1p", "").ends_with("is 1 packet: expected at least 2 packets with sfq"));
    let fits = "[forward]\nrate = '10mbit'\nqueue = 'sfq'\nbuffer = '508p'\nflow_queues = 4";
    assert!(planned(fits).is_ok());
}

#[test]
fn a_number_of_queues_that_the_kernel_would_replace_is_refused() {
    let with = |queue: &str, flows: u32| {
        refused(&format!(
            "queue = '{queue}'\nbuffer = '100p'\nflow_queues = {flows}"
        ))
    };
    for flows in [0, 1_025] {
        assert_eq!(
            with("sfq", flows),
            format!("forward.flow_queues is {flows}: expected 1 to 1024 with sfq")
        );
    }
    for flows in [0, 65_537] {
        assert_eq!(
            with("fq_codel", flows),
            format!("forward.flow_queues is {flows}: expected 1 to 65536")
        );
    }
}

#[test]
fn a_change_that_removes_reordering_states_a_probability_of_zero() {
    let with = |reorder: &str| planned(&format!("[forward]\ndelay = '20ms'\n{reorder}")).unwrap();
    let [none, zero, some] = ["", "reorder = '0%'", "reorder = '25%'"].map(with);
    let last_words = |from: &Plan, to: &Plan| -> String {
        let steps = from.change_to(to).unwrap();
        let line = steps[0].line();
        line.split_once(" delay ").unwrap().1.to_owned()
    };
    assert_eq!(last_words(&some, &none), "20ms reorder 0%");
    assert_eq!(last_words(&some, &zero), "20ms reorder 0%");
    assert_eq!(last_words(&none, &some), "20ms reorder 25%");
    // A new stage has no reordering to remove.
    assert!(
        !none
            .apply
            .iter()
            .any(|step| step.line().contains("reorder"))
    );
}

#[test]
fn a_flow_without_delay_has_neither_jitter_nor_reordering() {
    let text = "[forward]\ndelay = '20ms'\njitter = '2ms'\nreorder = '1%'\n\
                [[forward.flows]]\nsource_port = 80\ndelay = '0s'";
    let lines: Vec<String> = planned(text)
        .unwrap()
        .apply
        .iter()
        .map(Step::line)
        .collect();
    let stage = |device: &str| {
        let begin = format!("tc qdisc add dev {device} ");
        lines.iter().find(|line| line.starts_with(&begin)).unwrap()
    };
    let (all, flow) = (stage("tcxd-l"), stage("tcxd-l1"));
    assert!(all.contains(" delay 20ms 2ms reorder 1%"), "{all}");
    assert!(
        !flow.contains("delay") && !flow.contains("reorder"),
        "{flow}"
    );
}

#[test]
fn a_jitter_of_zero_has_no_distribution() {
    let with = |jitter: &str| {
        let text = format!(
            "[forward]\ndelay = '20ms'\njitter = '{jitter}'\njitter_distribution = 'normal'"
        );
        planned(&text).unwrap()
    };
    let [zero, some] = ["0ms", "2ms"].map(with);
    let words = |plan: &Plan| {
        let lines = plan.apply.iter().map(Step::line);
        let line = lines
            .into_iter()
            .find(|line| line.contains(" netem "))
            .unwrap();
        line.split_once(" delay ").unwrap().1.to_owned()
    };
    assert_eq!(words(&zero), "20ms 0s rate 100gbit");
    assert_eq!(words(&some), "20ms 2ms distribution normal rate 100gbit");
}

#[test]
fn a_delay_of_less_than_a_microsecond_is_refused() {
    let with = |text: &str| {
        planned(&format!("[forward]\n{text}"))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        with("delay = '500ns'"),
        "forward.delay is 500ns: expected 0s, or at least 1us"
    );
    assert_eq!(
        with("delay = '1ms'\njitter = '500ns'"),
        "forward.jitter is 500ns: expected 0s, or at least 1us"
    );
    assert_eq!(
        with("delay = '1ms'\n[[forward.flows]]\nsource_port = 80\ndelay = '500ns'"),
        "forward.flows[1]: expected a delay of 0s, or of at least 1us"
    );
}

#[test]
fn parts_of_a_microsecond_that_tc_cuts_off_are_no_difference() {
    let plan = planned("[forward]\ndelay = '12.5us'").unwrap();
    let facts = plan.verify.iter().filter_map(|check| match &check.must {
        Must::Qdiscs(facts) => Some(facts),
        _ => None,
    });
    let mut options = facts.flatten().flat_map(|fact| &fact.options);
    let delay = options.find(|option| option.path == "delay.delay").unwrap();
    let OptionValue::Number(number) = delay.value else {
        panic!("{delay:?}")
    };
    assert!((0.000_011 - number.value).abs() <= number.tolerance);
    assert!((0.000_010 - number.value).abs() > number.tolerance);
}

#[test]
fn a_flow_with_less_delay_than_jitter_is_refused() {
    let text = "[forward]\ndelay = '20ms'\njitter = '2ms'\n\
                [[forward.flows]]\nsource_port = 80\ndelay = '1ms'";
    assert_eq!(
        planned(text).unwrap_err().to_string(),
        "forward.flows[1]: expected a delay of 0s, or of at least the path's jitter"
    );
}

#[test]
fn a_change_to_another_trace_attaches_its_program_and_a_change_of_its_queue_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, times) in [("one", "1\n2\n"), ("other", "1\n3\n"), ("copy", "1\n2\n")] {
        std::fs::write(folder.path().join(name), times).unwrap();
    }
    let with = |trace: &str, buffer: &str| {
        let text = format!("[forward]\ntrace = '{trace}'\nbuffer = '{buffer}'");
        let mut bottleneck = Bottleneck::from_toml(&text).unwrap();
        bottleneck.read_traces(folder.path()).unwrap();
        let router = planned("[forward]").unwrap().router;
        plan(&bottleneck, &router).unwrap()
    };
    let one = with("one", "20p");
    let steps = one.change_to(&with("other", "20p")).unwrap();
    let lines: Vec<String> = steps.iter().map(Step::line).collect();
    assert!(
        matches!(&lines[..], [line] if line.starts_with("trace_link replace r1 7b1: trace_")),
        "{lines:?}"
    );
    // Equal times are the same program, whatever the name of the file.
    assert_eq!(one.change_to(&with("copy", "20p")), Ok(Vec::new()));
    let fixed = ChangeError::Fixed("the trace forward".into());
    assert_eq!(one.change_to(&with("one", "21p")), Err(fixed));
    // What a router keeps of a plan suffices to plan its change.
    let text = serde_json::to_string(&one.bottleneck).unwrap();
    let kept = plan(&serde_json::from_str(&text).unwrap(), &one.router).unwrap();
    assert_eq!(kept.change_to(&one), Ok(Vec::new()));
    assert_eq!((kept.files.len(), one.files.len()), (0, 1));
}
