//! A rank has the names of its pod and job: its control group is real, the kubelet is not.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Child;

use railscope_testbed::clock::eventually;

use super::agent::{Agent, value};
use super::stage::{Stage, start};
use crate::support::kubelet::{Answer, FakeKubelet, PODS, page};
use crate::support::require;

const PROGRAM: &str = env!("CARGO_BIN_EXE_railscope");
const ID: &str = "4b3e6c1d9f70a852be41c6d7e8f9012a3b4c5d6e7f8091a2b3c4d5e6f7a8b9c0";
const UID: &str = "57e67067-89e4-4001-bdd4-8632d39ea02b";

/// A control group as the kubelet makes it for a container; it is removed on drop.
struct ControlGroup {
    path: PathBuf,
    root: PathBuf,
}

impl ControlGroup {
    /// In the hierarchy of version 2; `None`, with a message, if there is none that may be written to.
    fn make(test: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let mounted = mounts.find(|mount| mount.get(2) == Some(&"cgroup2"));
        let root = mounted.map(|mount| {
            PathBuf::from(mount[1]).join(format!("railscope-test-{}", std::process::id()))
        });
        let group = root.map(|root| {
            let path = root.join("kubepods/burstable").join(format!("pod{UID}")).join(ID);
            Self { path, root }
        });
        let group = group.filter(|group| fs::create_dir_all(&group.path).is_ok());
        if group.is_none() {
            require::lacks(test, "a writable hierarchy of control groups, version 2");
        }
        group
    }

    fn take(&self, process: &Child) {
        fs::write(self.path.join("cgroup.procs"), process.id().to_string()).unwrap();
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // A group can be removed when its last process is gone, one after the other from the innermost.
        let is_inside = |path: &&std::path::Path| path.starts_with(&self.root);
        let all = self.path.ancestors().take_while(is_inside);
        all.for_each(|folder| _ = fs::remove_dir(folder));
    }
}

#[test]
fn a_rank_has_the_names_of_its_pod_and_job() {
    let test = "a_rank_has_the_names_of_its_pod_and_job";
    let Some(stage) = Stage::set(test) else { return };
    let Some(group) = ControlGroup::make(test) else { return };
    let kubelet = FakeKubelet::listing(PODS);
    // Nothing is in the folder of the kubelet's logs.
    let logs = format!("host.logs=\"{}\"", stage.0.path().display());
    let mut agent = Agent::start(&[PROGRAM], &[&logs, &kubelet.setting()]);
    agent.says("metrics: http://");
    assert_eq!(kubelet.asked.recv().unwrap(), "GET /pods HTTP/1.1");

    let mut command = stage.rank();
    command.env("SLURM_JOB_ID", "4711").env("SLURM_JOB_NAME", "llama pretrain");
    let mut rank = start(command.env("SLURM_PROCID", "2"));
    group.take(&rank);
    agent.says(&format!("calls of {} are seen", stage.library().display()));
    rank.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    let said = agent.says(&format!("rank 2 of 4 is process {}", rank.id()));
    let names = format!(
        ", container trainer (4b3e6c1d9f70), pod ml-team/llama-worker-3 ({UID}), \
         Slurm job 4711 (llama pretrain), task 2"
    );
    assert!(said.ends_with(&names), "{said}");
    drop(rank.stdin.take());
    assert!(rank.wait().unwrap().success());
}

#[test]
fn a_kubelet_that_refuses_is_counted() {
    let test = "a_kubelet_that_refuses_is_counted";
    if !require::root(test) {
        return;
    }
    let kubelet = FakeKubelet::start(Answer::Bytes(page("403 Forbidden", "Forbidden")));
    let mut agent = Agent::start(&[PROGRAM], &[&kubelet.setting()]);
    agent.says("the kubelet's pods: it answers 403 Forbidden");
    eventually("the list is counted as unread", || {
        let metrics = agent.metrics();
        let unread = value(&metrics, "railscope_health_events", &["\"pods.unread_lists\""]);
        unread.is_some_and(|unread| unread >= 1.0)
    });
}
