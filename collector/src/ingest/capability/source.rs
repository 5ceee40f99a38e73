//! Which source needs what.

use std::fmt;

use super::host::{Capability, Host, KernelRelease};

/// A live source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Packets of an interface by BPF programs at traffic control.
    TrafficControl,
    /// Packets of an interface by packet sockets.
    PacketSocket,
    /// TCP connections with their processes.
    TcpStates,
    /// Calls of libnccl and libibverbs.
    LibraryCalls,
    /// Queue pairs and their processes, asked for from time to time.
    RdmaNetlink,
    /// Counters of NICs.
    Counters,
    /// Containers, pods and Slurm jobs of processes.
    Processes,
}

/// Whether a source can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The source.
    pub source: Source,
    /// Why it cannot run; it can where there is none.
    pub missing: Vec<String>,
    /// It runs, but these things it does not see or do.
    pub lesser: Vec<String>,
}

/// Programs with one ring buffer for all CPUs, which all of ours have.
const RING_BUFFER: KernelRelease = KernelRelease(5, 8);
/// Programs at functions that are told which function it is.
const COOKIES: KernelRelease = KernelRelease(5, 15);
/// Programs attached by links that end with their process.
const TCX: KernelRelease = KernelRelease(6, 6);

impl Source {
    /// All, those that see most first.
    pub const ALL: [Self; 7] = [
        Self::TrafficControl,
        Self::PacketSocket,
        Self::TcpStates,
        Self::LibraryCalls,
        Self::RdmaNetlink,
        Self::Counters,
        Self::Processes,
    ];

    /// What it sees, for people.
    #[must_use]
    pub const fn sees(self) -> &'static str {
        match self {
            Self::TrafficControl => "packets by BPF at traffic control",
            Self::PacketSocket => "packets by packet sockets",
            Self::TcpStates => "TCP connections of training processes",
            Self::LibraryCalls => "calls of libnccl and libibverbs",
            Self::RdmaNetlink => "queue pairs as listed by the kernel",
            Self::Counters => "NIC counters",
            Self::Processes => "containers, pods and Slurm jobs of processes",
        }
    }

    /// Whether it can run here.
    #[must_use]
    pub fn can_run(self, host: &Host) -> Verdict {
        let mut verdict = Verdict { source: self, missing: Vec::new(), lesser: Vec::new() };
        match self {
            Self::TrafficControl => {
                verdict.needs_bpf(host);
                verdict.needs(host, Capability::NetAdmin, "to attach to interfaces");
                if !host.has(Capability::SysAdmin) {
                    verdict.needs(host, Capability::Perfmon, "to read packets where they lie");
                }
                if host.kernel.is_some_and(|kernel| kernel < TCX) {
                    verdict.lesser.push(format!(
                        "before Linux {TCX} there is no TCX: programs are attached as clsact \
                         filters, and one that is killed leaves them behind until the next start"
                    ));
                }
            }
            Self::PacketSocket => verdict.needs(host, Capability::NetRaw, "to see others' packets"),
            Self::TcpStates => {
                verdict.needs_tracing(host);
                if host.tracefs.is_none() && !host.has(Capability::SysAdmin) {
                    let why = "the kernel's tracepoints are not to be found: tracefs is not mounted at \
                               /sys/kernel/tracing, or not readable (CAP_DAC_READ_SEARCH), and \
                               CAP_SYS_ADMIN is missing to mount it";
                    verdict.missing.push(why.to_owned());
                }
            }
            Self::LibraryCalls => {
                verdict.needs_kernel(host);
                // The kernel asks for it whatever else there is (`perf_uprobe_event_init`).
                verdict.needs(host, Capability::SysAdmin, "to attach to functions of libraries");
                if host.kernel.is_some_and(|kernel| kernel < COOKIES) {
                    let why = format!("Linux {COOKIES} or later is needed, for cookies of uprobes");
                    verdict.missing.push(why);
                }
                if !host.has_uprobe_events {
                    verdict.missing.push("the kernel has no uprobes".to_owned());
                }
                verdict.wants(
                    host,
                    &[Capability::SysPtrace],
                    "libraries of other users' processes and in containers are not found",
                );
            }
            // Anybody may ask.
            Self::RdmaNetlink | Self::Counters => {
                if !host.has_rdma_device {
                    verdict.lesser.push("there is no RDMA device here now".to_owned());
                }
            }
            Self::Processes => {
                verdict.wants(
                    host,
                    &[Capability::SysPtrace, Capability::DacReadSearch],
                    "environments of other users' processes are not read: Slurm's ranks and job names \
                     are not known",
                );
            }
        }
        verdict
    }
}

impl Verdict {
    /// Whether it can run.
    #[must_use]
    pub const fn runs(&self) -> bool {
        self.missing.is_empty()
    }

    fn needs(&mut self, host: &Host, capability: Capability, what_for: &str) {
        if !host.has(capability) {
            self.missing.push(format!("{} is missing, {what_for}", capability.name()));
        }
    }

    fn wants(&mut self, host: &Host, capabilities: &[Capability], lost: &str) {
        let lacking = capabilities.iter().filter(|one| !host.has(**one)).map(|one| one.name());
        let lacking: Vec<&str> = lacking.collect();
        if !lacking.is_empty() {
            self.lesser.push(format!("without {}: {lost}", lacking.join(" and ")));
        }
    }

    /// A kernel that loads programs here, if one may.
    fn needs_kernel(&mut self, host: &Host) {
        if !host.is_initial_user_namespace {
            let why = "in a user namespace the kernel loads no programs, whatever the capabilities";
            self.missing.push(why.to_owned());
        }
        if host.kernel.is_some_and(|kernel| kernel < RING_BUFFER) {
            self.missing.push(format!("Linux {RING_BUFFER} or later is needed, for ring buffers"));
        }
    }

    fn needs_bpf(&mut self, host: &Host) {
        self.needs_kernel(host);
        if !host.has(Capability::SysAdmin) {
            self.needs(host, Capability::Bpf, "to load programs");
        }
    }

    fn needs_tracing(&mut self, host: &Host) {
        self.needs_bpf(host);
        if !host.has(Capability::SysAdmin) {
            self.needs(host, Capability::Perfmon, "to attach to functions and tracepoints");
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = if self.runs() { "yes" } else { "no" };
        write!(f, "{}: {runs}", self.source.sees())?;
        let reasons = if self.runs() { &self.lesser } else { &self.missing };
        reasons.iter().try_for_each(|reason| write!(f, "; {reason}"))
    }
}
