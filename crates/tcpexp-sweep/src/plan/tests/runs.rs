//! The runs of a plan and their traffic.

use insta::assert_snapshot;

use super::*;

#[test]
fn order_depends_only_on_the_seed() {
    let order = |seed: u64| {
        let plan = plan(&format!("{PLAN}[run]\nseed = {seed}\nrepetitions = 2"));
        let runs = schedule::runs(&plan);
        runs.iter().map(schedule::Planned::name).collect::<Vec<_>>()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    let repetitions: Vec<_> = order(1).iter().map(|name| name[14..].to_owned()).collect();
    assert_eq!(
        repetitions,
        ["r01", "r01", "r01", "r01", "r02", "r02", "r02", "r02"]
    );
}

#[test]
fn runs_are_selected_by_name_or_by_the_parameters_of_their_cells() {
    let plan = plan(PLAN);
    let all: Vec<String> = schedule::runs(&plan)
        .iter()
        .map(schedule::Planned::name)
        .collect();
    let selected = |only: &str| schedule::selected(&plan, only).map_err(|error| error.to_string());
    assert_eq!(selected(&all[1]), Ok(vec![all[1].clone()]));
    assert_eq!(selected(&all.join(",")), Ok(all.clone()));
    assert_eq!(selected("cc=reno").map(|names| names.len()), Ok(2));
    assert_eq!(
        selected("cc=reno,cubic,rate_mbps=2").map(|names| names.len()),
        Ok(2)
    );
    assert!(selected("0001").is_err_and(|why| why.contains("no run 0001")));
    assert!(selected("cc=bbr").is_err_and(|why| why.contains("cc=bbr")));
    assert!(selected("rate=2").is_err_and(|why| why.contains("rate_mbps")));
}

#[test]
fn an_entry_for_all_sources_is_repeated_for_each() {
    let hosts = "kind = \"lab\"\nlab.sources = 3\nlab.sinks = 2\n";
    let text = PLAN.replace("kind = \"lab\"\n", hosts);
    let all = |ends: &str| {
        let plan = plan(&text.replace("tool = ", &format!("{ends}\ncount = 2\ntool = ")));
        let runs = schedule::runs(&plan);
        let generators = site::generators(&runs[0]);
        let ends = generators.iter().map(|generator| {
            let record = &generator.record;
            let [from, to] = [&record.from, &record.to].map(|ip| ip.replace("172.16.", ""));
            format!("{} {from} {to} {}", record.name, record.port.unwrap())
        });
        let classes = generators
            .iter()
            .all(|generator| generator.record.class == "bulk");
        assert!(classes);
        assert_eq!(plan.varied, ["cc", "rate_mbps"]);
        ends.collect::<Vec<_>>().join(", ")
    };
    assert_snapshot!(all("from = \"all\""), @"bulk-1 10.3 11.2 5201, bulk-2 10.3 11.2 5202, bulk-3 10.4 11.2 5203, bulk-4 10.4 11.2 5204, bulk-5 10.5 11.2 5205, bulk-6 10.5 11.2 5206");
    assert_snapshot!(all("from = \"all\"\nto = \"all\""), @"bulk-1 10.3 11.2 5201, bulk-2 10.3 11.2 5202, bulk-3 10.4 11.3 5203, bulk-4 10.4 11.3 5204, bulk-5 10.5 11.2 5205, bulk-6 10.5 11.2 5206");
    assert_snapshot!(all("to = \"all\""), @"bulk-1 10.3 11.2 5201, bulk-2 10.3 11.2 5202, bulk-3 10.3 11.3 5203, bulk-4 10.3 11.3 5204");
}
