//! Causes that logs name: the first in time is the verdict, its consequences are beneath it.

use serde_json::Value;

use crate::findings::scene::{Scene, found, only};

fn report(log: &str) -> Value {
    Scene::default().beside("--nccl-log", "job.log", log).report()
}

fn verdicts(report: &Value) -> Vec<String> {
    let problems = report["verdicts"].as_array().unwrap().iter();
    let problems = problems.filter(|one| one["severity"] != "info");
    problems.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

const STARTED: &str = "n1:1:9 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n\
    n1:1:9 [0] NCCL INFO Using network IB\n\
    n1:1:9 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId 1a000 \
    commId 0x77 - Init START\n";

#[test]
fn consequences_are_beneath_the_cause() {
    let log = format!(
        "{STARTED}n1:1:20 [0] misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error \
         Cannot allocate memory\n\
         n1:1:20 [0] NCCL INFO transport/net_ib.cc:1110 -> 2\n\
         n1:1:20 [0] proxy.cc:1533 NCCL WARN [Proxy Service 0] Failed to execute operation Connect from \
         rank 0, retcode 2\n\
         n1:1:9 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer \
         n2<41109>\n\
         [rank0]:[E3 x.cpp:1] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, \
         OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds \
         before timing out.\n"
    );
    let report = report(&log);
    assert_eq!(verdicts(&report), ["locked_memory"]);
    let finding = only(&report, "locked_memory");
    assert_eq!(
        (&finding["severity"], &finding["evidence"][0]["line"]),
        (&"critical".into(), &4.into())
    );
    assert!(finding["remedy"].as_str().unwrap().contains("ulimit -l unlimited"));
    assert_eq!(finding["subject"]["rank"], 0);
    for id in ["proxy_failed", "peer_closed", "bootstrap_incomplete", "collective_timeout"] {
        let finding = only(&report, id);
        assert_eq!(
            (&finding["severity"], &finding["explained_by"]),
            (&"info".into(), &0.into()),
            "{id}"
        );
    }
}

#[test]
fn a_port_explains_the_retries_of_its_peers() {
    let log = "n1:1:20 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : mlx5_0:1 Got async event : port error\n\
               n2:5:20 [0] transport/net_ib.cc:1238 NCCL WARN NET/IB : Got completion from peer n1<37948> \
               with error 12, opcode 2, len 1, vendor err 129\n\
               n2:5:20 [0] transport/net_ib.cc:1238 NCCL WARN NET/IB : Got completion from peer n1<37948> \
               with error 5, opcode 2, len 1, vendor err 249\n";
    let report = report(log);
    assert_eq!(verdicts(&report), ["port_down"]);
    assert!(only(&report, "port_down")["title"].as_str().unwrap().starts_with("n1: "));
    assert_eq!(only(&report, "retry_exceeded")["severity"], "info");
    assert_eq!(only(&report, "flushed")["severity"], "info");
}

#[test]
fn events_of_queue_pairs_are_not_ports() {
    for event in
        ["invalid request local work queue error", "local access violation work queue error"]
    {
        let log = format!(
            "n1:1:2 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : mlx5_1:1 async fatal event on QP \
             (0x7f): {event}\n"
        );
        assert_eq!(verdicts(&report(&log)), ["queue_pair_event"], "{event}");
    }
}

#[test]
fn a_rank_behind_the_others_is_the_news() {
    let line = |rank: u32, number: u64| {
        format!(
            "[E ProcessGroupNCCL.cpp:458] [Rank {rank}] Watchdog caught collective operation timeout: \
             WorkNCCL(SeqNum={number}, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800100 \
             milliseconds before timing out.\n"
        )
    };
    let behind = report(&[line(0, 9120), line(0, 9117), line(3, 6401), line(1, 9117)].concat());
    let finding = only(&behind, "collective_timeout");
    let title = finding["title"].as_str().unwrap();
    assert!(title.starts_with("rank 3 timed out behind the others: in ALLREDUCE 6,401"), "{title}");
    assert!(title.contains("ranks 0 and 1 are at ALLREDUCE 9,117"), "{title}");
    assert_eq!(finding["subject"]["rank"], 3);
    let together = report(&[line(0, 412), line(1, 412)].concat());
    let title = only(&together, "collective_timeout")["title"].as_str().unwrap().to_owned();
    assert!(title.contains("all that report are in the same collective"), "{title}");
}

#[test]
fn the_last_error_that_pytorch_quotes_is_read() {
    let log = "[rank0]: torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled system \
               error, NCCL version 2.21.5\n\
               [rank0]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed\n\
               [rank0]: Last error:\n\
               [rank0]: socketStartConnect: Connect to 10.0.0.4<56849> failed : Connection refused\n";
    assert_eq!(verdicts(&report(log)), ["nobody_listens"]);
}

#[test]
fn launchers_and_the_kernel_are_read() {
    for (line, verdict) in [
        (
            "Mar  3 10:00:01 n7 kernel: NVRM: Xid (PCI:0000:1a:00): 79, GPU has fallen off the bus.",
            "gpu_failed",
        ),
        (
            "Mar  3 10:00:01 n7 kernel: Out of memory: Killed process 41 (python) total-vm:1kB",
            "oom_killed",
        ),
        ("[12.5] mlx5_core 0000:0c:00.0 eth2: Link down", "port_down"),
        (
            "[812.5] pcieport 0000:0a:01.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link Layer",
            "pcie_failed",
        ),
        (
            "[812.5] mlx5_core 0000:0c:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer",
            "pcie_errors",
        ),
        (
            "[812.5] NVRM: Xid (PCI:0000:1a:00): 154, GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)",
            "gpu_recovery",
        ),
        ("srun: error: n7: task 12: Exited with exit code 1", "process_failed"),
        (
            "E failed (exitcode: -11) local_rank: 3 (pid: 41) of binary: /usr/bin/python",
            "process_failed",
        ),
        (
            "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients.",
            "rendezvous_failed",
        ),
    ] {
        assert_eq!(verdicts(&report(&format!("{line}\n"))), [verdict], "{line}");
    }
}

#[test]
fn sockets_on_one_host_are_no_problem() {
    let log = |nranks: u32| {
        format!(
            "n1:1:9 [0] NCCL INFO NET/IB : No device found.\n\
             n1:1:9 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n\
             n1:1:9 [0] NCCL INFO Using network Socket\n\
             n1:1:9 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks {nranks} cudaDev 0 nvmlDev 0 \
             busId 1a000 commId 0x77 - Init COMPLETE\n"
        )
    };
    assert!(found(&report(&log(1)), "socket_fallback").is_empty());
    assert_eq!(only(&report(&log(8)), "socket_fallback")["severity"], "info");
    assert_eq!(only(&report(&log(16)), "socket_fallback")["severity"], "warning");
    let across = log(8)
        + "n2:1:9 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 1 nranks 8 cudaDev 0 nvmlDev 0 busId 1a000 \
           commId 0x77 - Init COMPLETE\n";
    assert_eq!(only(&report(&across), "socket_fallback")["severity"], "critical");
}

#[test]
fn processes_that_contradict_each_other() {
    let log = "n1:1:9 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n\
               n1:1:9 [0] NCCL INFO Using network IB\n\
               n1:1:9 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n\
               n2:1:9 [0] NCCL INFO Using network Socket\n";
    let report = report(log);
    for id in ["networks_differ", "link_layers_mixed", "gpu_direct_off"] {
        only(&report, id);
    }
    let title = only(&report, "networks_differ")["title"].as_str().unwrap().to_owned();
    assert!(title.ends_with("IB on n1, but Socket on n2"), "{title}");
}

#[test]
fn a_failed_call_without_a_warning() {
    let log =
        "n1:1:9 [0] NCCL INFO transport/net.cc:357 -> 2\nn1:1:9 [0] NCCL INFO proxy.cc:198 -> 2\n";
    assert_eq!(verdicts(&report(log)), ["call_failed"]);
    let in_progress = "n1:1:9 [0] NCCL INFO init.cc:1 -> 7\n";
    assert!(verdicts(&report(in_progress)).is_empty());
}

#[test]
fn nothing_read_is_not_nothing_wrong() {
    let report = report("a line of another program\n");
    let verdicts = report["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), 1);
    assert_eq!(verdicts[0]["id"], "not_enough_seen");
}

/// The watchdog of a rank, at 8 ranks of a group.
fn timed_out(rank: u32) -> String {
    format!(
        "[rank{rank}]:[E419 10:42:28 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective \
         operation timeout: WorkNCCL(SeqNum=44, OpType=ALLTOALL, NumelIn=4, NumelOut=4, \
         Timeout(ms)=600000) ran for 600013 milliseconds before timing out.\n"
    )
}

const STUCK: &str = "[rank2]:[E419 10:53:25 ProcessGroupNCCL.cpp:1484] [PG ID 2 PG GUID 9 Rank 2] \
    ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress\n";

#[test]
fn a_watchdog_that_hangs_after_a_timeout_follows_from_it() {
    let after = [&timed_out(2), STUCK].concat();
    assert_eq!(verdicts(&report(&after)), ["collective_timeout"]);
    assert_eq!(only(&report(&after), "watchdog_stuck")["severity"], "info");
    // Another rank's time-out, or a later one, explains nothing.
    for text in [[&timed_out(3), STUCK].concat(), [STUCK, &timed_out(2)].concat()] {
        assert_eq!(verdicts(&report(&text)), ["watchdog_stuck"], "{text}");
    }
}

#[test]
fn ranks_that_report_nothing_are_named_where_most_report() {
    let most: String = [2, 3, 4, 6, 7].map(timed_out).concat();
    let title = only(&report(&most), "collective_timeout")["title"].to_string();
    assert!(title.contains("ranks 0, 1 and 5 report nothing"), "{title}");
    let few: String = [5, 6].map(timed_out).concat();
    let title = only(&report(&few), "collective_timeout")["title"].to_string();
    assert!(title.contains("a rank that does not report"), "{title}");
}

#[test]
fn ranks_that_wait_for_one_value_wait_for_no_data() {
    let one = |elements: u64, limit: u64| {
        let text = timed_out(2).replace("ALLTOALL", "ALLREDUCE");
        let text = text.replace("NumelIn=4,", &format!("NumelIn={elements},"));
        let text = text.replace("Timeout(ms)=600000", &format!("Timeout(ms)={limit}"));
        let finding = only(&report(&text), "collective_timeout").clone();
        let word = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        (word("cause"), word("title"), word("remedy"))
    };
    let (cause, title, remedy) = one(1, 600_000);
    assert_eq!(cause, "one_value");
    assert!(title.contains(", PyTorch's own limit: a barrier, or a single value"), "{title}");
    assert!(remedy.contains("DEEPSPEED_TIMEOUT"), "{remedy}");
    let (cause, title, _) = one(1, 3_600_000);
    assert!(cause == "one_value" && !title.contains("own limit"), "{title}");
    let (cause, title, remedy) = one(64, 600_000);
    assert!(cause.is_empty() && !title.contains("a barrier"), "{title}");
    assert!(remedy.starts_with("Look at the rank that is behind"), "{remedy}");
}

#[test]
fn bridges_that_redirect_are_told_from_those_that_could() {
    let off =
        "ACSCtl: SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-";
    let capable =
        "ACSCap: SrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+";
    let on = "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-";
    for (line, expected) in [(off, vec![]), (capable, vec![]), (on, vec!["acs_redirects"])] {
        assert_eq!(
            verdicts(&report(&format!("{STARTED}{line}\n")))
                .iter()
                .filter(|id| *id != "bootstrap_incomplete")
                .collect::<Vec<_>>(),
            expected,
            "{line}"
        );
    }
}
