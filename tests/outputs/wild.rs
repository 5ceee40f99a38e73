//! Real outputs that others published, which are not part of the repository: `RAILSCOPE_WILD` names
//! their logs' folder, and `wild-inputs` is beside it.

use std::path::PathBuf;

use super::{names, report, titles};

fn folder() -> Option<PathBuf> {
    let logs = PathBuf::from(std::env::var_os("RAILSCOPE_WILD")?);
    Some(logs.parent()?.join("wild-inputs")).filter(|folder| folder.is_dir())
}

/// What an expert concludes from each, as the findings and the words of their titles.
const EXPECTED: &[(&str, &[(&str, &str)])] = &[
    ("ethtool-ena-1.txt", &[("allowance_exceeded", "bw_in_allowance_exceeded 9")]),
    ("ethtool-generic-1.txt", &[("host_drops", "port.rx_dropped 12,028, rx_missed 401")]),
    ("ethtool-mlx5-1.txt", &[("pause_sent", "sent 2,847 pause frames on priority 3")]),
    ("ethtool-mlx5-2.txt", &[]),
    ("hw_counters-1.txt", &[]),
    ("ibdev2netdev-1.txt", &[("ports_down", "up: roceP2p1s0f1 (enP2p1s0f1np1) and rocep1s0f1")]),
    ("ibdev2netdev-2.txt", &[("ports_down", "4 of 8"), ("node_link_layers", "mlx5_5 (ib0)")]),
    ("ibv_devinfo-1.txt", &[("node_link_layers", "mlx5_0"), ("port_mtu", "1024 on mlx5_1")]),
    ("inspector-1.txt", &[]),
    ("mlnx_qos-1.txt", &[]),
    ("mlnx_qos-2.txt", &[("pfc_off", "PCP is trusted")]),
    ("nccl-tests-1.txt", &[]),
    ("nccl-tests-2.txt", &[]),
    ("rdma-statistic-1.txt", &[("request_errors", "out_of_buffer 135, 22 completions")]),
    ("rdma-statistic-2.txt", &[]),
    ("show_gids-1.txt", &[("gid_not_routable", "mlx5_0 (ens11f0) has no routable")]),
    ("show_gids-2.txt", &[("gid_not_routable", "mlx5_1 (ens1f1) has one at index 3")]),
    ("topo-1.xml", &[]),
    ("topo-2.xml", &[]),
    ("topo-m-1.txt", &[]),
];

#[test]
fn experts_conclude_the_same() {
    let Some(folder) = folder() else {
        eprintln!("skipped: RAILSCOPE_WILD names no folder with wild-inputs beside it");
        return;
    };
    for (file, expected) in EXPECTED {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let report = report(&text);
        let input = &report.inputs[0];
        assert!(input.read > 0, "{file}: nothing was read");
        let found = names(&report);
        let ids: Vec<&str> = expected.iter().map(|(id, _)| *id).collect();
        assert_eq!(found, ids, "{file}");
        for (id, words) in *expected {
            let said = titles(&report, id);
            assert!(said.iter().any(|title| title.contains(words)), "{file}: {said:?}");
        }
    }
}
