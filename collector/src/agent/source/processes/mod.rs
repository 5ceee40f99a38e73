//! Containers, pods and Slurm jobs of processes. Nothing is opened for them: other sources and the
//! page `/queue_pairs.json` look a process up in `/proc` when they meet it.

pub(super) mod ended;

mod needs;

use super::contract::{Context, Opened, Opening, Source};
use crate::config::SourceConfig;
use crate::ingest::capability::{Host, Verdict};
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

    fn open(&self, _: &Opening<'_>, _: &mut Context<'_>) -> Opened {
        Opened::Nothing
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
