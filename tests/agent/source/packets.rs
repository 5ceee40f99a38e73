//! Packets: what the two ways to see them need, and interfaces that match a pattern, or none.

use std::process::Command;
use std::time::Duration;

use railscope::ingest::af_packet::{AfPacket, AfPacketConfig, WHOLE};
use railscope::ingest::capability::Capability;
use railscope::ingest::live::{LiveEvent, LiveSource};
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
        let (code, said) = check("taps.mirrors=[\"mirror*\"]");
        let expected = "error: taps.mirrors: `mirror*` matches none of the interfaces that taps.interfaces \
                        matches\n";
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

fn ip(line: &str) {
    assert!(Command::new("ip").args(line.split(' ')).status().unwrap().success(), "{line}");
}

fn add_link() {
    ip("link add name churn0 type veth peer name other0");
    ip("link set dev churn0 up");
    ip("link set dev other0 up");
}

/// Interfaces are removed and made again with containers and drivers, under the same names.
#[test]
fn an_interface_that_is_made_again_is_followed_again() {
    fabric::run("an_interface_that_is_made_again_is_followed_again", 1, |_| {
        add_link();
        let taps = "taps.interfaces=[\"churn*\", \"port0\"]";
        let settings = [&ONLY_PACKETS[..], &[taps, "otlp.interval=\"100ms\""]].concat();
        let agent = Agent::start(PROGRAM, &settings);
        let is_visible = |device: &str| {
            let metrics = agent.get("/metrics").unwrap_or_default();
            ["ebpf", "af_packet", "packets"].iter().find_map(|way| visible(&metrics, way, device))
        };
        let frames = || {
            let taps = agent.report()["taps"].clone();
            let taps = taps.as_array().unwrap().iter();
            let own: Vec<u64> = taps
                .filter(|tap| tap["interface"] == "churn0")
                .map(|tap| tap["frames"].as_u64().unwrap())
                .collect();
            assert!(own.len() <= 1, "one tap for all that had the name: {own:?}");
            own.first().copied().unwrap_or(0)
        };
        let send = || {
            // A SYN, which kernel programs pass on; the neighbour need not answer.
            ip("addr replace 10.77.0.1/24 dev other0");
            ip("neigh replace 10.77.0.9 lladdr 02:00:00:00:00:09 dev other0");
            let mut ping = Command::new("timeout");
            ping.args(["0.1", "bash", "-c", "echo x > /dev/tcp/10.77.0.9/29500"]);
            ping.stderr(std::process::Stdio::null()).status().unwrap();
        };
        for turn in 1..=4 {
            eventually("it is visible", || is_visible("churn0").as_deref() == Some("1"));
            assert_eq!(is_visible("churn*"), None);
            let before = frames();
            eventually("its frames are counted", || {
                send();
                frames() > before
            });
            ip("link del dev churn0");
            eventually("it is known to be gone", || {
                is_visible("churn0").is_none() && is_visible("churn*").as_deref() == Some("0")
            });
            assert_eq!(is_visible("port0").as_deref(), Some("1"), "turn {turn}");
            add_link();
        }
        eventually("it is visible at last", || is_visible("churn0").as_deref() == Some("1"));
        eventually("all four are counted", || {
            agent.report()["health"]["source.devices_removed"] == 4
        });
        let said = agent.stop();
        assert_eq!(said.matches("the interface churn0 was removed").count(), 4, "{said}");
        assert_eq!(said.matches("the interface churn0 is followed again").count(), 4, "{said}");
    });
}

/// At a mirror port, frames are read in the driver, and copies end there. When the port gets another Ethernet
/// address, what is sent to that one is no copy.
#[test]
fn a_mirror_port_is_read_in_its_driver() {
    fabric::run("a_mirror_port_is_read_in_its_driver", 1, |_| {
        const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 9];
        add_link();
        ip("addr replace 10.77.0.1/24 dev other0");
        ip("neigh replace 10.77.0.9 lladdr 02:00:00:00:00:09 dev other0");
        let mut behind = AfPacket::open(&AfPacketConfig {
            interfaces: vec!["churn0".to_owned()],
            namespace: None,
            promiscuous: false,
            roce_bytes: 128,
            other_bytes: WHOLE,
            ring_mebibytes: 1,
        })
        .unwrap();
        // A SYN; whether it is seen behind the driver.
        let mut passes = || {
            let mut connect = Command::new("timeout");
            connect.args(["0.1", "bash", "-c", "echo x > /dev/tcp/10.77.0.9/29500"]);
            connect.stderr(std::process::Stdio::null()).status().unwrap();
            let mut is_seen = false;
            let mut take = |event: LiveEvent<'_>| {
                is_seen |=
                    matches!(event, LiveEvent::Frame(frame) if frame.bytes.starts_with(&OTHER));
            };
            behind.poll(Duration::from_millis(50), &mut take).unwrap();
            is_seen
        };
        assert!(passes());
        let taps =
            ["taps.interfaces=[\"churn0\", \"port0\"]", "taps.mirrors=[\"churn*\", \"port0\"]"];
        let settings = [&ONLY_PACKETS[..], &taps, &["otlp.interval=\"100ms\""]].concat();
        let agent = Agent::start(PROGRAM, &settings);
        let frames = || {
            let taps = agent.report()["taps"].clone();
            let one = taps.as_array().unwrap().iter().find(|tap| tap["interface"] == "churn0");
            one.map_or(0, |tap| tap["frames"].as_u64().unwrap())
        };
        eventually("a copy is seen", || {
            assert!(!passes(), "a copy went on");
            frames() > 0
        });
        ip("link set dev churn0 address 02:00:00:00:00:09");
        eventually("what is sent to the host goes on", &mut passes);
        let said = agent.stop();
        assert!(said.contains("churn0 is read in its driver, as a mirror port"), "{said}");
        let bridge = "at traffic control: it is a port of the bridge bridge0";
        assert!(said.contains(bridge), "{said}");
        ip("link set dev churn0 address 02:00:00:00:00:0a");
        assert!(passes(), "the program stays behind");
    });
}

/// Loopback has no Ethernet: the check says so.
#[test]
fn a_check_says_that_loopback_is_not_taken() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
    command.args(["agent", "--check", "--set", "taps.interfaces=[\"lo\"]"]);
    let output = command.args(["--set", "taps.exclude=[]"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("`lo` matches only `lo`, which has no Ethernet frames"), "{said}");
}
