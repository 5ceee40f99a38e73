//! Packet sockets on real interfaces, in the test's own network namespace.

use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use railscope::ingest::af_packet::{AfPacket, AfPacketConfig, AfPacketError, WHOLE};
use railscope::ingest::live::{LiveEvent, LiveSource, Silence};
use railscope_core::model::direction::Direction;

use crate::support::clock::now;
use crate::support::require;

/// Runs `test` on a thread in its own network namespace.
fn in_namespace(name: &str, test: impl FnOnce() + Send + 'static) {
    if !require::root(name) || !require::has(name, "ip") {
        return;
    }
    let enter = move || {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        test();
    };
    std::thread::spawn(enter).join().unwrap();
}

fn ip(line: &str) {
    let status = Command::new("ip").args(line.split(' ')).status().unwrap();
    assert!(status.success(), "ip {line}");
}

fn config(interfaces: &[&str]) -> AfPacketConfig {
    AfPacketConfig {
        interfaces: interfaces.iter().map(|name| (*name).to_owned()).collect(),
        namespace: None,
        promiscuous: false,
        roce_bytes: 96,
        other_bytes: WHOLE,
        ring_mebibytes: 2,
    }
}

/// The events of a source during `time`, one line each.
fn events(source: &mut AfPacket, time: Duration) -> Vec<String> {
    let begun = now();
    let mut events = Vec::new();
    while begun.elapsed() < time {
        let patience = Duration::from_millis(50);
        source
            .poll(patience, &mut |event| {
                events.push(match event {
                    LiveEvent::Frame(frame) => format!(
                        "{} {:?} {} of {} {:02x?}",
                        frame.tap.0,
                        frame.direction,
                        frame.bytes.len(),
                        frame.wire_len,
                        frame.bytes
                    ),
                    other => format!("{other:?}"),
                });
            })
            .unwrap();
    }
    events
}

/// A veth pair with addresses; `a` has a static entry for its neighbour.
fn cable() {
    ip("link add name a address 02:00:00:00:00:0a type veth peer name b address 02:00:00:00:00:0b");
    ip("addr add 10.9.0.1/24 dev a");
    for end in ["a", "b"] {
        ip(&format!("link set dev {end} addrgenmode none up"));
    }
    ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:0b dev a");
}

fn send(port: u16, bytes: usize) {
    let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
    socket.send_to(&vec![7; bytes], ("10.9.0.2", port)).unwrap();
}

#[test]
fn both_ends_see_a_packet_once_and_only_roce_is_truncated() {
    in_namespace("both_ends_see_a_packet_once_and_only_roce_is_truncated", || {
        cable();
        let mut source = AfPacket::open(&config(&["a", "b"])).unwrap();
        send(4791, 500);
        send(4792, 500);
        let events = events(&mut source, Duration::from_millis(400));
        let heads: Vec<_> = events.iter().filter_map(|line| line.split_once(" [")).collect();
        let heads: Vec<&str> = heads.iter().map(|(head, _)| *head).collect();
        let (sent, received) = (Some(Direction::Sent), Some(Direction::Received));
        let expected = [(0, sent, 96), (1, received, 96), (0, sent, 542), (1, received, 542)];
        let expected: Vec<String> = expected
            .iter()
            .map(|(tap, way, kept)| format!("{tap} {way:?} {kept} of 542"))
            .collect();
        assert_eq!(heads, expected, "{events:#?}");
        assert!(events[0].starts_with("Tap(") && events[1].starts_with("Tap("), "{events:#?}");
    });
}

#[test]
fn a_vlan_tag_removed_by_the_kernel_is_restored() {
    let test = "a_vlan_tag_removed_by_the_kernel_is_restored";
    if !require::has(test, "python3") {
        return;
    }
    in_namespace(test, || {
        cable();
        let mut source = AfPacket::open(&config(&["b"])).unwrap();
        // The kernel removes the tag on arrival.
        let frame = format!(
            "0200000000bb0200000000aa81000005{}",
            "0800450000".to_owned() + &"00".repeat(123)
        );
        let send = "import socket, sys; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); \
                    s.bind(('a', 0)); s.send(bytes.fromhex(sys.argv[1]))";
        assert!(Command::new("python3").args(["-c", send, &frame]).status().unwrap().success());
        let events = events(&mut source, Duration::from_millis(400));
        // TPID, VLAN 5, IPv4.
        let tagged = |line: &&String| line.contains("81, 00, 00, 05, 08, 00, 45");
        let frame = events.iter().find(tagged).unwrap_or_else(|| panic!("{events:#?}"));
        assert!(frame.contains(" 144 of 144 "), "{frame}");
    });
}

#[test]
fn an_interface_that_disappears_is_reported_once() {
    in_namespace("an_interface_that_disappears_is_reported_once", || {
        cable();
        let mut source = AfPacket::open(&config(&["a"])).unwrap();
        ip("link set dev a down");
        let down = events(&mut source, Duration::from_millis(200));
        assert_eq!(down.iter().filter(|line| line.contains("Down")).count(), 1, "{down:?}");
        assert!(!source.is_over());
        ip("link set dev a up");
        ip("neigh replace 10.9.0.2 lladdr 02:00:00:00:00:0b dev a");
        send(4792, 10);
        let up = events(&mut source, Duration::from_millis(200));
        assert!(up.iter().any(|line| line.contains("Some(Sent)")), "{up:?}");
        ip("link del dev a");
        let gone = events(&mut source, Duration::from_millis(200));
        let removed = format!("{:?}", Silence::Removed);
        assert_eq!(gone.iter().filter(|line| line.contains(&removed)).count(), 1, "{gone:?}");
        assert!(source.is_over());
    });
}

/// Interfaces go with their namespace when a job ends; its last packets are still in the rings then.
#[test]
fn what_passed_before_an_interface_was_removed_is_delivered() {
    in_namespace("what_passed_before_an_interface_was_removed_is_delivered", || {
        for is_forgotten in [false, true] {
            cable();
            let mut source = AfPacket::open(&config(&["a", "b"])).unwrap();
            (0..20).for_each(|_| send(4792, 300));
            ip("link del dev a");
            if is_forgotten {
                // Both ends of a cable go together.
                ["a", "b"].iter().for_each(|name| source.forget(name));
                assert!(!source.is_over());
            }
            let events = events(&mut source, Duration::from_millis(400));
            let frames = events.iter().filter(|line| line.contains("342 of 342")).count();
            assert_eq!(frames, 40, "{events:#?}");
            assert!(source.is_over());
        }
    });
}

#[test]
fn frames_beyond_the_ring_are_counted() {
    in_namespace("frames_beyond_the_ring_are_counted", || {
        cable();
        let mut source = AfPacket::open(&config(&["a"])).unwrap();
        const SENT: u64 = 20_000;
        let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
        for _ in 0..SENT {
            socket.send_to(&[7; 1000], "10.9.0.2:4792").unwrap();
        }
        let (mut frames, mut lost) = (0, 0);
        for _ in 0..20 {
            source
                .poll(Duration::from_millis(20), &mut |event| match event {
                    LiveEvent::Frame(_) => frames += 1,
                    LiveEvent::Lost { frames, .. } => lost += frames,
                    _ => {}
                })
                .unwrap();
        }
        // A slow sender leaves blocks of the ring half full: the kernel hands them over by time, too.
        assert!(frames > 0 && lost > 1000, "{frames} {lost}");
        assert_eq!(frames + lost, SENT);
    });
}

/// A NIC keeps them from a host that does not ask for them.
#[test]
fn frames_to_other_hosts_are_asked_for_at_a_mirror_port() {
    in_namespace("frames_to_other_hosts_are_asked_for_at_a_mirror_port", || {
        cable();
        let askers = || {
            let output = Command::new("ip").args(["-d", "link", "show", "dev", "b"]).output();
            let text = String::from_utf8(output.unwrap().stdout).unwrap();
            let (_, after) = text.split_once("promiscuity ").unwrap();
            after.split_whitespace().next().unwrap().to_owned()
        };
        for promiscuous in [false, true] {
            let config = AfPacketConfig { promiscuous, ..config(&["b"]) };
            let source = AfPacket::open(&config).unwrap();
            assert_eq!(askers(), u8::from(promiscuous).to_string());
            drop(source);
            assert_eq!(askers(), "0");
        }
    });
}

#[test]
fn another_namespace_is_opened_by_its_file() {
    in_namespace("another_namespace_is_opened_by_its_file", || {
        cable();
        let own = std::fs::read_link("/proc/thread-self").unwrap();
        let path = std::path::Path::new("/proc").join(own).join("ns/net");
        let open = move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            let config = AfPacketConfig { namespace: Some(path), ..config(&["a"]) };
            let error = AfPacket::open(&AfPacketConfig { namespace: None, ..config.clone() });
            assert!(matches!(error, Err(AfPacketError::NoInterface { .. })));
            AfPacket::open(&config).unwrap()
        };
        let mut source = std::thread::spawn(open).join().unwrap();
        send(4792, 10);
        let events = events(&mut source, Duration::from_millis(200));
        assert!(events.iter().any(|line| line.contains("Some(Sent)")), "{events:?}");
    });
}
