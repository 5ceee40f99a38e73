//! NIC counters: what they need, and an agent that reads nothing else.

use railscope_testbed::agent::Agent;

use super::host::{ALL, host, needs_each_of};
use super::{verdict, visible};
use crate::support::railscope::PROGRAM;
use crate::support::tree::Tree;

const SEES: &str = "NIC counters";

/// Everything but counters is switched off.
const ONLY_COUNTERS: [&str; 3] =
    ["sources.packets=false", "sources.calls=false", "sources.processes=false"];

#[test]
fn counters_need_only_a_device() {
    needs_each_of(SEES, &[]);
    let without = host(ALL, &[("class/infiniband/mlx5_0", "class/net/eth0")]);
    let expected = format!("{SEES}: yes; there is no RDMA device here now");
    assert_eq!(verdict(SEES, &without).to_string(), expected);
}

#[test]
fn counters_alone_are_enough_to_be_ready() {
    let tree = Tree::new([
        "class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence = 3",
        "class/infiniband/mlx5_0/ports/1/link_layer = Ethernet",
        "class/infiniband/mlx5_0/hca_type = MT4129",
        "class/infiniband/mlx5_0/fw_ver = 28.39.1002",
        "class/infiniband/mlx5_0/device/net/ens1np0/mtu = 4200",
    ]);
    let sysfs = format!("host.sysfs={:?}", tree.root());
    let agent = Agent::start(PROGRAM, &[&ONLY_COUNTERS[..], &[sysfs.as_str()]].concat());
    let metrics = agent.get("/metrics").unwrap();
    assert_eq!(visible(&metrics, "counters", "mlx5_0").as_deref(), Some("1"), "{metrics}");
    let info = metrics.lines().find(|line| line.starts_with("rdma_nic_info{")).unwrap();
    for label in ["model=\"MT4129\"", "firmware=\"28.39.1002\"", "mtu=\"4200\""] {
        assert!(info.contains(&format!("rdma_nic_{label}")) && info.ends_with(" 1"), "{info}");
    }
    let version =
        format!("railscope_build_info{{railscope_version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(
        metrics.contains(&version) && metrics.contains("railscope_memory_usage_bytes "),
        "{metrics}"
    );
    assert_eq!(agent.answer("/readyz"), Some(("200".to_owned(), "ok\n".to_owned())));
}
