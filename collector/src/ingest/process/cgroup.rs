//! `/proc/PID/cgroup`: which container, pod or Slurm job a process belongs to, from the names that
//! container runtimes and Slurm give to control groups.
//!
//! ```text
//! kubelet, systemd    /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<UID>.slice/cri-containerd-<ID>.scope
//! kubelet, cgroupfs   /kubepods/burstable/pod<UID>/<ID>
//! mixed up            /system.slice/containerd.service/kubepods-besteffort-pod<UID>.slice:cri-containerd:<ID>
//! CRI-O               .../crio-<ID>.scope/container
//! Docker              /docker/<ID>, /system.slice/docker-<ID>.scope
//! Podman              /machine.slice/libpod-<ID>.scope/container
//! Slurm, v1           /slurm/uid_1000/job_4711/step_0/task_3
//! Slurm, v2           /system.slice/slurmstepd.scope/job_4711/step_0/user/task_3
//! ```
//!
//! systemd's names have `_` where a UID has `-`. Version 1 has one path for each hierarchy, and some of
//! them may name nothing.

use railscope_core::model::process::{Container, Runtime, SlurmTask};

/// What a process belongs to, by these names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// Its container.
    pub container: Option<Container>,
    /// UID of its pod.
    pub pod: Option<String>,
    /// Its job's task.
    pub slurm: Option<SlurmTask>,
}

/// Prefixes of containers' names. In the names of container monitors (`crio-conmon-<ID>.scope`) no id
/// follows them.
const RUNTIMES: [(&str, Runtime); 5] = [
    ("cri-containerd", Runtime::Containerd),
    ("nerdctl", Runtime::Containerd),
    ("crio", Runtime::Crio),
    ("docker", Runtime::Docker),
    ("libpod", Runtime::Podman),
];

/// Bytes of a step's name: `interactive` is the longest of Slurm.
const SLURM_STEP_LIMIT: usize = 32;

impl Membership {
    /// From the lines of the file, each `hierarchy:controllers:path`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut all = Self::default();
        for path in text.lines().filter_map(|line| line.splitn(3, ':').nth(2)) {
            let one = Self::of_path(path);
            all.container = all.container.or(one.container);
            all.pod = all.pod.or(one.pod);
            all.slurm = match (all.slurm, one.slurm) {
                // The hierarchy that names the task is the most detailed.
                (Some(known), Some(other)) if depth(&known) >= depth(&other) => Some(known),
                (known, other) => other.or(known),
            };
        }
        all
    }

    fn of_path(path: &str) -> Self {
        let mut found = Self { slurm: slurm_task(path), ..Self::default() };
        let mut above = "";
        // runc keeps the colons of `SLICE:PREFIX:ID` where the runtime uses systemd and the kubelet
        // does not.
        for name in path.split(['/', ':']) {
            let name = ["slice", "scope"]
                .iter()
                .find_map(|end| name.strip_suffix(end)?.strip_suffix('.'))
                .unwrap_or(name);
            if found.pod.is_none() {
                found.pod = pod(name);
            }
            // For a container in a container, the outer one counts.
            if found.container.is_none() {
                found.container = container(name, above, found.pod.is_some());
            }
            above = name;
        }
        found
    }
}

/// The UID in `pod<UID>` and `kubepods-besteffort-pod<UID>`: that of an object, or the hash of a
/// static pod's manifest.
fn pod(name: &str) -> Option<String> {
    let uid = match name.rsplit_once("-pod") {
        Some((above, uid)) if above.contains("kubepods") => uid,
        _ => name.strip_prefix("pod")?,
    };
    let uid = uid.replace('_', "-");
    let is_hexadecimal = uid.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    (is_hexadecimal && matches!(uid.len(), 32 | 36)).then_some(uid)
}

fn container(name: &str, above: &str, is_in_pod: bool) -> Option<Container> {
    let runtime_of = |prefix: &str| {
        RUNTIMES.iter().find(|(known, _)| *known == prefix).map(|(_, runtime)| *runtime)
    };
    let (prefix, id) = name.rsplit_once('-').unwrap_or((above, name));
    let is_id = id.len() == 64 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let runtime = runtime_of(prefix);
    // A bare id is a container's if its parent is a pod or a runtime.
    let is_container = is_id && (runtime.is_some() || (is_in_pod && id == name));
    is_container.then(|| Container { id: id.to_owned(), runtime })
}

fn slurm_task(path: &str) -> Option<SlurmTask> {
    let mut names = path.split('/').filter(|name| !name.is_empty());
    // `slurm`, `slurm_<node>` with several daemons on a host, `slurmstepd.scope`,
    // `<node>_slurmstepd.scope`.
    names.find(|name| {
        *name == "slurm" || name.starts_with("slurm_") || name.ends_with("slurmstepd.scope")
    })?;
    let mut task = None;
    for name in names {
        if let Some(job) = name.strip_prefix("job_") {
            let job = job.parse().ok()?;
            task = Some(SlurmTask {
                job,
                slurm_step: None,
                local_task: None,
                task: None,
                name: None,
                array: None,
            });
        } else if let (Some(task), Some(text)) = (&mut task, name.strip_prefix("step_")) {
            task.slurm_step = slurm_step(text).or(task.slurm_step.take());
        } else if let (Some(task), Some(number)) = (&mut task, name.strip_prefix("task_")) {
            // `task_special` is for Slurm's own processes.
            task.local_task = number.parse().ok();
        }
    }
    task
}

/// A step as Slurm writes it: its number or name, and `NUMBER+PART` in a heterogeneous job. A user may have
/// control groups of any names.
fn slurm_step(text: &str) -> Option<String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+');
    (is_plain && (1..=SLURM_STEP_LIMIT).contains(&text.len())).then(|| text.to_owned())
}

fn depth(task: &SlurmTask) -> u8 {
    u8::from(task.slurm_step.is_some()) + u8::from(task.local_task.is_some())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "4b3e6c1d9f70a852be41c6d7e8f9012a3b4c5d6e7f8091a2b3c4d5e6f7a8b9c0";
    const UID: &str = "57e67067-89e4-4001-bdd4-8632d39ea02b";

    /// The membership of a path in which `ID` and `UID` (systemd's: `UID_`) are filled in.
    fn named(path: &str) -> String {
        let path = path.replace("ID", "\u{1}").replace("U\u{1}_", &UID.replace('-', "_"));
        let path = path.replace("U\u{1}", UID).replace('\u{1}', ID);
        let Membership { container, pod, slurm } = Membership::parse(&format!("0::{path}\n"));
        let container = container.map(|one| {
            assert_eq!(one.id, ID, "{path}");
            one.runtime.map_or("some runtime", Runtime::name)
        });
        let pod = pod.map(|uid| {
            assert_eq!(uid, UID, "{path}");
            "pod".to_owned()
        });
        let slurm = slurm.map(|one| {
            let task = one.local_task.map(|task| format!(".{task}")).unwrap_or_default();
            format!("job {}.{}{task}", one.job, one.slurm_step.unwrap_or_default())
        });
        [container.map(str::to_owned), pod, slurm]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", ")
    }

    #[test]
    fn the_forms_that_are_in_use() {
        let forms = [
            (
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID_.slice/cri-containerd-ID.scope",
                "containerd, pod",
            ),
            ("/kubepods.slice/kubepods-podUID_.slice/cri-containerd-ID.scope", "containerd, pod"),
            (
                "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podUID_.slice/crio-ID.scope",
                "cri-o, pod",
            ),
            (
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID_.slice/crio-ID.scope/container",
                "cri-o, pod",
            ),
            (
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID_.slice/crio-conmon-ID.scope",
                "pod",
            ),
            (
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID_.slice/docker-ID.scope",
                "docker, pod",
            ),
            ("/kubepods/burstable/podUID/ID", "some runtime, pod"),
            ("/kubepods/podUID/crio-ID", "cri-o, pod"),
            (
                "/system.slice/containerd.service/kubepods-besteffort-podUID_.slice:cri-containerd:ID",
                "containerd, pod",
            ),
            // A node of kind, and a look from inside another control group.
            (
                "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podUID_.slice/cri-containerd-ID.scope",
                "containerd, pod",
            ),
            ("/docker/ID/kubelet/kubepods/burstable/podUID/0123", "docker, pod"),
            ("/../../podUID/ID", "some runtime, pod"),
            ("/docker/ID", "docker"),
            ("/system.slice/docker-ID.scope", "docker"),
            ("/system.slice/nerdctl-ID.scope", "containerd"),
            ("/machine.slice/libpod-ID.scope/container", "podman"),
            ("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope", "podman"),
            ("/machine.slice/libpod-conmon-ID.scope", ""),
            ("/slurm/uid_1000/job_4711/step_0/task_3", "job 4711.0.3"),
            ("/slurm_node17/uid_1000/job_4711/step_batch/task_0", "job 4711.batch.0"),
            ("/system.slice/slurmstepd.scope/job_4711/step_0/user/task_3", "job 4711.0.3"),
            (
                "/system.slice/node17_slurmstepd.scope/job_4711/step_batch/user/task_special",
                "job 4711.batch",
            ),
            ("/system.slice/slurmstepd.scope/job_4711/step_extern/user", "job 4711.extern"),
            ("/system.slice/slurmstepd.scope/job_4711/step_0+1/user/task_0", "job 4711.0+1.0"),
            // Whoever may make control groups may give them any names.
            ("/user.slice/slurm/job_4711/step_\x1b[2J/task_3", "job 4711..3"),
            ("/user.slice/slurm/job_4711/step_/task_3", "job 4711..3"),
            ("/system.slice/slurmstepd.scope/job_4711/step_0/user/step_\u{202e}", "job 4711.0"),
            ("/system.slice/slurmstepd.scope/system", ""),
            ("/system.slice/jenkins.service/job_4711", ""),
            ("/user.slice/user-1000.slice/session-3.scope", ""),
            ("/system.slice/ssh.service", ""),
            ("/ID", ""),
            ("/", ""),
            ("", ""),
        ];
        for (path, expected) in forms {
            assert_eq!(named(path), expected, "{path}");
        }
    }

    #[test]
    fn version_1_names_a_job_in_some_hierarchies() {
        let text = format!(
            "12:cpuset:/slurm/uid_1000/job_4711\n11:rdma:/\n4:memory:/slurm/uid_1000/job_4711/step_2/task_1\n\
             3:cpu,cpuacct:/slurm/uid_1000/job_4711/step_2\n1:name=systemd:/docker/{ID}\n"
        );
        let Membership { container, pod, slurm } = Membership::parse(&text);
        let slurm = slurm.unwrap();
        assert_eq!(
            (slurm.job, slurm.slurm_step.as_deref(), slurm.local_task),
            (4711, Some("2"), Some(1))
        );
        assert_eq!((container.unwrap().runtime, pod), (Some(Runtime::Docker), None));
    }

    proptest! {
        #[test]
        fn anything_is_read(text in "[/:0-9a-z_.\\-\n]{0,200}", any in any::<String>()) {
            _ = Membership::parse(&text);
            _ = Membership::parse(&any);
        }
    }
}
