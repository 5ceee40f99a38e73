//! Logs of healthy jobs, in the forms of nine releases and of RCCL: no warning.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::findings::scene::{Scene, bad};
use crate::support::recording::Recording;
#[cfg(target_os = "linux")]
use crate::support::require;

/// How a release writes what differs.
struct Form {
    version: &'static str,
    has_hash: bool,
    has_nodes: bool,
    names_network: bool,
    edges: &'static str,
    init: &'static str,
}

// tidy: table
const FORMS: &[Form] = &[
    form("NCCL version 2.4.8+cuda10.1", false, false, false, "Ring", ""),
    form("NCCL version 2.7.8+cuda11.0", false, false, true, "Channel", ""),
    form("NCCL version 2.10.3+cuda11.3", false, false, true, "Channel", ""),
    form("NCCL version 2.14.3+cuda11.7", false, false, true, "Channel", ""),
    form("NCCL version 2.18.6+cuda12.1", true, false, true, "Channel", ""),
    form("NCCL version 2.21.5+cuda12.4", true, true, true, "Channel", "ncclCommInitRank "),
    form("NCCL version 2.24.3+cuda12.6", true, true, true, "Channel", "ncclCommInitRank "),
    form("NCCL version 2.27.5+cuda12.9", true, true, true, "Channel", "ncclCommInitRankConfig "),
    form("NCCL version 2.30.3+cuda13.0", true, true, true, "Channel", "ncclCommInitRankConfig "),
    form("RCCL version : 2.22.3-HEAD:abcdef0", true, true, true, "Channel", "ncclCommInitRank "),
];

const fn form(
    version: &'static str,
    has_hash: bool,
    has_nodes: bool,
    names_network: bool,
    edges: &'static str,
    init: &'static str,
) -> Form {
    Form { version, has_hash, has_nodes, names_network, edges, init }
}

/// Hosts, ranks per host, the network, and a prefix of the launcher.
// tidy: table
const JOBS: &[(u32, u32, &str, &str)] = &[
    (1, 4, "Socket", ""),
    (2, 2, "IB", "[1,0]<stdout>:"),
    (2, 4, "IB", "3: "),
    (4, 1, "AWS Libfabric", "\u{1b}[36m(Worker pid=1)\u{1b}[0m "),
    (1, 1, "Socket", "2026-01-02T03:04:05.123456789Z stdout F "),
];

#[test]
fn healthy_jobs_have_no_warning() {
    let mut logs = 0;
    for form in FORMS {
        for job in JOBS {
            let log = log(form, job);
            let report = Scene::default().beside("--nccl-log", "job.log", &log).report();
            let what = format!("{} {job:?}", form.version);
            assert_eq!(bad(&report), [""; 0], "{what}");
            let problems = report["verdicts"].as_array().unwrap().iter();
            assert!(problems.into_iter().all(|one| one["severity"] == "info"), "{what}");
            let communicators = report["communicators"].as_array().unwrap();
            assert_eq!(communicators.len(), 1, "{what}: {communicators:?}");
            assert_eq!(communicators[0]["nranks"], job.0 * job.1, "{what}");
            let ranks = communicators[0]["ranks"].as_array().unwrap();
            assert_eq!(ranks.len(), (job.0 * job.1) as usize, "{what}");
            assert_eq!(report["logs"]["unparsed"].as_array().unwrap().len(), 0, "{what}");
            logs += 1;
        }
    }
    assert_eq!(logs, 50);
}

/// Of recordings of real NCCL.
#[test]
fn logs_of_recorded_jobs_have_no_warning() {
    for run in [
        "allgather-2.27.5",
        "alltoall-2.27.5",
        "async-clean-2.27.5",
        "fsdp-2.27.5",
        "ipv6gid-2.27.5",
        "multigpu-2n2g-2.27.5",
        "normalgpu-2.28.9",
        "qps2-2.21.5",
        "rails-2n2g2nic-2.27.5",
        "ring-2.18.6",
        "ring-2.30.7",
        "split-2.27.5",
        "tree-2.27.5",
        "twopairs-2.27.5",
    ] {
        let recording = Recording::unpack(run);
        assert_healthy(recording.folder(), run);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn logs_of_a_driven_job_have_no_warning() {
    let test = "logs_of_a_driven_job_have_no_warning";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut drive = Command::new(env!("CARGO_BIN_EXE_railscope"));
    drive.args(["drive", "--ranks", "3", "--iterations", "2", "--buckets", "64KiB"]);
    let output = drive.arg("--record").arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_healthy(folder.path(), "drive");
}

/// The report on the logs alone.
fn assert_healthy(folder: &Path, what: &str) {
    let mut analyze = Command::new(env!("CARGO_BIN_EXE_railscope"));
    let options = ["analyze", "--format", "json", "--nccl-log", "logs/*"];
    let output = analyze.args(options).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(bad(&report), [""; 0], "{what}");
    let verdicts = report["verdicts"].as_array().unwrap();
    assert!(verdicts.iter().all(|one| one["severity"] == "info"), "{what}: {verdicts:?}");
    assert_ne!(report["communicators"].as_array().unwrap().len(), 0, "{what}");
}

fn log(form: &Form, (hosts, local, network, prefix): &(u32, u32, &str, &str)) -> String {
    let nranks = hosts * local;
    let mut text = format!("{prefix}{}\n", form.version);
    let mut all = |rank: u32, line: String| {
        let host = rank / local + 1;
        text += &format!(
            "{prefix}n{host}:{}:{} [{}] NCCL INFO {line}\n",
            100 + rank,
            900 + rank,
            rank % local
        );
    };
    for rank in 0..nranks {
        let host = rank / local + 1;
        all(rank, format!("Bootstrap : Using eth0:10.0.0.{host}<0>"));
        match *network {
            "IB" => all(
                rank,
                format!("NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.{host}<0>"),
            ),
            "Socket" => {
                all(rank, "NET/IB : No device found.".to_owned());
                all(rank, format!("NET/Socket : Using [0]eth0:10.0.0.{host}<0>"));
            }
            _ => all(rank, "NET/OFI Selected Provider is efa (found 4 nics)".to_owned()),
        }
        if form.names_network {
            all(rank, format!("Using network {network}"));
        }
        if form.has_nodes {
            all(
                rank,
                format!(
                    "comm 0x{rank}1 rank {rank} nRanks {nranks} nNodes {hosts} localRanks {local} \
                     localRank {} MNNVL 0",
                    rank % local
                ),
            );
        }
    }
    for rank in 0..nranks {
        let next = (rank + 1) % nranks;
        let gpu = |rank: u32| format!("{:x}", 0x1a000 + (rank % local) * 0x1000);
        let (own, other) = match form.has_hash {
            true => ((rank % local).to_string(), (next % local).to_string()),
            false => (gpu(rank), gpu(next)),
        };
        let (index, ends) = match form.edges {
            "Ring" => ("", [rank.to_string(), next.to_string()]),
            _ if form.has_hash => ("/0", [format!("{rank}[{own}]"), format!("{next}[{other}]")]),
            _ => ("", [format!("{rank}[{own}]"), format!("{next}[{other}]")]),
        };
        if nranks > 1 {
            let via = match rank / local == next / local {
                true => "via P2P/IPC".to_owned(),
                false => format!("[send] via NET/{network}/0"),
            };
            all(rank, format!("{} 00{index} : {} -> {} {via}", form.edges, ends[0], ends[1]));
        }
    }
    for rank in 0..nranks {
        let gpu = format!("{:x}", 0x1a000 + (rank % local) * 0x1000);
        let hash = if form.has_hash { " commId 0x77aa" } else { "" };
        let nvml = if form.has_hash { format!(" nvmlDev {}", rank % local) } else { String::new() };
        all(
            rank,
            format!(
                "{}comm 0x{rank}1 rank {rank} nranks {nranks} cudaDev {}{nvml} busId {gpu}{hash} - Init \
                 COMPLETE",
                form.init,
                rank % local
            ),
        );
    }
    text
}
