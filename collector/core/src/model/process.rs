//! A process of this host, and what runs it: a container of a pod, a step of a Slurm job.

/// A process, told from a later one that has its number by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId {
    /// Number of the process.
    pub pid: u32,
    /// When it started, in ticks of the kernel's clock since the host came up.
    pub start_ticks: u64,
}

/// What is known of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Which it is.
    pub id: ProcessId,
    /// Its name, 15 bytes of it (`comm`).
    pub name: String,
    /// The container that it runs in; `None` outside of containers.
    pub container: Option<Container>,
    /// UID of its Kubernetes pod.
    pub pod: Option<String>,
    /// Its part of a Slurm job.
    pub slurm: Option<SlurmTask>,
    /// Its environment could be read; if not, Slurm's ranks and names are not known.
    pub is_environment_known: bool,
}

/// A container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its id: 64 hexadecimal digits.
    pub id: String,
    /// What runs it; `None` where its control group does not tell.
    pub runtime: Option<Runtime>,
}

/// What runs containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// containerd, for Kubernetes or by nerdctl.
    Containerd,
    /// CRI-O.
    Crio,
    /// Docker, for Kubernetes too.
    Docker,
    /// Podman.
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
