//! Forms of tools that list ports and tables, and what is told by comparing ports.

use super::{names, report, titles};

/// A device of `ibstatus`.
fn ibstatus(device: &str, state: &str, rate: &str, layer: &str) -> String {
    format!(
        "Infiniband device '{device}' port 1 status:\n\tdefault gid:\t fe80:0000:0000:0000:0000:00ff:fe00:0001\n\
         \tbase lid:\t 0x0\n\tsm lid:\t\t 0x0\n\tstate:\t\t {state}\n\tphys state:\t 5: LinkUp\n\trate:\t\t {rate}\n\
         \tlink_layer:\t {layer}\n\n"
    )
}

#[test]
fn ibstatus_has_states_and_rates() {
    let text = ibstatus("mlx5_0", "4: ACTIVE", "400 Gb/sec (4X NDR)", "InfiniBand")
        + &ibstatus("mlx5_1", "1: DOWN", "10 Gb/sec (4X SDR)", "Ethernet");
    let report = report(&text);
    let ports = &report.nodes[0].ports;
    assert_eq!((ports[0].state, ports[0].rate_bps), (Some("active"), Some(400_000_000_000)));
    assert_eq!((ports[1].state, ports[1].link_layer), (Some("down"), Some("Ethernet")));
    assert_eq!(names(&report), ["ports_down"]);
}

#[test]
fn no_subnet_manager_gave_an_address() {
    let waits = |layer| ibstatus("mlx5_0", "2: INIT", "400 Gb/sec (4X NDR)", layer);
    assert_eq!(
        titles(&report(&waits("InfiniBand")), "no_subnet_manager"),
        ["mlx5_0 waits for a subnet manager: INIT"]
    );
    assert!(report(&waits("Ethernet")).findings.is_empty());
    let ibstat = "CA 'mlx5_3'\n\tPort 1:\n\t\tState: Initializing\n\t\tLink layer: InfiniBand\n";
    assert_eq!(titles(&report(ibstat), "no_subnet_manager").len(), 1);
}

#[test]
fn ibstat_without_indentation() {
    let text = "CA 'mlx5_0'\nCA type: MT4129\nNumber of ports: 1\nFirmware version: 28.39.1002\nPort 1:\nState: Active\n\
                Physical state: LinkUp\nRate: 400\nSM lid: 1\nLink layer: InfiniBand\nsomething else: 5\nRate: 1\n";
    let report = report(text);
    let port = &report.nodes[0].ports[0];
    assert_eq!((port.state, port.rate_bps), (Some("active"), Some(400_000_000_000)));
    assert_eq!(port.firmware.as_deref(), Some("28.39.1002"));
}

#[test]
fn rates_and_gids_of_ibv_devinfo() {
    let text = |kind: [&str; 2]| {
        format!(
            "hca_id:\tmlx5_0\n\tboard_id:\t\t\tMT_0000000838\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\
             \t\t\tactive_width:\t\t4X (2)\n\t\t\tactive_speed:\t\t25.0 Gbps (32)\n\t\t\tlink_layer:\t\tEthernet\n\
             \t\t\tGID[  0]:\t\tfe80:0000:0000:0000:0000:00ff:fe00:0001{}\n\t\t\tGID[  1]:\t\tfe80::ff:fe00:1{}\n",
            kind[0], kind[1]
        )
    };
    let typed = report(&text([", RoCE v1", ", RoCE v2"]));
    assert_eq!(typed.nodes[0].ports[0].rate_bps, Some(100_000_000_000));
    assert_eq!(typed.nodes[0].gids.len(), 2);
    assert!(
        titles(&typed, "gid_not_routable")[0].starts_with("mlx5_0 has no routable RoCE v2 GID")
    );
    let routable = text([", RoCE v1", ", RoCE v2"]).replace("fe80::ff:fe00:1", "::ffff:10.0.0.2");
    assert!(report(&routable).findings.is_empty());
    // Without types, nothing tells v1 from v2.
    assert!(report(&text(["", ""])).findings.is_empty());
}

#[test]
fn a_port_that_is_slower_than_its_twins() {
    let port = |number: usize, rate: u32, kind: &str| {
        format!(
            "CA 'mlx5_{number}'\n\tCA type: {kind}\n\tPort 1:\n\t\tState: Active\n\t\tRate: {rate}\n\t\tLink layer: InfiniBand\n"
        )
    };
    let node = |rates: &[(u32, &str)]| -> String {
        rates.iter().enumerate().map(|(at, (rate, kind))| port(at, *rate, kind)).collect()
    };
    let new = "MT4129";
    let odd = report(&node(&[(400, new), (400, new), (200, new), (400, new)]));
    assert_eq!(
        titles(&odd, "port_slower"),
        ["mlx5_2 at 200 Gb/s is slower than 3 ports of the same kind at 400 Gb/s"]
    );
    assert_eq!(odd.findings[0].severity, "warning");
    assert!(report(&node(&[(400, new); 8])).findings.is_empty());
    // The front end has a model of its own.
    assert!(
        report(&node(&[(400, new), (400, new), (400, new), (100, "MT4125")])).findings.is_empty()
    );
    let half = report(&node(&[(400, new), (400, new), (200, new), (200, new)]));
    assert!(half.findings.is_empty(), "no rate is the usual one");
}

#[test]
fn trust_of_dcb() {
    let trust = |order: &str| {
        let text = format!(
            "$ dcb apptrust show dev eth2\n{order}\n$ dcb pfc show dev eth2\nprio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off\n"
        );
        let report = report(&text);
        assert_eq!(report.nodes[0].qos.len(), 1);
        report.nodes[0].qos[0].trust
    };
    assert_eq!(trust("order: dscp"), Some("dscp"));
    assert_eq!(trust("order: dscp pcp"), Some("both"));
    assert_eq!(trust("trust-order: pcp"), Some("pcp"));
    assert_eq!(trust("order: 5 books"), None);
}

#[test]
fn forms_of_nccl_tests() {
    let first = |text: &str| {
        let report = report(text);
        let row = &report.benchmarks[0].rows[0];
        let figures = row.in_place.clone().or_else(|| row.out_of_place.clone()).unwrap();
        (row.bytes, figures.time_ns, figures.busbw_bytes_per_s)
    };
    // NCCL 1: milliseconds.
    let one = "#                                                 out-of-place                    in-place\n\
               #      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n\
               \x20   10000000      10000000    char     sum    1.700   5.88  10.29    0e+00    1.900   5.26   9.21    0e+00\n";
    assert_eq!(first(one), (10_000_000, 1_900_000, 9_210_000_000));
    // Before 2.13, what does not reduce has no operator.
    let gather = "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error\n\
                  \x20     67108864      16777216   float   5592.4   12.00   10.50  0e+00   5590.0   12.01   10.51    N/A\n";
    assert_eq!(first(gather), (67_108_864, 5_590_000, 10_510_000_000));
    let broadcast = gather.replace("float   5592.4", "float       0   5592.4");
    assert_eq!(first(&broadcast), (67_108_864, 5_590_000, 10_510_000_000));
    // -S adds the time of day.
    let timed = "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong    timestamp\n\
                 \x20 1048576        262144     float     sum      -1    583.4    1.80    3.15      0    580.0    1.81    3.16      0  2025-06-09 11:22:33\n";
    assert_eq!(first(timed), (1_048_576, 580_000, 3_160_000_000));
    let bare = "  1048576        262144     float    none      -1    583.4    1.80    3.15      0    580.0    1.81    3.16    N/A\n";
    assert_eq!(first(bare), (1_048_576, 580_000, 3_160_000_000));
    let rccl = "# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n\
                rccl-tests: Version develop:33cc4df\n# Using devices\n\
                #  Rank  0 Group  0 Pid   4791 on     c1 device  0 [0000:07:00] AMD Instinct MI300X\n\
                #  Rank  1 Group  0 Pid   5418 on     c2 device  0 [0000:07:00] AMD Instinct MI300X\nRCCL version : 2.27.7-develop:29e1567\n";
    let rccl = report(&format!("{rccl}{}", timed.replace("  2025-06-09 11:22:33", "")));
    let table = &rccl.benchmarks[0];
    assert_eq!((table.ranks, table.version.as_deref()), (Some(2), Some("develop:33cc4df")));
}
