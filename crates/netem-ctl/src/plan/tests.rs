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
fn a_flow_with_less_delay_than_jitter_is_refused() {
    let text = "[forward]\ndelay = '20ms'\njitter = '2ms'\n\
                [[forward.flows]]\nsource_port = 80\ndelay = '1ms'";
    assert_eq!(
        planned(text).unwrap_err().to_string(),
        "forward.flows[0]: expected a delay of 0s, or of at least the path's jitter"
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
