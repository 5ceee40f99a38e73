//! Settings that cannot be met: `--check` fails, a running agent keeps looking.

use std::process::{Command, Output};

use crate::support::agent::Agent;
use crate::support::clock::eventually;
use crate::support::fabric::Fabric;
use crate::support::require;
use crate::support::tree::Tree;

/// Switches everything off but packets.
const ONLY_PACKETS: [&str; 3] =
    ["sources.counters=false", "sources.calls=false", "sources.processes=false"];

/// Runs `agent --check` with these settings, without any capability.
fn check(test: &str, settings: &[&str]) -> Option<Output> {
    if !require::has(test, "setpriv") {
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_railscope")]);
    command.args(["agent", "--check"]);
    settings.iter().for_each(|setting| _ = command.args(["--set", setting]));
    Some(command.output().unwrap())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_check_fails_where_what_is_asked_for_cannot_work() {
    let test = "a_check_fails_where_what_is_asked_for_cannot_work";
    if !require::root(test) {
        return;
    }
    let Some(all) = check(test, &[]) else { return };
    let (said, complained) = (text(&all.stdout), text(&all.stderr));
    assert_eq!(all.status.code(), Some(1), "{said}{complained}");
    assert!(said.contains("packets by packet sockets: no; CAP_NET_RAW is missing"), "{said}");
    for key in ["sources.packets", "sources.calls", "sources.processes"] {
        assert!(complained.contains(&format!("error: {key}: ")), "{complained}");
    }
    // Reading counters needs no privilege, and nothing else is asked for.
    let counters = check(test, &ONLY_COUNTERS).unwrap();
    assert_eq!(counters.status.code(), Some(0), "{}", text(&counters.stderr));
    assert_eq!(text(&counters.stderr), "");
}

#[test]
fn a_check_fails_where_no_interface_matches() {
    Fabric::of("a_check_fails_where_no_interface_matches", 1, |_| {
        let check = |setting: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
            command.args(["agent", "--check", "--set", setting]);
            ONLY_PACKETS.iter().for_each(|setting| _ = command.args(["--set", setting]));
            let output = command.output().unwrap();
            (output.status.code(), text(&output.stderr))
        };
        assert_eq!(check("taps.interfaces=[\"port*\"]"), (Some(0), String::new()));
        let (code, said) = check("taps.interfaces=[\"port0\", \"rail*\"]");
        let expected =
            "error: taps.interfaces: no interface matches `rail*`; this host has bridge0, port0\n";
        assert_eq!((code, said.as_str()), (Some(1), expected));
        let (code, said) = check("taps.exclude=[\"*\"]");
        let expected = "error: taps.interfaces: all that `*` matches is in taps.exclude\n";
        assert_eq!((code, said.as_str()), (Some(1), expected));
    });
}

#[test]
fn interfaces_that_come_later_are_followed() {
    Fabric::of("interfaces_that_come_later_are_followed", 1, |_| {
        let taps = "taps.interfaces=[\"late*\", \"nosuch0\"]";
        let settings = [&ONLY_PACKETS[..], &[taps, "otlp.interval=\"100ms\""]].concat();
        let agent = Agent::begin(&settings);
        eventually("it is not ready and gives a reason", || {
            agent.answer("/readyz").is_some_and(|(status, why)| {
                status == "503" && why.contains("packets (late*): no interface matches")
            })
        });
        for line in [
            "link add name late0 type veth peer name other0",
            "link set dev late0 up",
            "link set dev other0 up",
        ] {
            assert!(Command::new("ip").args(line.split(' ')).status().unwrap().success(), "{line}");
        }
        eventually("it is ready", || agent.get("/readyz").is_some());
        eventually("the interface is a tap", || {
            agent.report()["taps"].as_array().unwrap().iter().any(|tap| tap["interface"] == "late0")
        });
        let metrics = agent.get("/metrics").unwrap();
        let visible = |device: &str| {
            let device = format!("railscope_device=\"{device}\"");
            let is_of = |line: &&str| {
                line.starts_with("railscope_source_visible{") && line.contains(&device)
            };
            metrics
                .lines()
                .find(is_of)
                .and_then(|line| line.split(' ').next_back().map(str::to_owned))
        };
        assert_eq!(visible("late0").as_deref(), Some("1"), "{metrics}");
        assert_eq!(visible("nosuch0").as_deref(), Some("0"), "{metrics}");
        assert_eq!(visible("late*"), None, "{metrics}");
        let said = agent.stop();
        for pattern in ["late*", "nosuch0"] {
            let line = format!("no interface matches `{pattern}`");
            assert_eq!(said.matches(&line).count(), 1, "{said}");
        }
    });
}

/// Switches everything off but counters.
const ONLY_COUNTERS: [&str; 3] =
    ["sources.packets=false", "sources.calls=false", "sources.processes=false"];

#[test]
fn counters_alone_are_enough_to_be_ready() {
    let tree = Tree::new(["class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence = 3"]);
    let sysfs = format!("host.sysfs={:?}", tree.root());
    let agent = Agent::start(&[&ONLY_COUNTERS[..], &[sysfs.as_str()]].concat());
    assert_eq!(agent.answer("/readyz"), Some(("200".to_owned(), "ok\n".to_owned())));
}

#[test]
fn without_a_source_that_sees_anything_it_is_never_ready() {
    let tree = Tree::new(["class/net/eth0/ifindex = 1"]);
    let sysfs = format!("host.sysfs={:?}", tree.root());
    let off = "sources.counters=false";
    for (setting, why) in [
        (sysfs.as_str(), "no source sees anything: counters (all): no RDMA device\n"),
        (off, "all sources are switched off\n"),
    ] {
        let agent = Agent::begin(&[&ONLY_COUNTERS[..], &[setting]].concat());
        let expected = Some(("503".to_owned(), why.to_owned()));
        eventually("it says why", || agent.answer("/readyz") == expected);
    }
}
