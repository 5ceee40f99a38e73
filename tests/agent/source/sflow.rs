//! Samples that switches send to the agent.

use std::net::UdpSocket;

use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;
use serde_json::Value;

use crate::sflow::live::{free_port, samples};
use crate::support::railscope::PROGRAM;
use crate::support::sflow::datagram;

#[test]
fn the_agent_listens_and_reports() {
    let address = format!("127.0.0.1:{}", free_port());
    let agent = Agent::begin(
        PROGRAM,
        &[
            "sources.packets=false",
            "sources.calls=false",
            "sources.processes=false",
            "sources.counters=false",
            "sources.sflow=true",
            &format!("sflow.listen=\"{address}\""),
            "otlp.interval=\"200ms\"",
        ],
    );
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    for number in 0..100 {
        sender.send_to(&datagram(number, 10 * number, &samples(number)), &address).unwrap();
    }
    sender.send_to(b"not sFlow", &address).unwrap();
    let cut = &datagram(100, 1000, &samples(100))[..100];
    sender.send_to(cut, &address).unwrap();
    eventually("the report has them", || {
        let page = agent.get("/report.json").unwrap_or_default();
        let report: Value = serde_json::from_str(&page).unwrap_or_default();
        report["sampled"][0]["samples"] == 800 && report["health"]["sflow.truncated_datagrams"] == 1
    });
    let report = agent.report();
    let switch = &report["sampled"][0];
    assert_eq!((&switch["agent"], &switch["samples"]), (&"10.255.0.1".into(), &800.into()));
    assert_eq!(switch["ce_share"]["value"], 1.0);
    assert_eq!(report["health"]["sflow.truncated_datagrams"], 1);
    assert_eq!(report["health"]["sflow.other_versions"], 1);
    let tap = &report["taps"][0];
    assert_eq!((&tap["format"], &tap["frames"]), (&"sflow".into(), &102.into()));
    let metrics = agent.get("/metrics").unwrap();
    let visible = metrics.lines().find(|line| line.contains("railscope_source=\"sflow\""));
    assert!(visible.is_some_and(|line| line.contains(&address) && line.ends_with(" 1")));
    agent.stop();
}
