//! Ports, GIDs, priorities and counters.

use super::{names, report, reports, title, titles};

const GIDS: &str = "\
DEV     PORT    INDEX   GID                                     IPv4            VER     DEV
---     ----    -----   ---                                     ------------    ---     ---
mlx5_0  1       0       fe80:0000:0000:0000:0000:00ff:fe00:0001                 v1      eth2
mlx5_0  1       1       fe80:0000:0000:0000:0000:00ff:fe00:0001                 v2      eth2
mlx5_1  1       2       0000:0000:0000:0000:0000:ffff:0a00:0002 10.0.0.2        v1      eth3
mlx5_1  1       3       0000:0000:0000:0000:0000:ffff:0a00:0002 10.0.0.2        v2      eth3
n_gids_found=4
";

#[test]
fn ports_without_a_routable_gid() {
    let title = title(GIDS, "gid_not_routable");
    assert_eq!(
        title,
        "mlx5_0 (eth2) has no routable RoCE v2 GID; index 3 does not exist there; \
         mlx5_1 (eth3) has one at index 3"
    );
    let global = GIDS.replace("fe80:0000:0000:0000:0000:00ff", "2001:0db8:0000:0000:0000:00ff");
    assert!(titles(&report(&global), "gid_not_routable").is_empty());
    // A port without a link needs none.
    let down = format!("{GIDS}\nmlx5_0 port 1 ==> eth2 (Down)\nmlx5_1 port 1 ==> eth3 (Up)\n");
    assert!(titles(&report(&down), "gid_not_routable").is_empty());
}

#[test]
fn four_tools_name_the_same_ports() {
    let by_tool = [
        "mlx5_0 port 1 ==> eth2 (Up)\nmlx5_1 port 1 ==> eth3 (Down)\n",
        "0000:18:00.0 mlx5_0 (MT4129 - CX713106A) fw 28.39.1002 port 1 (ACTIVE) ==> eth2 (Up)\n\
         0000:19:00.0 mlx5_1 (MT4129 - CX713106A) fw 28.39.1002 port 1 (DOWN  ) ==> eth3 (Down)\n",
        "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth2\n\
         link mlx5_1/1 state DOWN physical_state DISABLED netdev eth3\n",
        "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.39.1002\n\tPort 1:\n\
         \t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tLink layer: Ethernet\n\
         CA 'mlx5_1'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Down\n\t\tRate: 40\n\t\tLink layer: Ethernet\n",
        "hca_id:\tmlx5_0\n\tfw_ver:\t\t28.39.1002\n\t\tport:\t1\n\t\t\tstate:\t\tPORT_ACTIVE (4)\n\
         \t\t\tmax_mtu:\t4096 (5)\n\t\t\tactive_mtu:\t4096 (5)\n\t\t\tlink_layer:\tEthernet\n\n\
         hca_id:\tmlx5_1\n\t\tport:\t1\n\t\t\tstate:\t\tPORT_DOWN (1)\n\t\t\tlink_layer:\tEthernet\n",
    ];
    for text in by_tool {
        let report = report(text);
        let ports = &report.nodes[0].ports;
        let states: Vec<_> =
            ports.iter().map(|port| (port.device.as_str(), port.state.unwrap())).collect();
        assert_eq!(states, [("mlx5_0", "active"), ("mlx5_1", "down")], "{text}");
        assert!(titles(&report, "ports_down")[0].starts_with("1 of 2 RDMA ports is down: mlx5_1"));
        assert_eq!(report.inputs[0].kind, "tool_output");
    }
    // What one does not tell, another does.
    let joined = report(&by_tool.concat());
    let port = &joined.nodes[0].ports[0];
    assert_eq!(joined.nodes[0].ports.len(), 2);
    assert_eq!((port.netdev.as_deref(), port.rate_bps), (Some("eth2"), Some(400_000_000_000)));
    assert_eq!((port.active_mtu, port.firmware.as_deref()), (Some(4096), Some("28.39.1002")));
}

#[test]
fn a_small_mtu_of_roce_only() {
    let text = |layer| {
        format!(
            "hca_id:\tmlx5_0\n\t\tport:\t1\n\t\t\tstate:\t\tPORT_ACTIVE (4)\n\t\t\tmax_mtu:\t4096 (5)\n\
             \t\t\tactive_mtu:\t1024 (3)\n\t\t\tlink_layer:\t{layer}\n"
        )
    };
    assert_eq!(title(&text("Ethernet"), "port_mtu"), "path MTU 1024 on mlx5_0; 4096 is possible");
    assert!(report(&text("InfiniBand")).findings.is_empty());
}

const QOS: &str = "\
DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:3 dscp:31,30,29,28,27,26,25,24,
\tprio:6 dscp:48,
default priority:
Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,
Cable len: 7
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   0
\tbuffer      0   0   0   1   0   0   0   0
tc: 0 ratelimit: unlimited, tsa: vendor
\t priority:  1
";

#[test]
fn priorities_of_mlnx_qos_and_dcb() {
    let well = report(&format!("$ mlnx_qos -i eth2\n{QOS}"));
    assert!(well.findings.is_empty(), "{:?}", names(&well));
    let qos = &well.nodes[0].qos[0];
    assert_eq!((qos.interface.as_deref(), qos.trust), (Some("eth2"), Some("dscp")));
    assert_eq!(qos.pfc_priorities.as_deref(), Some(&[3][..]));
    assert_eq!((qos.dscp_priorities[&26], qos.dscp_priorities[&48]), (3, 6));

    let off = QOS
        .replace("state: dscp", "state: pcp")
        .replace("0   0   0   1   0   0   0   0\n\tb", "0   0   0   0   0   0   0   0\n\tb");
    assert_eq!(
        title(&off, "pfc_off"),
        "PFC is off on all priorities, and the PCP is trusted: a DSCP chooses no priority"
    );
    let two = format!("$ mlnx_qos -i eth2\n{QOS}$ mlnx_qos -i eth3\n{off}");
    let two = report(&two);
    assert_eq!(
        titles(&two, "qos_differs"),
        ["PFC differs: 3 on eth2; none on eth3", "trust differs: dscp on eth2; pcp on eth3"]
    );

    let dcb = "$ dcb pfc show dev eth2\npfc-cap 8 macsec-bypass off delay 0\n\
               prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off\n\
               $ dcb app show dev eth2\ndscp-prio AF31:3 CS6:6\n";
    let dcb = report(dcb);
    let qos = &dcb.nodes[0].qos[0];
    assert_eq!((qos.interface.as_deref(), dcb.nodes[0].qos.len()), (Some("eth2"), 1));
    assert_eq!((qos.dscp_priorities[&26], qos.dscp_priorities[&48]), (3, 6));
    assert_eq!(qos.pfc_priorities.as_deref(), Some(&[3][..]));
}

#[test]
fn counters_since_boot_are_no_warning() {
    let text = "$ ethtool -S eth2\nNIC statistics:\n     rx_packets: 100\n     rx_missed: 4\n     rx_prio3_pause: 10\n     tx_prio3_pause: 900\n";
    let report = report(text);
    assert_eq!(names(&report), ["host_drops", "pause_sent"]);
    assert!(report.findings.iter().all(|finding| finding.severity == "info"));
    assert_eq!(report.inputs[0].kind, "counters");
}

#[test]
fn a_second_reading_shows_what_rose() {
    let line = |sequence: u64, flushed: u64| {
        format!(
            "link mlx5_0/1 out_of_buffer 135 packet_seq_err {sequence} req_cqe_error 7 req_cqe_flush_error {flushed}\n"
        )
    };
    let text = format!(
        "root@n7:~# rdma statistic\n{}root@n7:~# rdma statistic\n{}",
        line(7, 7),
        line(19, 7)
    );
    let twice = report(&text);
    let finding = &twice.findings[0];
    assert_eq!(
        finding.title,
        "n7: mlx5_0 counted RDMA errors between two readings: packet_seq_err 12"
    );
    assert_eq!(finding.severity, "warning");
    let same = format!("{}{}", line(7, 7), line(7, 7));
    assert!(report(&same).findings.is_empty());
    // A counter that was reset counts what it shows.
    let reset = format!("{}{}", line(7, 7), line(2, 7));
    assert_eq!(
        titles(&report(&reset), "request_errors"),
        ["mlx5_0 counted RDMA errors between two readings: packet_seq_err 2"]
    );
}

#[test]
fn sysfs_by_port() {
    let text = "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err:3\n\
                /sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:0\n\
                /sys/class/infiniband/mlx5_1/ports/1/hw_counters/local_ack_timeout_err:0\n";
    let report = report(text);
    assert_eq!(report.nodes[0].totals.len(), 2);
    assert_eq!(
        titles(&report, "request_errors"),
        ["mlx5_0 counted RDMA errors since boot: local_ack_timeout_err 3"]
    );
}

#[test]
fn files_without_a_name_are_nodes_of_their_own() {
    let two = reports(&[GIDS, GIDS]);
    assert_eq!(two.nodes.len(), 2);
    assert_eq!(titles(&two, "gid_not_routable").len(), 2);
}

#[test]
fn infiniband_needs_no_routable_gid_and_no_interface() {
    let ib = "DEV     PORT    INDEX   GID                                     IPv4            VER     DEV\n\
              mlx5_0  1       0       fe80:0000:0000:0000:b83f:d203:0058:cd42                 v1\nn_gids_found=1\n\
              mlx5_0 port 1 ==> ibp26s0 (Down)\n";
    assert!(report(ib).findings.is_empty());
    let said =
        format!("{ib}CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tLink layer: InfiniBand\n");
    let said = report(&said);
    assert!(said.findings.is_empty());
    assert_eq!(said.nodes[0].ports[0].state, Some("active"));
    let down = "link mlx5_1/1 subnet_prefix fe80:0000:0000:0000 lid 65535 sm_lid 0 lmc 0 state DOWN physical_state POLLING\n";
    let down = report(down);
    assert_eq!(down.nodes[0].ports[0].link_layer, Some("InfiniBand"));
    assert_eq!(titles(&down, "ports_down"), ["1 of 1 RDMA port is down: mlx5_1"]);
}

#[test]
fn flags_of_ibv_devinfo_do_not_end_it() {
    let text = "hca_id:\tmlx5_0\n\tdevice_cap_flags:\t\t0x25321c36\n\t\t\t\t\tBAD_PKEY_CNTR\n\t\tport:\t1\n\
                \t\t\tstate:\t\tPORT_ACTIVE (4)\n\t\t\tmax_mtu:\t4096 (5)\n\t\t\tactive_mtu:\t1024 (3)\n\
                \t\t\tlink_layer:\tEthernet\n";
    assert_eq!(titles(&report(text), "port_mtu").len(), 1);
}

#[test]
fn what_comes_later_counts() {
    let text = format!(
        "$ mlnx_qos -i eth2\n{}$ mlnx_qos -i eth2 --pfc 0,0,0,1,0,0,0,0\n{QOS}",
        QOS.replace("0   0   0   1   0   0   0   0\n\tb", "0   0   0   0   0   0   0   0\n\tb")
    );
    let fixed = report(&text);
    assert!(fixed.findings.is_empty(), "{:?}", names(&fixed));
    let up = "mlx5_0 port 1 ==> eth2 (Down)\n$ ip link set eth2 up\nmlx5_0 port 1 ==> eth2 (Up)\n";
    assert!(report(up).findings.is_empty());
}

#[test]
fn other_nics_are_no_second_reading() {
    let counters =
        |drops: u64| format!("NIC statistics:\n     rx_packets: 9\n     rx_missed: {drops}\n");
    let two =
        format!("$ for i in eth2 eth3; do ethtool -S $i; done\n{}{}", counters(1), counters(9));
    let two = report(&two);
    assert!(two.findings.iter().all(|finding| finding.severity == "info"), "{:?}", two.findings);
    let hosts = format!(
        "root@h1:~# ethtool -S eth2\n{}root@h2:~# ethtool -S eth2\n{}",
        counters(1),
        counters(9)
    );
    let hosts = report(&hosts);
    assert_eq!(hosts.nodes.len(), 2);
    assert!(hosts.findings.iter().all(|finding| finding.severity == "info"));
    let tasks = "0: link mlx5_0/1 packet_seq_err 7\n1: link mlx5_0/1 packet_seq_err 90\n";
    assert!(report(tasks).findings.iter().all(|finding| finding.severity == "info"));
    let heading = "----------------\nn1\n----------------\nlink mlx5_0/1 packet_seq_err 7\n\
                   ----------------\nn2\n----------------\nlink mlx5_0/1 packet_seq_err 90\n";
    let heading = report(heading);
    assert_eq!(heading.nodes.len(), 2);
    assert!(heading.findings.iter().all(|finding| finding.severity == "info"));
}

#[test]
fn readings_without_a_line_between_them() {
    let text = "$ ethtool -S eth2 | grep rx_missed; sleep 9; ethtool -S eth2 | grep rx_missed\n     rx_missed: 10\n     rx_missed: 99\n     rx_missed: 99\n";
    assert_eq!(
        titles(&report(text), "host_drops"),
        ["eth2 dropped packets at the receiver between two readings: rx_missed 89"]
    );
}

#[test]
fn devices_of_commands_with_pipes() {
    let text = "$ ethtool -S eth2 | grep -E 'missed|pause'\n     rx_missed: 10\n";
    assert!(titles(&report(text), "host_drops")[0].starts_with("eth2 "));
    let stale = "$ ./all_reduce_perf -g 8\nNIC statistics:\n     rx_missed: 10\n";
    assert!(titles(&report(stale), "host_drops")[0].starts_with("the NIC "));
}

#[test]
fn the_front_end_may_differ() {
    let off = QOS
        .replace("state: dscp", "state: pcp")
        .replace("0   0   0   1   0   0   0   0\n\tb", "0   0   0   0   0   0   0   0\n\tb");
    let node = format!("$ mlnx_qos -i front\n{off}$ mlnx_qos -i eth2\n{QOS}");
    assert!(report(&node).findings.iter().all(|finding| finding.severity == "info"));
    let fabric = format!("root@h1:~# mlnx_qos -i eth2\n{off}root@h2:~# mlnx_qos -i eth2\n{QOS}");
    let fabric = report(&fabric);
    let differs = fabric.findings.iter().find(|finding| finding.id == "qos_differs").unwrap();
    assert_eq!(differs.severity, "warning");
}
