//! Two texts a thread of the same kind, without the fault: nothing may be found in them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::texts::{self, job, ras_json, ras_text, table};
use crate::support::railscope::PROGRAM;

/// A thread, and two sets of files.
type Variants = (&'static str, [Vec<String>; 2]);

const EPOCHS: &str = "[rank0]: epoch 1 done, loss 2.31\n[rank0]: epoch 2: step 1, loss 2.30\n";
const SAVED: &str = "[rank0]: saving model, 41 GB\n[rank0]: saved in 212 s\n";
const ENABLED: &str = "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'";

fn acs(bits: &str) -> String {
    format!("{}root@n0:~# lspci -vvv | grep ACS\n{bits}\n", table(2, 380.0))
}

fn one(text: String) -> Vec<String> {
    vec![text]
}

fn logs() -> Vec<Variants> {
    let set = |name: &str, value: u32| format!("{name} set by environment to {value}.");
    let efa = |extra: &str| {
        let log = job("2.21.5", "AWS Libfabric", "NET/OFI Initializing aws-ofi-nccl 1.14.2");
        one(format!("{log}n0:100:200 [0] NCCL INFO NET/OFI Selected Provider is efa{extra}\n"))
    };
    let spark = |extra: &str| job("2.30.7", "IB", extra).replace("mlx5_", "rocep1s0f");
    vec![
        (
            "nccl-2383",
            [
                one(job("2.30.7", "IB", &set("NCCL_GIN_TYPE", 3))),
                one(job("2.30.7", "IB", &set("NCCL_GIN_IB_TC", 236))),
            ],
        ),
        (
            "nccl-2353",
            [
                one(job("2.28.9", "IB", "") + texts::BUSY_STACKS),
                one(job("2.29.3", "IB", "") + "#0  0x01 ncclLocalOpAppend\n"),
            ],
        ),
        (
            "nccl-2013",
            [
                one(job("2.27.3", "IBext_v10", &set("NCCL_CROSS_NIC", 0))),
                one(job("2.27.3", "IB", "")),
            ],
        ),
        (
            "nccl-1814",
            [
                one(job("2.21.5", "IBext_v8", "")),
                one(job("2.21.5", "IBext_v8", &set("NCCL_IB_TIMEOUT", 22))),
            ],
        ),
        (
            "nccl-1939",
            [
                one(job("2.26.2", "IB", ENABLED)),
                one(format!(
                    "root@n0:~# lsmod | grep peermem\nnvidia_peermem 16384 0\n{}",
                    job("2.26.2", "IB", ENABLED)
                )),
            ],
        ),
        ("nccl-1676", [one(job("2.22.3", "IB", ENABLED)), one(job("2.23.4", "IB", ENABLED))]),
        (
            "nccl-1737",
            [
                one(job("2.24.3", "IBext_v8", ENABLED)),
                one(job("2.24.3", "IBext_v8", &set("NCCL_NET_GDR_LEVEL", 3))),
            ],
        ),
        (
            "nccl-2318",
            [
                one(job("2.30.7", "IB", "GIN/Plugin: Could not find: libnccl-gin.so")),
                one(job("2.30.7", "IB", "") + "#1  0x07 ncclDevCommCreate\n#0  0x06 cudaMalloc\n"),
            ],
        ),
        (
            "deepspeed-7533",
            [
                one(SAVED.to_owned() + &job("2.26.2", "IB", "")),
                one(job("2.26.2", "IB", "") + SAVED),
            ],
        ),
        (
            "verl-1158",
            [
                one(EPOCHS.to_owned() + &job("2.21.5", "IB", "")),
                one(job("2.21.5", "IB", "") + EPOCHS),
            ],
        ),
        ("spark-252", [one(spark("")), one(spark(&set("NCCL_IB_SUBNET_AWARE_ROUTING", 1)))]),
        ("aws-ofi-nccl-889", [efa(""), efa(" (found 4 nics)")]),
        (
            "aks-30",
            [
                one(job("2.25.1", "IB", "").replace("RoCE", "IB")),
                one(job(
                    "2.25.1",
                    "IB",
                    "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
                )),
            ],
        ),
    ]
}

fn others() -> Vec<Variants> {
    let acs_off =
        "ACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-";
    let capable =
        "ACSCap: SrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+";
    let moving = |ranks| {
        vec![ras_json(ranks, "2026-11-25 10:00:00", 40), ras_json(ranks, "2026-11-25 10:00:30", 90)]
    };
    vec![
        ("nccl-2409", [one(acs(acs_off)), one(acs(capable))]),
        ("nccl-tests-367", [one(table(64, 370.0)), one(table(4, 385.0))]),
        ("nccl-1730", [vec![ras_text(32), EPOCHS.to_owned()], one(ras_text(32))]),
        ("nccl-1911", [vec![ras_text(4), ras_text(4)], moving(8)]),
        ("vllm-48720", [moving(4), one(ras_json(4, "2026-11-25 10:00:00", 40))]),
        ("sglang-32928", [moving(2), one(ras_json(8, "2026-11-25 10:00:00", 7))]),
        (
            "pytorch-196968",
            [
                vec![texts::dump(0, 4), texts::dump(1, 4)],
                vec![texts::dump(0, 9), texts::dump(1, 9)],
            ],
        ),
        ("settings", [one(texts::QOS.to_owned()), one(texts::GIDS.to_owned())]),
        ("counters", [one(texts::ETHTOOL.to_owned()), one(texts::RDMA_STATISTIC.to_owned())]),
        ("ports", [one(texts::PORTS.to_owned()), one(texts::SYSFS.to_owned())]),
    ]
}

/// What is wrong according to the report on the files.
fn wrong(files: &[PathBuf]) -> Vec<String> {
    let output =
        Command::new(PROGRAM).args(["analyze", "--format", "json"]).args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bad = ["findings", "verdicts"]
        .into_iter()
        .flat_map(|section| report[section].as_array().unwrap());
    let bad = bad.filter(|one| one["severity"] != "info");
    bad.map(|one| format!("{} {}", one["id"], one["title"])).collect()
}

#[test]
fn nothing_is_found_without_the_fault() {
    let all: Vec<Variants> = logs().into_iter().chain(others()).collect();
    let folder = tempfile::tempdir().unwrap();
    for (thread, variants) in &all {
        for (number, texts) in variants.iter().enumerate() {
            let files: Vec<PathBuf> = (0..texts.len())
                .map(|at| folder.path().join(format!("{thread}-{number}-{at}.txt")))
                .collect();
            for (file, text) in files.iter().zip(texts) {
                fs::write(file, text).unwrap();
            }
            assert_eq!(wrong(&files), Vec::<String>::new(), "{thread} {number}: {texts:#?}");
        }
    }
    assert_eq!(all.len() * 2 + SEEDS.len(), 50);
}

/// Of jobs without a fault: for the two threads whose evidence is packets.
const SEEDS: [&str; 4] = ["1", "2", "3", "4"];

#[cfg(feature = "drive")]
#[test]
fn nothing_is_found_in_packets_without_the_fault() {
    for seed in SEEDS {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("clean");
        let made = Command::new(PROGRAM)
            .args(["simulate", "clean", "--seed", seed, "--out"])
            .arg(&out)
            .output()
            .unwrap();
        assert!(made.status.success());
        let files = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<PathBuf> =
            files.filter(|path| path.extension().is_some_and(|it| it == "pcapng")).collect();
        assert_eq!(wrong(&files), Vec::<String>::new(), "seed {seed}");
    }
}
