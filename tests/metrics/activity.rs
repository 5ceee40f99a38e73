//! Who was active when, what packets have in common, and data that goes over sockets.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::process::Command;

use railscope_core::analysis::ledger::Ending;
use railscope_core::analysis::understanding::Understanding;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::metrics::Settings;
use railscope_core::metrics::accumulator::Accumulator;
use railscope_core::metrics::point::Value;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{MESSAGE_CAPACITY, PipelineConfig};

use crate::cli::railscope;
use crate::support::railscope::PROGRAM;
use crate::support::recording::Recording;

fn understand(run: &str) -> Understanding {
    let flow = FlowConfig { flow_capacity: 1024, line_rate_bps: None, keeps_details: false };
    let config = PipelineConfig { flow, message_capacity: Some(MESSAGE_CAPACITY as usize) };
    let job = Recording::unpack(run);
    let files: Vec<_> = job.captures().iter().map(|file| job.folder().join(file)).collect();
    super::understand(config, &files)
}

/// Unix times in seconds by rank and activity.
fn activities(understanding: &Understanding, settings: Settings) -> BTreeMap<(u32, String), f64> {
    let mut all = Accumulator::new(settings, Timestamp::EPOCH);
    all.observe(understanding, Ending::Closed);
    let points = all.points(Timestamp::EPOCH);
    let found = points.iter().filter(|one| one.metric.name == "nccl.rank.last_activity_timestamp");
    let time = |value: &Value| match value {
        Value::Number(ns) => *ns as f64 / 1e9,
        Value::Distribution(_) => panic!("{value:?}"),
    };
    let key = |point: &railscope_core::metrics::point::Point| {
        let of: BTreeMap<_, _> = point.attributes.iter().collect();
        assert!(of.contains_key("nccl.communicator.id"), "{of:?}");
        (of["nccl.rank"].parse().unwrap(), of["nccl.activity"].to_owned())
    };
    found.map(|point| (key(point), time(&point.value))).collect()
}

/// A rank of this job was killed; the others asked for data once more.
#[test]
fn ranks_have_the_times_of_their_last_activities() {
    let understanding = understand("rankcrash-2.28.9");
    let ranks = || Settings { ranks: true, ..Settings::default() };
    let all = activities(&understanding, ranks());
    let end = understanding.state.tracker.flows().flows().iter().map(|flow| flow.span.last).max();
    let end = end.unwrap().as_nanos() as f64 / 1e9;
    for activity in ["data_sent", "data_received", "clear_to_send_sent"] {
        let times: Vec<f64> =
            all.iter().filter(|((_, of), _)| of == activity).map(|(_, time)| *time).collect();
        assert!(times.len() > 1 && times.iter().all(|time| *time <= end), "{activity}: {all:?}");
        assert!(times.iter().all(|time| end - time < 60.0), "{activity}: {all:?}");
    }
    // An agent exports the ranks at its own ports only, and none unless that is turned on.
    let port = understanding.ports.iter().find(|port| port.has_roce).unwrap().address.to_ip();
    let own: std::collections::BTreeSet<IpAddr> = [port].into();
    let own = activities(&understanding, Settings { ports: Some(own), ..ranks() });
    assert!(!own.is_empty() && own.len() < all.len(), "{own:?}");
    assert!(own.iter().all(|(key, time)| all[key] == *time), "{own:?}");
    assert_eq!(activities(&understanding, Settings::default()), BTreeMap::new());
}

/// The value of a series in Prometheus' text.
fn value(text: &str, series: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(series))?;
    line.trim().parse().ok()
}

#[test]
fn ports_have_what_their_packets_have_in_common() {
    let file = "loss1_send_bw_post.pcap.gz";
    let text = railscope(["analyze", "--format", "prometheus", file]).succeeds();
    let of = |series: &str| value(&text, series);
    let dscp = "rdma_port_dscp_total{network_type=\"ipv4\",rdma_dscp=\"0\",rdma_port=\"10.0.0.1\"}";
    let packets =
        "rdma_flow_packets_total{network_io_direction=\"transmit\",rdma_port=\"10.0.0.1\"}";
    assert!(of(dscp).is_some() && of(dscp) == of(packets), "{text}");
    assert_eq!(of("rdma_port_path_mtu_bytes{rdma_port=\"10.0.0.1\"}"), Some(1024.0));
    // The other side sends nothing but ACKs.
    assert_eq!(of("rdma_port_path_mtu_bytes{rdma_port=\"10.0.0.2\"}"), None);
    assert_eq!(of("rdma_port_fan_in{rdma_port=\"10.0.0.2\"}"), Some(1.0));
    let last = |direction: &str, port: &str| {
        let labels = format!("{{network_io_direction=\"{direction}\",rdma_port=\"{port}\"}}");
        of(&format!("rdma_port_last_data_timestamp_seconds{labels}"))
    };
    assert!(last("transmit", "10.0.0.1").is_some_and(|time| time > 1e9), "{text}");
    assert_eq!(last("transmit", "10.0.0.1"), last("receive", "10.0.0.2"));
    assert_eq!(last("transmit", "10.0.0.2"), None);
}

/// Every byte that a rank sends, another one receives; over RDMA goes none of them.
#[test]
fn data_over_sockets_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut drive = Command::new(PROGRAM);
    drive.args(["drive", "--ranks", "3", "--iterations", "2", "--warmup_iters", "0"]);
    drive.args(["--buckets", "384KiB", "--compute", "5ms", "--socket-fallback", "--record"]);
    let output = drive.arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let captures = [0, 1, 2].map(|rank| folder.path().join(format!("rank{rank}.pcap")));
    let analyze = ["analyze", "--format", "prometheus"].map(str::to_owned);
    let captures = captures.map(|path| path.display().to_string());
    let text = railscope(analyze.into_iter().chain(captures)).succeeds();
    let mut sums = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("nccl_socket_io_bytes_total{")) {
        let direction = line.split('"').nth(1).unwrap();
        let bytes: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        *sums.entry(direction).or_insert(0.0) += bytes;
    }
    assert_eq!(sums["transmit"], sums["receive"], "{text}");
    // An AllReduce of three sends 4/3 of its bytes from each rank.
    assert!(sums["transmit"] >= 2.0 * 4.0 * 384.0 * 1024.0, "{sums:?}");
    assert!(!text.contains("rdma_flow_io_bytes_total{"), "{text}");
}
