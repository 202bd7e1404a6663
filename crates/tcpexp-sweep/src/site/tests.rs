//! The shell functions of a run, on this machine.

use std::path::Path;
use std::process::Command;

use super::preflight::PREFLIGHT_SH;
use super::{COMMANDS_SH, RUN_SH, SETTINGS_SH};

/// Runs commands in a run's directory, and returns their output.
fn run_in(dir: &Path, commands: &str) -> String {
    let at = format!("dir={0} lease={0}\n", dir.display());
    let library = format!("{at}{}{RUN_SH}", netem_ctl::HOST_SH);
    for folder in ["pids", "out/status", "out/logs"] {
        std::fs::create_dir_all(dir.join(folder)).unwrap();
    }
    let process = format!("{library}process_body \"$@\"\n");
    std::fs::write(dir.join("process.sh"), process).unwrap();
    std::fs::write(dir.join("commands.sh"), COMMANDS_SH).unwrap();
    let (is_success, text) = shell(&["-euc", &format!("{library}{commands}")]);
    assert!(is_success, "{text}");
    text
}

/// Runs a shell; returns whether it succeeded, and its output, with its errors at the end.
fn shell(arguments: &[&str]) -> (bool, String) {
    let output = Command::new("sh").args(arguments).output().unwrap();
    let [text, errors] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.success(), text + &errors)
}

#[test]
fn a_forgotten_process_that_must_be_killed_is_not_reported() {
    let dir = tempfile::tempdir().unwrap();
    let commands = r#"
        spawn stubborn stubborn.txt 0 sh -c "trap '' TERM; : >$dir/ready; sleep 60"
        until [ -e "$dir/ready" ]; do sleep 0.01; done
        ended
        forget stubborn
        ended
        ls "$dir/pids" "$dir/out/status" "$dir/out/logs" | grep stubborn || :
    "#;
    assert_eq!(run_in(dir.path(), commands), "");
}

#[test]
fn process_that_has_the_number_of_an_earlier_one_is_not_signalled() {
    let dir = tempfile::tempdir().unwrap();
    let commands = r#"
        in_own_session sh -c 'echo $$ >"$1"; exec sleep 60' sh "$dir/other"
        until [ -s "$dir/other" ]; do sleep 0.01; done
        read -r other <"$dir/other"
        birth=$(birth "$other")
        # Its number is that of a process of a run before the host was restarted.
        echo "$other before $birth" >"$dir/pids/earlier"
        any_runs earlier && echo runs
        stop earlier
        ended
        kill -0 "$other" && echo lives
        echo "$other $birth" >"$dir/pids/same"
        any_runs same && echo runs
        stop same
    "#;
    let expected = "ended earlier 0 0 137 it was killed\nlives\nruns\n";
    assert_eq!(run_in(dir.path(), commands), expected);
}

#[test]
fn each_command_that_is_a_function_has_an_underscore_in_its_name() {
    let names: Vec<&str> = COMMANDS_SH
        .lines()
        .filter_map(|line| line.strip_suffix("() {"))
        .collect();
    assert!(names.len() > 5, "{names:?}");
    assert!(names.iter().all(|name| name.contains('_')), "{names:?}");
}

#[test]
fn a_process_may_be_a_function() {
    let dir = tempfile::tempdir().unwrap();
    let commands = r#"
        spawn told told.txt 0 log_command 'a header' 0 echo 'a line'
        await_status told
        sed 's/^[0-9]* /TIME /' "$dir/out/logs/told.txt"
    "#;
    assert_eq!(run_in(dir.path(), commands), "a header\nTIME a line\n");
}

#[test]
fn a_process_that_is_stopped_before_its_start_ends_at_once_and_leaves_its_status() {
    let dir = tempfile::tempdir().unwrap();
    let commands = r#"
        spawn late late.txt $(($(now_ns) + 60000000000)) sh -c ': >"$dir/ran"'
        any_runs late
        signal TERM late
        tries=0
        while any_runs late && [ $tries -lt 500 ]; do tries=$((tries + 1)); sleep 0.02; done
        ls "$dir/out/status" "$dir" | grep -E '^(late|ran)$' || :
    "#;
    assert_eq!(run_in(dir.path(), commands), "late\n");
}

/// Takes and releases a lease; returns whether both succeeded, and the errors.
fn take_and_release(lease: &Path) -> (bool, String) {
    let script = format!(
        "lease={}\n{}lease_take me ''\nlease_release me\n",
        lease.display(),
        netem_ctl::HOST_SH
    );
    shell(&["-euc", &script])
}

#[test]
fn a_lease_that_is_a_link_is_refused_and_nothing_in_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let (theirs, lease) = (dir.path().join("theirs"), dir.path().join("lease"));
    std::fs::create_dir(&theirs).unwrap();
    let ran = dir.path().join("ran");
    std::fs::write(theirs.join("clear.sh"), format!(": >{}", ran.display())).unwrap();
    std::os::unix::fs::symlink(&theirs, &lease).unwrap();
    let (is_taken, errors) = take_and_release(&lease);
    assert!(
        !is_taken && errors.contains("is not a directory of this user"),
        "{errors}"
    );
    assert!(!ran.exists());
    std::fs::remove_file(&lease).unwrap();
    assert_eq!(take_and_release(&lease), (true, String::new()));
}

#[test]
fn a_lease_of_another_user_is_refused_and_nothing_in_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let lease = dir.path().join("lease");
    std::fs::create_dir(&lease).unwrap();
    let ran = dir.path().join("ran");
    std::fs::write(lease.join("clear.sh"), format!(": >{}", ran.display())).unwrap();
    // Only root gives a directory away.
    if std::os::unix::fs::chown(&lease, Some(65_534), None).is_err() {
        return;
    }
    let (is_taken, errors) = take_and_release(&lease);
    assert!(
        !is_taken && errors.contains("is not a directory of this user"),
        "{errors}"
    );
    assert!(!ran.exists());
}

#[test]
fn a_lease_ends_at_its_deadline_unless_it_is_extended() {
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        r#"{}
        for lease in "$1/short" "$1/long"; do
            mkdir "$lease"
            echo "rm -r '$lease'" >"$lease/clear.sh"
            lease_arm 1
        done
        lease_extend 600
        # A lease without a watchdog has no end.
        lease=$1/none lease_extend 600
        tries=0
        while [ -e "$1/short" ] && [ $tries -lt 500 ]; do tries=$((tries + 1)); sleep 0.02; done
        # Both watchdogs began to wait at the same time.
        sleep 1
        ls "$1"
        lease=$1/long lease_disarm
        "#,
        netem_ctl::HOST_SH
    );
    let (_, text) = shell(&[
        "-euc",
        &format!("lease=unset\n{script}"),
        "sh",
        &dir.path().display().to_string(),
    ]);
    assert_eq!(text, "long\n");
}

/// Turns offloads off with an `ethtool` that knows these features, and refuses to turn one off. Returns
/// whether that succeeded, and what was printed, then what the run undoes.
fn offloads_off(features: &str, refused: &str) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let features = features.replace("; ", "\n");
    std::fs::write(dir.path().join("features"), features + "\n").unwrap();
    std::fs::create_dir(dir.path().join("undo.d")).unwrap();
    let script = format!(
        r#"dir={0} lease={0} system=Linux
        {host}{RUN_SH}{SETTINGS_SH}
        ethtool() {{
            [ "$1" = -K ] || {{ cat "$dir/features"; return; }}
            shift 2
            while [ $# -gt 0 ]; do
                [ "$1" != "$refused" ] || return 95
                case $1 in tso) name=tcp-segmentation ;; gro) name=generic-receive ;; lro) name=large-receive ;; esac
                sed "s/^$name-offload: .*/$name-offload: $2/" "$dir/features" >"$dir/new"
                mv "$dir/new" "$dir/features"
                shift 2
            done
        }}
        refused='{refused}'
        offloads_off eth1 || code=$?
        cat "$dir"/undo.d/* 2>/dev/null || :
        exit "${{code:-0}}"
        "#,
        dir.path().display(),
        host = netem_ctl::HOST_SH,
    );
    shell(&["-euc", &script])
}

#[test]
fn offload_that_stays_on_fails_the_preparation() {
    let on = "tcp-segmentation-offload: on; generic-receive-offload: on; large-receive-offload: off [fixed]";
    let undo = "ethtool -K eth1 tso on gro on\n";
    assert_eq!(offloads_off(on, ""), (true, undo.to_owned()));
    let refused = |names: &str| {
        format!(
            "the offloads {names} of eth1 cannot be turned off: prepare.keep_offloads = true keeps all offloads\n"
        )
    };
    assert_eq!(
        offloads_off(on, "tso"),
        (false, undo.to_owned() + &refused("tso"))
    );
    let fixed = on.replace("off [fixed]", "on [fixed]");
    assert_eq!(
        offloads_off(&fixed, "gro"),
        (false, undo.to_owned() + &refused("gro lro"))
    );
    let requested = "tcp-segmentation-offload: on [requested off]";
    let undo = "ethtool -K eth1 tso on\n".to_owned();
    assert_eq!(
        offloads_off(requested, "tso"),
        (false, undo + &refused("tso"))
    );
    assert_eq!(
        offloads_off("tcp-segmentation-offload: off", ""),
        (true, String::new())
    );
}

#[test]
fn address_of_an_interface_is_compared_as_a_whole() {
    let script = format!(
        r#"{PREFLIGHT_SH}
        for system in Linux FreeBSD; do
            for address in 10.0.0.10 10.0.0.1 10.0.0.255 10.0.0.0 fd00::10 fd00::1 10x0.0.10; do
                has_address eth1 "$address"
            done
        done
        "#
    );
    // The functions replace the programs.
    let programs = r"
        ip() {
            printf '%s\n' '2: eth1    inet 10.0.0.10/24 brd 10.0.0.255 scope global eth1' \
                '2: eth1    inet6 fd00::10/64 scope global nodad'
        }
        ifconfig() {
            printf '\t%s\n' 'inet 10.0.0.10 netmask 0xffffff00 broadcast 10.0.0.255' \
                'inet6 fd00::10%em1 prefixlen 64 scopeid 0x1'
        }
        ";
    let (_, text) = shell(&["-euc", &format!("{programs}{script}")]);
    let problems = text
        .lines()
        .filter_map(|line| line.strip_prefix("problem="));
    let refused = ["10.0.0.1", "10.0.0.255", "10.0.0.0", "fd00::1", "10x0.0.10"];
    let expected = refused.repeat(2).into_iter();
    let expected =
        expected.map(|address| format!("interface eth1 does not have the address {address}"));
    assert_eq!(problems.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn counters_of_each_interface_and_delay_stage_are_printed_on_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let commands = r#"
        ip() { printf '%s\n' '1: lo: <UP>' '7: tcxd-l@NONE: <UP>' '8: tcxd-r: <UP>' '9: far@if3: <UP>'; }
        tc() { [ "$6" != left ] && echo "[$*]"; }
        print_counters tcxd- right left | sed 's/^counters_at [0-9]*$/counters_at TIME/'
    "#;
    let expected = "counters_at TIME\nqueues right [-s -j qdisc show dev right]\nqueues left \n\
                    queues tcxd-l [-s -j qdisc show dev tcxd-l]\nqueues tcxd-r [-s -j qdisc show dev tcxd-r]\n";
    assert_eq!(run_in(dir.path(), commands), expected);
}
