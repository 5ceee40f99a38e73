//! Packets: what the two ways to see them need, and interfaces that match a pattern, or none.

use std::process::Command;

use railscope::ingest::capability::Capability;
use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;

use super::host::{needs_each_of, said};
use super::visible;
use crate::support::fabric;
use crate::support::railscope::PROGRAM;

const BY_BPF: &str = "packets via BPF (tc)";

/// Everything but packets is switched off.
const ONLY_PACKETS: [&str; 3] =
    ["sources.counters=false", "sources.calls=false", "sources.processes=false"];

#[test]
fn packets_need_bpf_or_sockets() {
    needs_each_of(BY_BPF, &[Capability::Bpf, Capability::NetAdmin, Capability::Perfmon]);
    needs_each_of("packets via packet sockets", &[Capability::NetRaw]);
    let old = said(BY_BPF, &[("6.8.0", "5.15.0")]);
    assert!(old.contains(": yes; before Linux 6.6 there is no TCX"), "{old}");
    let ancient = said(BY_BPF, &[("6.8.0", "4.18.0")]);
    assert!(ancient.ends_with(": no; Linux 5.8 or later is needed, for ring buffers"), "{ancient}");
    let userns = said(BY_BPF, &[("0          0 4294967295", "0       1000          1")]);
    assert!(userns.contains(": no; in a user namespace"), "{userns}");
}

#[test]
fn a_check_fails_where_no_interface_matches() {
    fabric::run("a_check_fails_where_no_interface_matches", 1, |_| {
        let check = |setting: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
            command.args(["agent", "--check", "--set", setting]);
            ONLY_PACKETS.iter().for_each(|setting| _ = command.args(["--set", setting]));
            let output = command.output().unwrap();
            (output.status.code(), String::from_utf8(output.stderr).unwrap())
        };
        assert_eq!(check("taps.interfaces=[\"port*\"]"), (Some(0), String::new()));
        let (code, said) = check("taps.interfaces=[\"port0\", \"rail*\"]");
        let expected =
            "error: taps.interfaces: no interface matches `rail*`; this host has bridge0, port0\n";
        assert_eq!((code, said.as_str()), (Some(1), expected));
        let (code, said) = check("taps.exclude=[\"*\"]");
        let expected =
            "error: taps.interfaces: every interface that `*` matches is in taps.exclude\n";
        assert_eq!((code, said.as_str()), (Some(1), expected));
    });
}

#[test]
fn interfaces_that_come_later_are_followed() {
    fabric::run("interfaces_that_come_later_are_followed", 1, |_| {
        let taps = "taps.interfaces=[\"late*\", \"nosuch0\"]";
        let settings = [&ONLY_PACKETS[..], &[taps, "otlp.interval=\"100ms\""]].concat();
        let agent = Agent::begin(PROGRAM, &settings);
        eventually("it is not ready, for a reason", || {
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
        let ways = ["ebpf", "af_packet", "packets"];
        let visible = |device: &str| ways.iter().find_map(|way| visible(&metrics, way, device));
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
