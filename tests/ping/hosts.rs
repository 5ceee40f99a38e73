//! Hosts in network namespaces, or processes on this one, measure each other.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use railscope_testbed::fabric::Fabric;
use serde_json::Value;

use crate::support::railscope::PROGRAM;
use crate::support::{fabric, require};

/// What a host printed.
struct Printed {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn names(hosts: usize) -> Vec<String> {
    (0..hosts).map(|host| format!("gpu-node-{host}=10.0.0.{}", host + 1)).collect()
}

fn start(mut command: Command, hosts: &[String], options: &[&str]) -> Child {
    command.args(["doctor", "ping"]).args(hosts).args(options);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn printed(child: Child) -> Printed {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Printed { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs the ping on some hosts of a fabric.
fn ping(fabric: &Fabric, on: &[usize], options: &[&str]) -> Vec<Printed> {
    let hosts = names(fabric.hosts());
    let started: Vec<Child> =
        on.iter().map(|&host| start(fabric.on(host, PROGRAM), &hosts, options)).collect();
    started.into_iter().map(printed).collect()
}

fn run(line: &str) {
    let mut words = line.split_whitespace();
    let status = Command::new(words.next().unwrap()).args(words).status().unwrap();
    assert!(status.success(), "{line}");
}

/// Without line breaks.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Only the first host prints, and its first lines are the verdict.
fn verdict(printed: &[Printed]) -> String {
    for other in &printed[1..] {
        assert_eq!(other.stdout, "", "{}", other.stderr);
    }
    assert!(printed[0].stdout.starts_with('●'), "{}", printed[0].stderr);
    unwrapped(&printed[0].stdout)
}

/// Slow enough that a busy machine does not decide, where bandwidth is limited anyway.
const QUICK: [&str; 4] = ["--seconds", "0.5", "--wait", "20s"];

#[test]
fn four_healthy_hosts_reach_each_other() {
    if !require::has("four_healthy_hosts_reach_each_other", "tc") {
        return;
    }
    fabric::run("four_healthy_hosts_reach_each_other", 4, |fabric| {
        // Without a limit the machine's load decides which pair is fast.
        for host in 0..4 {
            limit(host, "20mbit");
        }
        let printed = ping(fabric, &[0, 1, 2, 3], &QUICK);
        assert!(
            verdict(&printed).starts_with("● 4 hosts reach each other"),
            "{}",
            printed[0].stdout
        );
        for one in &printed {
            assert_eq!(one.code, Some(0), "{}{}", one.stdout, one.stderr);
        }
        assert!(printed[0].stdout.contains("gpu-node-3"), "{}", printed[0].stdout);
    });
}

/// Limits what the bridge sends to a host.
fn limit(host: usize, rate: &str) {
    run(&format!("tc qdisc replace dev port{host} root tbf rate {rate} burst 64k latency 50ms"));
}

#[test]
fn a_dead_pair_is_named() {
    let needs = ["nft", "tc"];
    if !needs.iter().all(|program| require::has("a_dead_pair_is_named", program)) {
        return;
    }
    fabric::run("a_dead_pair_is_named", 4, |fabric| {
        let drops = "add table ip t; add chain ip t in { type filter hook input priority 0; }; \
             add rule ip t in ip saddr 10.0.0.2 drop";
        let status = fabric.on(3, "nft").arg(drops).status().unwrap();
        assert!(status.success());
        let printed = ping(fabric, &[0, 1, 2, 3], &["--no-bandwidth", "--wait", "20s"]);
        let said = verdict(&printed);
        assert!(
            said.starts_with("● gpu-node-1 and gpu-node-3 do not reach each other, TCP"),
            "{said}"
        );
        for one in &printed {
            assert_eq!(one.code, Some(1), "{}{}", one.stdout, one.stderr);
        }
    });
}

#[test]
fn a_slow_receiver_is_named() {
    if !require::has("a_slow_receiver_is_named", "tc") {
        return;
    }
    fabric::run("a_slow_receiver_is_named", 4, |fabric| {
        for host in 0..4 {
            limit(host, if host == 2 { "1mbit" } else { "20mbit" });
        }
        let printed = ping(fabric, &[0, 1, 2, 3], &QUICK);
        let said = verdict(&printed);
        assert!(
            said.starts_with("● host gpu-node-2 as receiver, TCP: 3 of 3 peers reach "),
            "{said}"
        );
        assert_eq!(printed[0].code, Some(1));
    });
}

#[test]
fn a_host_that_does_not_start_is_named() {
    fabric::run("a_host_that_does_not_start_is_named", 3, |fabric| {
        let printed = ping(fabric, &[0, 1], &["--no-bandwidth", "--wait", "2s"]);
        let said = verdict(&printed);
        assert!(
            said.starts_with("● host gpu-node-2 did not come within 2 s: 10.0.0.3:18516 refuses"),
            "{said}"
        );
        assert_eq!(printed[1].code, Some(1));
    });
}

#[test]
fn two_hosts_as_json() {
    fabric::run("two_hosts_as_json", 2, |fabric| {
        let printed = ping(fabric, &[0, 1], &["--no-bandwidth", "--wait", "20s", "--json"]);
        for (host, one) in printed.iter().enumerate() {
            assert_eq!(one.code, Some(0), "{}{}", one.stdout, one.stderr);
            let document: Value = serde_json::from_str(&one.stdout).unwrap();
            assert_eq!(document["schema"], "railscope.ping/1");
            assert_eq!(document["host"], format!("gpu-node-{host}"));
            assert_eq!(document["exit_code"], 0);
            for from in 0..2 {
                let cell = &document["rows"][from]["cells"][0];
                assert_eq!(cell["to"], 1 - from, "{document}");
                assert!(cell["tcp"]["rtt_us"].as_f64().unwrap() > 0.0, "{document}");
                assert_eq!(cell["tcp"]["gbps"], Value::Null);
            }
        }
    });
}

/// Processes on this host, which need neither root nor namespaces.
fn local(ports: &[u16]) -> Vec<String> {
    ports.iter().enumerate().map(|(host, port)| format!("h{host}=127.0.0.1:{port}")).collect()
}

/// A port that nothing listens on.
fn free_port() -> u16 {
    std::net::TcpListener::bind("0.0.0.0:0").unwrap().local_addr().unwrap().port()
}

fn start_local(hosts: &[String], name: &str, options: &[&str]) -> Child {
    let options = [&["--as", name, "--no-bandwidth"], options].concat();
    start(Command::new(PROGRAM), hosts, &options)
}

#[test]
fn names_without_an_address_are_said() {
    let port = free_port();
    let mut hosts = local(&[port, free_port()]);
    hosts.push("no-such-host.invalid".to_owned());
    let started: Vec<Child> =
        ["h0", "h1"].iter().map(|name| start_local(&hosts, name, &["--wait", "3s"])).collect();
    let printed: Vec<Printed> = started.into_iter().map(printed).collect();
    let said = unwrapped(&printed[0].stdout);
    assert!(said.contains("no-such-host.invalid does not resolve here"), "{said}");
    assert!(said.contains("add it to DNS or /etc/hosts, or give its address"), "{said}");
    assert_eq!(printed[0].code, Some(1));
}

#[test]
fn other_options_are_refused_by_name() {
    let hosts = local(&[free_port(), free_port()]);
    let first = start_local(&hosts, "h0", &["--wait", "8s"]);
    let second = start_local(&hosts, "h1", &["--wait", "8s", "--streams", "2"]);
    for one in [first, second].map(printed) {
        let said = unwrapped(&one.stdout);
        assert!(said.contains("was started with other options"), "{said}{}", one.stderr);
        assert_ne!(one.code, Some(0));
    }
}

/// Strangers, other versions and half greetings do not disturb.
#[test]
fn hostile_peers_are_refused() {
    let ports = [free_port(), free_port()];
    let hosts = local(&ports);
    let first = start_local(&hosts, "h0", &["--wait", "20s"]);
    let connect = || {
        for _ in 0..100 {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", ports[0])) {
                return stream;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("h0 does not listen")
    };
    let silent = connect();
    let mut web = connect();
    web.write_all(b"GET / HTTP/1.1\r\nHost: h0\r\n\r\n").unwrap();
    let mut newer = connect();
    newer.write_all(b"railscope-ping/2\n").unwrap();
    let mut long = connect();
    long.write_all(b"railscope-ping/1\n\xff\xff\xff\xff{").unwrap();
    let mut wrong = connect();
    wrong.write_all(b"railscope-ping/1\n\0\0\0\x02{}").unwrap();
    let member =
        br#"{"Member":{"host":99,"hosts":["h0","h1"],"options":"","devices":[],"rdma_note":null}}"#;
    let mut liar = connect();
    liar.write_all(b"railscope-ping/1\n\0\0\0").unwrap();
    liar.write_all(&[u8::try_from(member.len()).unwrap()]).unwrap();
    liar.write_all(member).unwrap();
    let mut answer = String::new();
    liar.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    _ = liar.read_to_string(&mut answer);
    assert!(answer.starts_with("railscope-ping/1\n") && answer.contains("Refused"), "{answer}");

    let second = start_local(&hosts, "h1", &["--wait", "20s"]);
    for one in [first, second].map(printed) {
        assert_eq!(one.code, Some(0), "{}{}", one.stdout, one.stderr);
    }
    drop(silent);
}

/// A peer that stops after the greeting ends no other measurement, and is named.
#[test]
fn another_version_is_named() {
    let ports = [free_port(), free_port()];
    let hosts = local(&ports);
    let listener = std::net::TcpListener::bind(("127.0.0.1", ports[1])).unwrap();
    let first = start_local(&hosts, "h0", &["--wait", "10s"]);
    let (mut stream, _) = listener.accept().unwrap();
    stream.write_all(b"railscope-ping/2\n").unwrap();
    let printed = printed(first);
    let said = unwrapped(&printed.stdout);
    assert!(said.contains("it speaks version 2 of the ping, this railscope version 1"), "{said}");
    assert_eq!(printed.code, Some(2));
}
