//! Nodes that look odd and are well, and what must not mislead the examination.

use railscope::doctor::check;
use railscope::doctor::outcome::Status;

use super::judge::{DOWN, expect, of, says};
use super::tree::Files;

/// Healthy nodes that look odd: none is accused.
#[test]
fn what_is_built_so_is_no_fault() {
    let one_port_down = |hca| of("mlx5_roce_8", &[DOWN], &[("NCCL_IB_HCA", hca)], "port_state");
    for hca in ["mlx5", "^mlx5_0", "mlx5_0,mlx5_1"] {
        assert!(one_port_down(hca).iter().all(|(status, _)| *status <= Status::Warning), "{hca}");
    }
    // Another kind of card without a cable.
    let card = [
        "/sys/class/infiniband/mlx5_9/board_id = MT_0000000080",
        "/sys/class/infiniband/mlx5_9/ports/1/state = 1: DOWN",
    ];
    let found = of("mlx5_roce_8", &card, &[], "port_state");
    assert!(found.iter().all(|(status, _)| *status == Status::Note), "{found:?}");
    let unread = ["delete /sys/class/infiniband/mlx5_3/ports/1/state"];
    expect(&of("mlx5_roce_8", &unread, &[], "port_state"), Status::Unknown, "the state of mlx5_3");

    // A pod with some of the host's NICs.
    let gone: Vec<String> = (2..8).map(|at| format!("delete /dev/infiniband/uverbs{at}")).collect();
    let pod: Vec<&str> = gone.iter().map(String::as_str).chain(["/.dockerenv ="]).collect();
    let facts = Files::with("mlx5_roce_8", &pod).facts(&[]);
    expect(
        &says(&facts, "character_devices"),
        Status::Note,
        "given 2 of the host's 8 RDMA devices",
    );
    let outcomes = check::judge(&facts);
    assert!(outcomes.iter().all(|outcome| outcome.status < Status::Critical), "{outcomes:#?}");

    // EFA does not use NCCL's own RDMA.
    assert!(
        of("efa", &[], &[("NCCL_IB_DISABLE", "1")], "variables")
            .iter()
            .all(|(status, _)| *status == Status::Right)
    );
    // Two cabled nodes.
    let found = of("dgx_spark", &[], &[("NCCL_IB_GID_INDEX", "3")], "gids");
    assert!(found.iter().all(|(status, _)| *status == Status::Note), "{found:?}");
    // Of a bond's two functions one has the RDMA device.
    let bond = [
        "delete /sys/class/infiniband/bnxt_re1",
        "/sys/devices/pci0000:a8/0000:a8:01.0/0000:a8:00.0/vendor = 0x15b3",
        "/sys/devices/pci0000:a8/0000:a8:01.0/0000:a8:00.0/device = 0x1021",
        "/sys/class/net/bond0/bonding/slaves = ens0np0 ens1np0",
        "/sys/class/net/bond0/mtu = 9000",
        "/sys/class/net/ens1np0/master -> ../bond0",
    ];
    let found = of("bnxt", &bond, &[], "rdma_devices");
    assert!(found.iter().all(|(status, _)| *status == Status::Right), "{found:?}");
    // Virtual functions of one place in several domains are NICs of their own.
    let apart: Vec<String> = (0..4)
        .map(|at| {
            let name = ["rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"][at];
            format!("/sys/class/infiniband/{name}/sys_image_guid = 4cbb:4700:002c:0b0{at}")
        })
        .collect();
    let apart: Vec<&str> = apart.iter().map(String::as_str).collect();
    let found = of("dgx_spark", &apart, &[], "pcie_link");
    assert!(found.iter().all(|(_, says)| !says.contains("share one port")), "{found:?}");
}

#[test]
fn a_fifo_in_place_of_a_file_hangs_nothing() {
    let files = Files::of("bnxt");
    std::fs::create_dir_all(files.path().join("etc")).unwrap();
    nix::unistd::mkfifo(&files.path().join("etc/nccl.conf"), nix::sys::stat::Mode::S_IRUSR)
        .unwrap();
    expect(&says(&files.facts(&[]), "variables"), Status::Unknown, "it is not a file");
}

#[test]
fn the_last_rule_of_a_chain_counts() {
    use railscope::doctor::fact::firewall::Firewall;
    let rules = r#"{"nftables": [
        {"chain": {"family": "inet", "table": "firewalld", "name": "filter_INPUT", "hook": "input", "prio": 10, "policy": "accept"}},
        {"rule": {"family": "inet", "table": "firewalld", "chain": "filter_INPUT", "expr": [{"jump": {"target": "zones"}}]}},
        {"rule": {"family": "inet", "table": "firewalld", "chain": "filter_INPUT", "expr": [{"reject": {"type": "icmpx", "expr": "admin-prohibited"}}]}},
        {"chain": {"family": "ip", "table": "filter", "name": "INPUT", "hook": "input", "prio": 0, "policy": "accept"}},
        {"rule": {"family": "ip", "table": "filter", "chain": "INPUT", "expr": [{"match": {}}, {"drop": null}]}}]}"#;
    let found = Firewall::of_rules(&serde_json::from_str(rules).unwrap());
    assert_eq!(found.dropping, ["inet firewalld filter_INPUT"]);
}
