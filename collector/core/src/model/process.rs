//! A process of this host, and what runs it: a container of a pod, a step of a Slurm job.

/// A process, distinguished from a later one with the same PID by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId {
    /// PID in the host's namespace.
    pub pid: u32,
    /// Start time, in ticks of the kernel's clock since boot.
    pub start_ticks: u64,
}

/// Facts about a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// PID and start time.
    pub id: ProcessId,
    /// Its name, at most 15 bytes (`comm`).
    pub name: String,
    /// Its container; `None` outside containers.
    pub container: Option<Container>,
    /// UID of its Kubernetes pod.
    pub pod: Option<String>,
    /// Names of its pod and container; `None` outside pods, and where the kubelet's logs are not visible.
    pub pod_names: Option<PodNames>,
    /// Its part of a Slurm job.
    pub slurm: Option<SlurmTask>,
    /// Whether its environment could be read; without it, Slurm's ranks and names are unknown.
    pub is_environment_known: bool,
}

/// The container that a process runs in, from its control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its id: 64 hexadecimal digits.
    pub id: String,
    /// Its runtime; `None` if the control group does not show it.
    pub runtime: Option<Runtime>,
}

/// Container runtimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// containerd, for Kubernetes or nerdctl.
    Containerd,
    /// CRI-O.
    Crio,
    /// Docker, also for Kubernetes.
    Docker,
    /// Podman: `libpod-ID.scope`.
    Podman,
}

impl Runtime {
    /// The name in OpenTelemetry's `container.runtime.name` and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Containerd => "containerd",
            Self::Crio => "cri-o",
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }
}

/// Kubernetes' names of what a process runs in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodNames {
    /// Namespace of the pod.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container in the pod; `None` if only the pod is known.
    pub container: Option<String>,
}

/// A process's part of a Slurm job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmTask {
    /// Number of the job.
    pub job: u32,
    /// The job's step as Slurm writes it: a number, `batch`, `extern` or `interactive`.
    pub slurm_step: Option<String>,
    /// Number of the task among those of the step on this host.
    pub local_task: Option<u32>,
    /// Number of the task in the step (`SLURM_PROCID`), which training programs take as their rank.
    pub task: Option<u32>,
    /// Name of the job.
    pub name: Option<String>,
    /// Number that all jobs of its array share, and its own in the array.
    pub array: Option<(u32, u32)>,
}
