//! Lines of a job's log that NCCL did not write and that report trouble: PyTorch, launchers, the
//! kernel, libraries. One at a time and stateless.

pub mod watchdog;

use self::watchdog::WatchdogLine;

/// A line of trouble.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JobLine<'a> {
    /// PyTorch's watchdog of collectives.
    Watchdog(WatchdogLine<'a>),
    /// `Last error:` of PyTorch: the next line is NCCL's last warning.
    LastErrorNext,
    /// Anything else: the text.
    Trouble(&'a str),
}

/// Phrases of lines of trouble; a line without any of them is not looked at.
// tidy: table
pub const MARKS: &[&str] = &[
    // PyTorch.
    "atchdog caught collective operation timeout",
    "detected by watchdog at work",
    "Timeout at NCCL work",
    "last enqueued",
    "Last error:",
    "Detected mismatch between collectives",
    "failed to pass monitoredBarrier",
    "eartbeat monitor timed out",
    "watchdog got stuck",
    "lagging ranks that caused",
    "didn't join collective",
    "joined but didn't finish collective",
    "Cannot assign requested address",
    "EADDRINUSE",
    "client socket has failed to",
    "client socket has timed out",
    "server socket has failed to listen",
    "DistStoreError",
    "DistNetworkError",
    "RendezvousTimeoutError",
    "RendezvousConnectionError",
    "RendezvousClosedError",
    "failed (exitcode:",
    "Signal 9 (SIGKILL)",
    "Signal 7 (SIGBUS)",
    "Signal 11 (SIGSEGV)",
    "ncclSystemError",
    "ncclInternalError",
    "ncclRemoteError",
    "ncclUnhandledCudaError",
    "ncclInvalidUsage",
    "CUDA driver version is insufficient",
    "forward compatibility was attempted",
    "system not yet initialized",
    "CUDA error:",
    "CUDA out of memory",
    "HIP error:",
    // Launchers.
    "exited on signal",
    "srun: error:",
    "slurmstepd: error:",
    "ORTE was unable",
    "PRTE was unable",
    "An ORTE daemon has unexpectedly failed",
    "Host key verification failed",
    "Permission denied (publickey",
    "There are not enough slots",
    "Could not resolve hostname",
    "Name or service not known",
    "emporary failure in name resolution",
    "OOMKilled",
    "Insufficient rdma/",
    "Insufficient vpc.amazonaws.com/efa",
    "Insufficient nvidia.com/",
    // Kernel.
    "NVRM: Xid",
    "fallen off the bus",
    "GPU reset begin",
    "PCIe Bus Error:",
    "mlx5_core ",
    "bnxt_en ",
    "bnxt_re ",
    "irdma ",
    "efa 0000:",
    "infiniband rdmap",
    "infiniband efa_",
    "NETDEV WATCHDOG",
    "NIC Link is Down",
    "ut of memory: Kill",
    "oom-kill",
    "oom_kill",
    // Libraries.
    "libibverbs: ",
    "libfabric:",
    "symbol lookup error",
    "error while loading shared libraries",
    "undefined symbol",
    "GLIBC",
    "Too many open files",
    "RETRY_EXC_ERR",
    // Stacks (eu-stack, pstack, gdb), and lspci.
    "ncclLocalOpAppend",
    "ncclGinIbAllGather",
    "ACSCtl:",
];

impl<'a> JobLine<'a> {
    /// The meaning of a line that has one of [`MARKS`].
    #[must_use]
    pub fn read(text: &'a str) -> Self {
        if let Some(line) = WatchdogLine::read(text) {
            return Self::Watchdog(line);
        }
        if text.trim_end().ends_with("Last error:") {
            return Self::LastErrorNext;
        }
        Self::Trouble(text.trim())
    }
}
