//! Containers, pods and Slurm jobs of processes: other sources and the page `/queue_pairs.json` look a
//! process up in `/proc` when they meet it. Only the kubelet's list of pods is read here.

pub(super) mod ended;

mod needs;
mod pods;

use self::pods::PodNames;
use super::contract::{Context, Opened, Opening, Source};
use crate::config::SourceConfig;
use crate::ingest::capability::{Host, Verdict};
use crate::ingest::kubelet::Kubelet;
use railscope_core::model::process::Process;

/// The source.
pub(super) struct Processes;

impl Source for Processes {
    fn key(&self) -> &'static str {
        "sources.processes"
    }

    fn is_on(&self, on: SourceConfig) -> bool {
        on.processes
    }

    fn needs(&self, host: &Host) -> Vec<Verdict> {
        vec![needs::needs(host)]
    }

    fn open(&self, opening: &Opening<'_>, _: &mut Context<'_>) -> Opened {
        match opening.config.host.kubelet.as_ref().zip(opening.processes.pod_list()) {
            Some((url, list)) => {
                let kubelet = Kubelet::at(url.authority());
                Opened::Beside(Box::new(PodNames::new(kubelet, list.clone())))
            }
            None => Opened::Nothing,
        }
    }
}

/// Name, container, pod and Slurm task, if known.
pub(super) fn describe(process: &Process) -> String {
    let container = process.container.as_ref().map(|container| {
        let short = container.id.get(..12).unwrap_or(&container.id);
        let name = process.pod_names.as_ref().and_then(|names| names.container.as_deref());
        name.map_or(format!("container {short}"), |name| format!("container {name} ({short})"))
    });
    let pod = process.pod.as_ref().map(|uid| match &process.pod_names {
        Some(names) => format!("pod {}/{} ({uid})", names.namespace, names.pod),
        None => format!("pod {uid}"),
    });
    let slurm = process.slurm.as_ref().map(|slurm| {
        let task = slurm.task.map(|task| format!(", task {task}")).unwrap_or_default();
        let name = slurm.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        format!("Slurm job {}{name}{task}", slurm.job)
    });
    let all = [Some(process.name.clone()), container, pod, slurm];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use railscope_core::model::process::{Container, PodNames, ProcessId, SlurmTask};

    #[test]
    fn names_stand_beside_ids() {
        let uid = "57e67067-89e4-4001-bdd4-8632d39ea02b";
        let mut process = Process {
            id: ProcessId { pid: 7, start_ticks: 1 },
            name: "python3".to_owned(),
            container: Some(Container { id: "4b3e6c1d9f70a852".repeat(4), runtime: None }),
            pod: Some(uid.to_owned()),
            pod_names: None,
            slurm: None,
            is_environment_known: true,
        };
        let unnamed = format!("python3, container 4b3e6c1d9f70, pod {uid}");
        assert_eq!(describe(&process), unnamed);
        process.pod_names = Some(PodNames {
            namespace: "ml".to_owned(),
            pod: "llama-3".to_owned(),
            container: Some("trainer".to_owned()),
        });
        let named = format!("python3, container trainer (4b3e6c1d9f70), pod ml/llama-3 ({uid})");
        assert_eq!(describe(&process), named);
        (process.container, process.pod, process.pod_names) = (None, None, None);
        process.slurm = Some(SlurmTask {
            job: 4711,
            slurm_step: None,
            local_task: None,
            task: Some(3),
            name: Some("llama pretrain".to_owned()),
            array: None,
        });
        assert_eq!(describe(&process), "python3, Slurm job 4711 (llama pretrain), task 3");
    }
}
