//! Processes of made-up nodes, and this one.

use railscope::ingest::process::{ProcessError, Processes};
use railscope_core::model::process::{ProcessId, Runtime};

use crate::support::tree::Tree;

pub(super) const ID: &str = "4b3e6c1d9f70a852be41c6d7e8f9012a3b4c5d6e7f8091a2b3c4d5e6f7a8b9c0";

pub(super) const UID: &str = "57e67067-89e4-4001-bdd4-8632d39ea02b";

/// The `stat` line of a process that started at this tick.
fn stat(pid: u32, name: &str, start_ticks: u64) -> String {
    format!(
        "{pid} ({name}) S 1 2 3 0 -1 4194560 6 7 8 9 10 11 12 13 20 0 1 0 {start_ticks} 16 17 18"
    )
}

pub(super) fn node(
    pid: u32,
    start_ticks: u64,
    cgroup: &str,
    environment: &str,
) -> (Tree, Processes) {
    let stat = stat(pid, "python3 -m (x)", start_ticks);
    let text =
        format!("{pid}/stat = {stat}\n{pid}/cgroup = {cgroup}\n{pid}/environ = {environment}\n");
    let tree = Tree::new([text.as_str()]);
    let processes = Processes::new(tree.root());
    (tree, processes)
}

#[test]
fn a_rank_in_a_pod() {
    let cgroup = format!(
        "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod57e67067_89e4_4001_bdd4_8632d39ea02b.slice/\
         cri-containerd-{ID}.scope"
    );
    let (_tree, processes) = node(31_337, 555, &cgroup, "RANK=3\\0HOME=/root\\0");
    let process = processes.identify(31_337).unwrap();
    assert_eq!(process.id, ProcessId { pid: 31_337, start_ticks: 555 });
    assert_eq!(process.name, "python3 -m (x)");
    let container = process.container.unwrap();
    assert_eq!((container.id.as_str(), container.runtime), (ID, Some(Runtime::Containerd)));
    assert_eq!(process.pod.as_deref(), Some("57e67067-89e4-4001-bdd4-8632d39ea02b"));
    assert_eq!(process.slurm, None);
}

/// The kubelet's names, as nodes with containerd and CRI-O have them.
#[test]
fn pods_and_containers_have_the_names_of_their_logs() {
    let other = ID.replace('4', "5");
    let cgroup = format!("0::/kubepods/burstable/pod{UID}/{ID}");
    let (tree, processes) = node(31_337, 555, &cgroup, "");
    let named = || {
        let processes = processes.clone().naming_pods(tree.root().join("log"));
        let names = processes.identify(31_337).unwrap().pod_names?;
        Some(format!("{}/{} {:?}", names.namespace, names.pod, names.container))
    };
    // No kubelet on this host, or its logs are not mounted.
    assert_eq!(named(), None);
    tree.write("log/pods/kube-system_etcd-node17_0c1d53cd0b4fa0e5f3c4d3a1bb9f7d5e/etcd/0.log", "");
    tree.write(&format!("log/containers/dns-7c65d6cfc9-x2x7k_kube-system_dns-{other}.log"), "");
    assert_eq!(named(), None);
    tree.write(&format!("log/pods/ml-team_llama-worker-3_{UID}/trainer/0.log"), "");
    assert_eq!(named().unwrap(), "ml-team/llama-worker-3 None");
    tree.write(&format!("log/containers/llama-worker-3_ml-team_trainer-{ID}.log"), "");
    assert_eq!(named().unwrap(), "ml-team/llama-worker-3 Some(\"trainer\")");
    // Without a folder nothing is read.
    assert_eq!(processes.identify(31_337).unwrap().pod_names, None);
    // A static pod: its UID is the hash of its manifest.
    let etcd = "0::/kubepods/burstable/pod0c1d53cd0b4fa0e5f3c4d3a1bb9f7d5e";
    tree.write("31337/cgroup", etcd);
    assert_eq!(named().unwrap(), "kube-system/etcd-node17 None");
    // A process outside pods.
    tree.write("31337/cgroup", "0::/system.slice/ssh.service");
    assert_eq!(named(), None);
}

#[test]
fn a_rank_of_a_slurm_job() {
    let variables = "SLURM_JOB_ID=4711\\0SLURM_STEP_ID=0\\0SLURM_PROCID=11\\0SLURM_LOCALID=3\\0\
                     SLURM_JOB_NAME=llama pretrain\\0SLURM_ARRAY_JOB_ID=4700\\0SLURM_ARRAY_TASK_ID=8\\0";
    let cgroup = "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_3";
    let (_tree, processes) = node(9, 1, cgroup, variables);
    let task = processes.identify(9).unwrap().slurm.unwrap();
    assert_eq!((task.job, task.slurm_step.as_deref(), task.task), (4711, Some("0"), Some(11)));
    assert_eq!((task.local_task, task.array), (Some(3), Some((4700, 8))));
    assert_eq!(task.name.as_deref(), Some("llama pretrain"));
    // Started by hand from a shell in another job: the kernel's control group wins.
    let (_tree, processes) =
        node(9, 1, "0::/system.slice/slurmstepd.scope/job_5000/step_extern/user", variables);
    let task = processes.identify(9).unwrap().slurm.unwrap();
    assert_eq!((task.job, task.slurm_step.as_deref(), task.task), (5000, Some("extern"), None));
    // A site without control groups for jobs: only the environment has the job.
    let (_tree, processes) = node(9, 1, "0::/", "SLURM_JOBID=12\\0SLURM_STEPID=4294967291\\0");
    let task = processes.identify(9).unwrap().slurm.unwrap();
    assert_eq!((task.job, task.slurm_step.as_deref(), task.task), (12, Some("batch"), None));
    // The environment of another user's process.
    let (tree, processes) = node(9, 1, cgroup, "");
    std::fs::remove_file(tree.root().join("9/environ")).unwrap();
    let process = processes.identify(9).unwrap();
    assert!(!process.is_environment_known);
    let task = process.slurm.unwrap();
    assert_eq!((task.job, task.local_task, task.task), (4711, Some(3), None));
}

#[test]
fn a_number_that_was_given_anew_is_noticed() {
    let (tree, processes) = node(77, 1000, "0::/", "");
    let before = processes.identify(77).unwrap().id;
    processes.confirm(before).unwrap();
    tree.write("77/stat", &stat(77, "other", 2000));
    assert!(matches!(processes.confirm(before), Err(ProcessError::Reused(77))));
    std::fs::remove_dir_all(tree.root().join("77")).unwrap();
    assert!(matches!(processes.confirm(before), Err(ProcessError::Gone(77))));
    tree.write("78/stat", "nonsense");
    assert!(matches!(processes.identify(78), Err(ProcessError::Unreadable { pid: 78, .. })));
}

#[test]
fn this_process() {
    let processes = Processes::new("/proc");
    let process = processes.identify(std::process::id()).unwrap();
    assert!(process.is_environment_known);
    assert!(process.id.start_ticks > 0);
    // Threads are named after their test, the process after the program.
    assert!(std::env::current_exe().unwrap().to_string_lossy().contains(&process.name[..5]));
    processes.confirm(process.id).unwrap();
}
