//! Whether a source can run here, built up from what it needs.

use std::fmt;

use super::host::{Capability, Host, KernelRelease};

/// Programs with one ring buffer for all CPUs, which all of ours have.
const RING_BUFFER: KernelRelease = KernelRelease(5, 8);

/// Whether a source can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What the source sees, for people.
    pub sees: &'static str,
    /// Why it cannot run; empty where it can.
    pub missing: Vec<String>,
    /// It runs, but without these.
    pub lesser: Vec<String>,
}

impl Verdict {
    /// A source that needs nothing so far.
    #[must_use]
    pub const fn new(sees: &'static str) -> Self {
        Self { sees, missing: Vec::new(), lesser: Vec::new() }
    }

    /// Whether it can run.
    #[must_use]
    pub const fn runs(&self) -> bool {
        self.missing.is_empty()
    }

    /// It cannot run without `capability`, which it uses `what_for`.
    pub fn needs(&mut self, host: &Host, capability: Capability, what_for: &str) {
        if !host.has(capability) {
            self.missing.push(format!("{} is missing, {what_for}", capability.name()));
        }
    }

    /// It runs without `capabilities`, but what `lost` says is lost.
    pub fn wants(&mut self, host: &Host, capabilities: &[Capability], lost: &str) {
        let lacking = capabilities.iter().filter(|one| !host.has(**one)).map(|one| one.name());
        let lacking: Vec<&str> = lacking.collect();
        if !lacking.is_empty() {
            self.lesser.push(format!("without {}: {lost}", lacking.join(" and ")));
        }
    }

    /// It needs Linux `release` or later.
    pub fn needs_release(&mut self, host: &Host, release: KernelRelease, what_for: &str) {
        if host.kernel.is_some_and(|kernel| kernel < release) {
            self.missing.push(format!("Linux {release} or later is needed, {what_for}"));
        }
    }

    /// It needs an RDMA device to deliver anything, and waits for one.
    pub fn wants_rdma_device(&mut self, host: &Host) {
        if !host.has_rdma_device {
            self.lesser.push("there is no RDMA device here now".to_owned());
        }
    }

    /// It needs a kernel that loads programs with a ring buffer here.
    pub fn needs_kernel_programs(&mut self, host: &Host) {
        if !host.is_initial_user_namespace {
            let why = "in a user namespace the kernel loads no programs, whatever the capabilities";
            self.missing.push(why.to_owned());
        }
        self.needs_release(host, RING_BUFFER, "for ring buffers");
    }

    /// It needs the right to load kernel programs, too; `CAP_SYS_ADMIN` includes it.
    pub fn needs_bpf(&mut self, host: &Host) {
        self.needs_kernel_programs(host);
        self.needs_or_admin(host, Capability::Bpf, "to load programs");
    }

    /// It needs `capability`, which `CAP_SYS_ADMIN` includes.
    pub fn needs_or_admin(&mut self, host: &Host, capability: Capability, what_for: &str) {
        if !host.has(Capability::SysAdmin) {
            self.needs(host, capability, what_for);
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = if self.runs() { "yes" } else { "no" };
        write!(f, "{}: {runs}", self.sees)?;
        let reasons = if self.runs() { &self.lesser } else { &self.missing };
        reasons.iter().try_for_each(|reason| write!(f, "; {reason}"))
    }
}
