//! The paths between hosts, and their changes during a run.

use insta::assert_snapshot;

use super::*;

#[test]
fn changes_add_up() {
    let plan = plan(&format!(
        "{PLAN}[[change]]\nat = \"3s\"\nrate = \"5mbit\"\n[[change]]\nat = \"6s\"\ndelay = \"40ms\"\n"
    ));
    let last = plan.cells[0].changes.last().unwrap();
    assert_eq!(last.what, "delay 40ms");
    assert_eq!(last.path.forward.rate.unwrap().to_string(), "5mbit");
    assert_eq!(last.path.forward.delay.unwrap().to_exact_text(), "40ms");
}

#[test]
fn a_change_keeps_the_keys_that_it_does_not_name() {
    for key in [
        "path.forward.rate",
        "\"path.forward.rate\"",
        "forward.rate",
        "rate",
    ] {
        let plan = plan(&format!(
            "{PLAN}[[change]]\nat = \"3s\"\n{key} = \"5mbit\"\n"
        ));
        let path = &plan.cells[0].changes[0].path.forward;
        assert_eq!(path.rate.unwrap().to_string(), "5mbit", "{key}");
        assert_eq!(path.delay.unwrap().to_exact_text(), "10ms", "{key}");
    }
}

#[test]
fn base_rtt_of_the_first_source_has_the_delay_of_its_flow() {
    let with = |flow: &str| {
        let text = PLAN.replace("kind = \"lab\"\n", "kind = \"lab\"\nlab.sources = 2\n");
        let text = text.replace("[[traffic]]", &format!("{flow}[[traffic]]"));
        plan(&text).cells[0].setup.clone()
    };
    let sources: Vec<String> = with("")
        .of_role(Role::Source)
        .map(|(_, host)| host.address.unwrap().to_string())
        .collect();
    let rtts = |source: &str| {
        let setup = with(&format!(
            "[[path.forward.flows]]\nsource = \"{source}\"\ndelay = \"80ms\"\n"
        ));
        [setup.base_rtt(), setup.longest_rtt()].map(|rtt| rtt.to_string())
    };
    assert_eq!(rtts(&sources[0]), ["160.000 ms", "160.000 ms"]);
    assert_eq!(rtts(&sources[1]), ["20.000 ms", "160.000 ms"]);
}

#[test]
fn routers_in_a_row_have_paths_of_their_own() {
    let text = PLAN.replace("kind = \"lab\"\n", "kind = \"lab\"\nlab.routers = 3\n");
    let hop = "[hops.rtr2.forward]\nrate = \"5mbit\"\ndelay = \"5ms\"\nbuffer = \"9p\"\n";
    let plan = plan(&format!("{text}{hop}"));
    let setup = &plan.cells[0].setup;
    let paths: Vec<_> = setup
        .paths()
        .map(|(name, _, path)| format!("{name} {}", path.base_rtt()))
        .collect();
    assert_eq!(paths, ["rtr1 20.000 ms", "rtr2 10.000 ms", "rtr3 0 ns"]);
    assert_eq!(setup.base_rtt().to_string(), "30.000 ms");
    let rate = plan.cells[0].parameters.get("rtr2_rate_mbps");
    assert_eq!(rate, Some(&Some(Parameter::Number(5.0))));
    let address = |name: &str| setup.hosts[name].address.unwrap().to_string();
    assert_eq!(
        ["src1", "xsrc1", "xdst1", "xsrc3", "xdst3", "dst1"].map(address),
        [
            "172.16.10.3",
            "172.16.10.200",
            "172.16.11.201",
            "172.16.12.200",
            "172.16.13.201",
            "172.16.13.2"
        ]
    );
    let wrong = refusal(&format!("{text}{}", hop.replace("rtr2", "rtr1")));
    assert_snapshot!(wrong, @"plan.toml:16: hops.rtr1: expected the name of a router after the first, such as rtr2");
    let wrong = refusal(&format!(
        "{text}{}",
        hop.replace("buffer = \"9p\"", "queue = \"pie\"\nred_min = \"3kB\"")
    ));
    assert_snapshot!(wrong, @"plan.toml:20: hops.rtr2.forward.red_min: forward.red_min does not apply to pie: expected red");
    assert_snapshot!(refusal(&format!("{PLAN}{hop}")), @"plan.toml:15: hops.rtr2: expected no hops: there is one router, whose path is path");
}

#[test]
fn a_loss_that_begins_with_a_change_is_emulated() {
    let hop = "[hops.rtr2.forward]\ndelay = \"5ms\"\n";
    let routers = PLAN.replace("kind = \"lab\"\n", "kind = \"lab\"\nlab.routers = 2\n");
    let lossy = |more: &str| {
        let plan = plan(&format!("{routers}{more}"));
        [0, 1].map(|router| plan.cells[0].emulates_loss(router))
    };
    let change = |key: &str| format!("[[change]]\nat = \"2s\"\n{key}\n");
    assert_eq!(lossy(hop), [false, false]);
    assert_eq!(lossy(&(hop.to_owned() + "loss = \"1%\"\n")), [false, true]);
    assert_eq!(lossy(&change("rate = \"5mbit\"")), [false, false]);
    assert_eq!(lossy(&change("loss = \"3%\"")), [true, false]);
    assert_eq!(lossy(&change("reverse.loss = \"3%\"")), [true, false]);
}

/// Two routers: the first with a queue of one BDP and a delay, the second with the same queue and 40 ms.
fn two_queues_in_bdp(delay: &str, more: &str) -> String {
    let queue = "rate = \"10mbit\"\nbuffer = \"1bdp\"\n";
    let traffic = "[[traffic]]\nname = \"bulk\"\ntool = \"iperf3\"\nduration = \"9s\"\n";
    format!(
        "kind = \"lab\"\nlab.routers = 2\n[path.forward]\n{queue}{delay}\n[hops.rtr2.forward]\n{queue}delay = \
         \"40ms\"\n{traffic}{more}"
    )
}

fn queue_bytes(plan: &Result<netem_ctl::Plan, path::PathError>) -> u64 {
    plan.as_ref().unwrap().queues[0].unwrap().bytes
}

#[test]
fn buffer_in_bdp_is_of_the_base_rtt_over_all_routers() {
    let bytes = |delay: &str| -> Vec<u64> {
        let plan = plan(&two_queues_in_bdp(delay, ""));
        let setup = &plan.cells[0].setup;
        let paths = setup.paths();
        let plans = paths.map(|(_, host, path)| path_plan(setup, path, host));
        plans.map(|plan| queue_bytes(&plan)).collect()
    };
    // 10 Mbit/s · 100 ms, and 80 ms if only the second router delays.
    assert_eq!(bytes("delay = \"10ms\""), [125_000, 125_000]);
    assert_eq!(bytes(""), [100_000, 100_000]);
}

#[test]
fn buffer_in_bdp_changes_with_the_delay_of_its_router() {
    let change = "[[change]]\nat = \"3s\"\ndelay = \"20ms\"\n";
    let plan = plan(&two_queues_in_bdp("delay = \"10ms\"", change));
    let Cell { setup, changes, .. } = &plan.cells[0];
    let (_, router) = setup.first(Role::Router).unwrap();
    let changed = changed_plan(setup, &changes[0].path, router);
    assert_eq!(queue_bytes(&changed), 150_000);
}

#[test]
fn queue_of_a_cell_has_full_packets_of_its_mtu() {
    let path = "rate = \"2mbit\"\nbuffer = \"200ms\"\n";
    let traffic = "[[traffic]]\nname = \"bulk\"\ntool = \"iperf3\"\nduration = \"5s\"\n";
    let text =
        format!("kind = \"netns\"\nmatrix.mtu = [1500, 576]\n[path.forward]\n{path}{traffic}");
    let plan = plan(&text);
    let packets = |cell: &Cell| {
        let setup = &cell.setup;
        let (_, router) = setup.first(Role::Router).unwrap();
        let path = path_plan(setup, &setup.path, router).unwrap();
        path.queues[0].unwrap().packets
    };
    // 50000 bytes in frames of 1514 and of 590 bytes.
    let sizes: Vec<u64> = plan.cells.iter().map(packets).collect();
    assert_eq!(sizes, [34, 85]);
}
