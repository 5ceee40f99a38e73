//! Names of ports: those of different hosts never share a series.

use std::collections::BTreeSet;

use railscope_core::analysis::ledger::Ending;
use railscope_core::analysis::understanding::Understanding;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::metrics::Settings;
use railscope_core::metrics::accumulator::Accumulator;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::PipelineConfig;

use crate::cli::railscope;
use crate::support::fixture;

/// Traffic between 10.0.0.1 and 10.0.0.2.
const TRAFFIC: &str = "write_bw_rc_s128.pcap.gz";

fn understand() -> Understanding {
    let flow = FlowConfig { flow_capacity: 16, line_rate_bps: None, keeps_details: false };
    super::understand(PipelineConfig { flow, message_capacity: None }, &[fixture::path(TRAFFIC)])
}

/// What all series together call ports.
fn names(understanding: &Understanding) -> BTreeSet<String> {
    let mut all = Accumulator::new(Settings::default(), Timestamp::EPOCH);
    all.observe(understanding, Ending::Closed);
    let points = all.points(Timestamp::EPOCH);
    let named = points.iter().flat_map(|point| point.attributes.iter());
    named.filter(|(name, _)| *name == "rdma.port").map(|(_, port)| port.to_owned()).collect()
}

#[test]
fn one_device_name_on_two_hosts_is_two_ports() {
    let mut understanding = understand();
    let addresses = ["10.0.0.1", "10.0.0.2"].map(str::to_owned);
    assert_eq!(names(&understanding), addresses.clone().into());
    for port in &mut understanding.ports {
        port.device = Some("soft0".to_owned());
    }
    assert_eq!(names(&understanding), addresses.into());
    for (port, host) in understanding.ports.iter_mut().zip(["a", "b"]) {
        port.host = Some(host.to_owned());
    }
    assert_eq!(names(&understanding), ["a/soft0", "b/soft0"].map(str::to_owned).into());
}

#[test]
fn counters_and_traffic_call_a_port_alike() {
    let names = |nics: [&str; 2]| -> BTreeSet<String> {
        let line = |(time, nic): (u64, &str)| {
            format!("{{\"time_ns\":{time},{nic},\"counters\":{{\"np_cnp_sent\":{time}}}}}\n")
        };
        let both = nics.into_iter().flat_map(|nic| [(1, nic), (2, nic)]);
        let file = tempfile::NamedTempFile::with_suffix(".jsonl").unwrap();
        std::fs::write(file.path(), both.map(line).collect::<String>()).unwrap();
        let path = file.path().to_str().unwrap();
        let text = railscope(["analyze", "--format", "prometheus", "--counters", path, TRAFFIC]);
        let text = text.succeeds();
        let named = text.split("rdma_port=\"").skip(1);
        named.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    };
    let of_hosts = [
        r#""host":"a","device":"mlx5_0","address":"10.0.0.1""#,
        r#""host":"b","device":"mlx5_0","port":2,"address":"10.0.0.2""#,
    ];
    assert_eq!(names(of_hosts), ["a/mlx5_0", "b/mlx5_0:2"].map(str::to_owned).into());
    let of_nobody =
        [r#""device":"mlx5_0","address":"10.0.0.1""#, r#""device":"mlx5_0","address":"10.0.0.2""#];
    assert_eq!(names(of_nobody), ["10.0.0.1", "10.0.0.2"].map(str::to_owned).into());
}
