//! Processes, from `/proc`: who one is (its container, pod and Slurm job), and whether it has mapped anything since.
//!
//! Control groups come from the kernel, the environment from whoever started the process. Where both name
//! a job, the control group wins.

pub mod cgroup;
pub mod environment;
pub mod stat;

#[cfg(feature = "live")]
pub(in crate::ingest) mod mapped_pages;
mod pod;

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use self::cgroup::Membership;
use self::pod::PodNaming;
pub use self::pod::{PodList, Pods};
use super::guarded::Guarded;
use super::kernel_file;
use railscope_core::model::process::{Process, ProcessId, SlurmTask};

/// Bytes read of a file about a process. An environment may have two megabytes; the rest is ignored.
const FILE_LIMIT: u64 = 256 * 1024;

/// How long reading an environment may take.
const ENVIRONMENT_TIME: Duration = Duration::from_millis(500);

/// Why a process cannot be identified.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It has ended, or this process may not see it (`hidepid`, another PID namespace).
    #[error("process {0} does not exist, or is not visible from here")]
    Gone(u32),
    /// Its process id belongs to a newer process.
    #[error("process id {0} belongs to a newer process")]
    Reused(u32),
    /// Its files are malformed or cannot be read.
    #[error("read about process {pid}")]
    Unreadable {
        /// The process.
        pid: u32,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

/// The processes of this host.
#[derive(Clone, Debug)]
pub struct Processes {
    proc: PathBuf,
    /// `None` if nobody needs names of pods.
    pods: Option<PodNaming>,
    /// Reads environments: they are memory of the process, which may be on a file system that hangs.
    reader: Arc<Mutex<Guarded>>,
}

impl Processes {
    /// The processes that the `proc` filesystem at this path shows: `/proc`, or the host's as a
    /// container has it mounted.
    pub fn new(proc: impl Into<PathBuf>) -> Self {
        let reader = Arc::new(Mutex::new(Guarded::new(ENVIRONMENT_TIME)));
        Self { proc: proc.into(), pods: None, reader }
    }

    /// Names pods and containers after the logs that the kubelet keeps in this folder (`/var/log`), and after
    /// [`Self::pod_list`].
    #[must_use]
    pub fn naming_pods(self, logs: impl Into<PathBuf>) -> Self {
        Self { pods: Some(PodNaming::new(logs.into())), ..self }
    }

    /// The kubelet's list of pods, shared by all clones: empty until somebody sets it. `None` if pods are not
    /// named.
    #[must_use]
    pub fn pod_list(&self) -> Option<&PodList> {
        self.pods.as_ref().map(PodNaming::list)
    }

    /// Who process `pid` is.
    ///
    /// # Errors
    ///
    /// When it is gone or cannot be read.
    pub fn identify(&self, pid: u32) -> Result<Process, ProcessError> {
        let (id, name) = self.begin(pid)?;
        let cgroup = self.text(pid, "cgroup")?;
        // Only its owner and root may read it.
        let environment = self.environment(pid);
        // If the process id was reused meanwhile, the files belong to two processes.
        self.confirm(id)?;
        let Membership { container, pod, slurm } = Membership::parse(&cgroup);
        let is_environment_known = environment.is_some();
        let named = environment.as_deref().and_then(environment::slurm_task);
        let pod_names = self.pods.as_ref().zip(pod.as_deref()).and_then(|(naming, uid)| {
            naming.names(container.as_ref().map(|one| one.id.as_str()), uid)
        });
        let slurm = settle(slurm, named);
        Ok(Process { id, name, container, pod, pod_names, slurm, is_environment_known })
    }

    /// Whether the process id still belongs to this process.
    ///
    /// # Errors
    ///
    /// When it is not.
    pub fn confirm(&self, id: ProcessId) -> Result<(), ProcessError> {
        let (now, _) = self.begin(id.pid)?;
        if now == id { Ok(()) } else { Err(ProcessError::Reused(id.pid)) }
    }

    /// The user that a process runs as; `None` if it is gone.
    #[must_use]
    pub fn user(&self, pid: u32) -> Option<u32> {
        Some(self.proc.join(pid.to_string()).metadata().ok()?.uid())
    }

    /// Whether a process is there and has not ended.
    #[must_use]
    pub fn is_alive(&self, pid: u32) -> bool {
        self.text(pid, "stat").is_ok_and(|stat| stat::is_alive(&stat))
    }

    /// The process that a thread belongs to; a process is its own.
    ///
    /// # Errors
    ///
    /// When it is gone or cannot be read.
    pub fn of_thread(&self, tid: u32) -> Result<u32, ProcessError> {
        let status = self.text(tid, "status")?;
        let leader =
            status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
        leader.ok_or_else(|| {
            let source = io::Error::new(io::ErrorKind::InvalidData, "malformed status");
            ProcessError::Unreadable { pid: tid, source }
        })
    }

    /// Its environment; `None` if it cannot be read, or does not come in time.
    fn environment(&self, pid: u32) -> Option<Vec<u8>> {
        let path = self.path(pid, "environ");
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.run(move || kernel_file::bytes(&path, FILE_LIMIT).ok()).ok()?
    }

    /// When it began, and its name.
    fn begin(&self, pid: u32) -> Result<(ProcessId, String), ProcessError> {
        let stat = self.text(pid, "stat")?;
        let (name, start_ticks) = stat::read(&stat).ok_or_else(|| {
            let source = io::Error::new(io::ErrorKind::InvalidData, "malformed stat");
            ProcessError::Unreadable { pid, source }
        })?;
        Ok((ProcessId { pid, start_ticks }, name.to_owned()))
    }

    fn text(&self, pid: u32, file: &str) -> Result<String, ProcessError> {
        let bytes = kernel_file::bytes(&self.path(pid, file), FILE_LIMIT);
        let bytes = bytes.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ProcessError::Gone(pid),
            _ if source.raw_os_error() == Some(libc::ESRCH) => ProcessError::Gone(pid),
            _ => ProcessError::Unreadable { pid, source },
        })?;
        // A process may give itself any name.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn path(&self, pid: u32, file: &str) -> PathBuf {
        self.proc.join(pid.to_string()).join(file)
    }
}

/// The control group's task, completed from the environment if that names the same job; the environment's
/// alone where the site has no control groups for jobs.
fn settle(held: Option<SlurmTask>, named: Option<SlurmTask>) -> Option<SlurmTask> {
    let Some(held) = held else { return named };
    match named {
        // A shell in one job may start programs in another.
        Some(named) if named.job == held.job => Some(SlurmTask {
            slurm_step: held.slurm_step.or(named.slurm_step),
            local_task: held.local_task.or(named.local_task),
            ..named
        }),
        _ => Some(held),
    }
}
