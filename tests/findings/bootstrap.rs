//! Findings on the bootstrap and the network, from packets and logs.

use super::scene::{Scene, bad, found, only};
use crate::cli::railscope;

const EKS: &str = "logs/eks_ofi_no_provider.log.gz";

const SYN: u8 = 0x02;
const SYN_ACK: u8 = 0x12;
const RST_ACK: u8 = 0x14;

fn of_log(log: &str, arguments: &[&str]) -> serde_json::Value {
    let all = [&["analyze", "--format", "json", "--nccl-log", log], arguments].concat();
    serde_json::from_str(&railscope(all).succeeds()).unwrap()
}

#[test]
fn data_falls_back_to_tcp() {
    let report = of_log(EKS, &[]);
    let finding = only(&report, "socket_fallback");
    assert_eq!(
        (&finding["severity"], &finding["cause"]),
        (&"critical".into(), &"plugin_failed".into())
    );
    assert!(finding["title"].as_str().unwrap().contains("No eligible providers were found"));
    assert!(finding["remedy"].as_str().unwrap().contains("fi_info -p efa"));
    assert_eq!(finding["evidence"][0]["line"], 22);
    let slow = only(&report, "bootstrap_slow");
    assert!(slow["title"].as_str().unwrap().contains("59.8 s"), "{slow}");
    assert_eq!(slow["evidence"][0]["line"], 39);
    assert_eq!(only(&report, "efa_plugin_failed")["evidence"][0]["line"], 22);
}

#[test]
fn a_job_over_efa_has_no_roce_to_see() {
    let log = "h:1:1 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\n\
               h:1:1 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.16.2\n\
               h:1:1 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa (found 4 nics)\n\
               h:1:1 [0] NCCL INFO Using network AWS Libfabric\n";
    let report = Scene::default().beside("--nccl-log", "nccl.log", log).report();
    assert_eq!(only(&report, "efa")["severity"], "info");
    assert_eq!(bad(&report), [""; 0]);
}

#[test]
fn warnings_of_nccl() {
    let log = "h:1:1 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\n\
               h:1:9 [0] ib.cc:99 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<43210> with \
               status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=129\n";
    let report = Scene::default().beside("--nccl-log", "nccl.log", log).report();
    let finding = only(&report, "retry_exceeded");
    assert_eq!(
        (&finding["severity"], &finding["evidence"][0]["line"]),
        (&"critical".into(), &2.into())
    );
}

#[test]
fn another_network_than_expected() {
    let config = |text: &str| {
        let mut scene = Scene::default();
        let log = "h:1:1 [0] NCCL INFO Bootstrap: Using docker0:172.17.0.2<0>\n\
                   h:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_5:1/RoCE [RO]; OOB docker0:172.17.0.2<0>\n";
        scene.beside("--nccl-log", "nccl.log", log).beside("--config", "c.toml", text);
        scene.report()
    };
    for (expect, found) in [
        ("bootstrap_interface = \"eth0\"", "bootstrap interface docker0"),
        ("bootstrap_cidr = \"10.0.0.0/8\"", "bootstrap address 172.17.0.2"),
        ("hca = [\"mlx5_0\"]", "HCA mlx5_5"),
    ] {
        let report = config(&format!("[expect]\n{expect}\n"));
        let finding = only(&report, "unexpected_network");
        assert!(finding["title"].as_str().unwrap().contains(found), "{finding}");
    }
    let kept = "[expect]\nbootstrap_interface = \"docker0\"\nhca = [\"mlx5_5\"]\n";
    assert!(found(&config(kept), "unexpected_network").is_empty());
}

#[test]
fn an_unreachable_master() {
    let mut scene = Scene::default();
    for _ in 0..4 {
        scene.tcp([2, 1], [40_000, 29_500], SYN).wait(1_000_000_000);
    }
    let report = scene.report();
    let finding = only(&report, "master_unreachable");
    assert_eq!(
        (&finding["severity"], &finding["cause"]),
        (&"critical".into(), &"no_answer".into())
    );
    assert_eq!(finding["evidence"][0]["frame"], 1);
    let mut refused = Scene::default();
    for _ in 0..4 {
        refused.tcp([2, 1], [40_000, 29_500], SYN).tcp([1, 2], [29_500, 40_000], RST_ACK);
        // The master may only be late.
        assert!(found(&refused.report(), "master_unreachable").is_empty());
        refused.wait(300_000_000);
    }
    refused.tcp([2, 1], [40_000, 29_500], SYN).tcp([1, 2], [29_500, 40_000], RST_ACK);
    assert_eq!(only(&refused.report(), "master_unreachable")["cause"], "refused");
    // The first connection is refused, then the master listens: clients retry.
    refused.tcp([2, 1], [40_002, 29_500], SYN).tcp([1, 2], [29_500, 40_002], SYN_ACK);
    assert!(found(&refused.report(), "master_unreachable").is_empty());
    // Any other port may be closed.
    let mut other = Scene::default();
    other.tcp([2, 1], [40_000, 8_080], SYN).tcp([1, 2], [8_080, 40_000], RST_ACK);
    assert_eq!(bad(&other.report()), [""; 0]);
}

#[test]
fn initialisation_that_never_ends() {
    let log = "h:1:2 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 2 cudaDev 0 nvmlDev 0 \
               busId 1b000 commId 0xbc42413ad5ab3a45 - Init START\n";
    let report = Scene::default().beside("--nccl-log", "nccl.log", log).report();
    assert_eq!(only(&report, "bootstrap_incomplete")["cause"], "not_completed");
    let done = format!("{log}{}", log.replace("START", "COMPLETE"));
    let report = Scene::default().beside("--nccl-log", "nccl.log", &done).report();
    assert!(found(&report, "bootstrap_incomplete").is_empty());
}

#[test]
fn rings_that_cross_hosts_too_often() {
    let line = |rank: u32, host: &str, text: &str| {
        format!("{host}:{}:1 [0] NCCL INFO {text}\n", 10 + rank)
    };
    let log = |order: &str| {
        let hosts = ["a", "a", "b", "b"];
        let ranks = (0..4).zip(hosts).map(|(rank, host)| {
            let init = |stage: &str| {
                let text = format!(
                    "ncclCommInitRank comm 0x5{rank} rank {rank} nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId 0xbc42413ad5ab3a45 - Init {stage}"
                );
                line(rank, host, &text)
            };
            let ring = line(rank, host, &format!("Channel 00/01 : {order}"));
            let release = line(rank, host, "NCCL version 2.27.3+cuda12.9");
            let ring = if rank == 0 { ring } else { String::new() };
            format!("{release}{}{ring}{}", init("START"), init("COMPLETE"))
        });
        ranks.collect::<String>()
    };
    let report =
        |order: &str| Scene::default().beside("--nccl-log", "nccl.log", &log(order)).report();
    assert!(found(&report("0 1 2 3"), "ring_order").is_empty());
    let crossed = report("0 2 1 3");
    let finding = only(&crossed, "ring_order");
    assert!(finding["title"].as_str().unwrap().contains("4 times instead of 2"), "{finding}");
}

#[test]
fn a_log_that_says_rdma_while_rdma_stands_still() {
    let log = "h:1:1 [0] NCCL INFO Using network IB\n";
    let still = |bytes: u64| {
        let lines: Vec<String> = (0..3)
            .map(|at| {
                format!(
                    "{{\"time_ns\":{},\"host\":\"h\",\"device\":\"mlx5_0\",\"counters\":{{\
                     \"tx_vport_rdma_unicast_bytes\":{},\"rx_vport_rdma_unicast_bytes\":9}}}}\n",
                    (at + 1) * 10_000_000_000_u64,
                    at * bytes
                )
            })
            .collect();
        let mut scene = Scene::default();
        scene.beside("--nccl-log", "nccl.log", log);
        scene.beside("--counters", "nics.jsonl", &lines.concat()).report()
    };
    assert_eq!(only(&still(0), "sources_disagree")["cause"], "no_rdma_bytes");
    assert!(found(&still(1), "sources_disagree").is_empty());
}
