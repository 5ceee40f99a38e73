//! Programs at the functions of library files.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::thread;

use aya::programs::UProbe;
use aya::programs::uprobe::{
    UProbeAttachLocation, UProbeAttachPoint, UProbeLink, UProbeLinkId, UProbeScope,
};

use super::function::Signature;
use crate::ingest::ebpf::error::EbpfError;

/// The programs where functions are entered and where they return.
pub(super) const ENTERED: &str = "call_entered";
const RETURNED: &str = "call_returned";

/// A library whose functions have programs.
#[derive(Debug)]
pub(super) struct Attached {
    links: Vec<(&'static str, UProbeLinkId)>,
}

/// Loads both programs.
pub(super) fn load(ebpf: &mut aya::Ebpf) -> Result<(), EbpfError> {
    for name in [ENTERED, RETURNED] {
        program(ebpf, name)?.load().map_err(EbpfError::program)?;
    }
    Ok(())
}

impl Attached {
    /// Attaches to functions of a library, in all processes that map it, now or later.
    ///
    /// # Errors
    ///
    /// When the kernel refuses. Nothing is attached then.
    pub(super) fn new(
        ebpf: &mut aya::Ebpf,
        file: &File,
        functions: &[(&'static Signature, u64)],
        number: u16,
    ) -> Result<Self, EbpfError> {
        let mut attached = Self { links: Vec::new() };
        for (signature, offset) in functions {
            let plan = signature.plan(number).to_bits();
            // The return first: a reported entry then never lacks its return.
            for name in
                [RETURNED, ENTERED].into_iter().filter(|name| signature.returns || *name == ENTERED)
            {
                let point = UProbeAttachPoint {
                    location: UProbeAttachLocation::AbsoluteOffset(*offset),
                    cookie: Some(plan),
                };
                let target = format!("/proc/self/fd/{}", file.as_raw_fd());
                match program(ebpf, name)?.attach(point, target, UProbeScope::AllProcesses) {
                    Ok(link) => attached.links.push((name, link)),
                    Err(error) => {
                        attached.detach(ebpf);
                        return Err(EbpfError::attach(signature.symbol, error));
                    }
                }
            }
        }
        Ok(attached)
    }

    /// Detaches the programs on a thread: the kernel waits about 50 ms for each, until all CPUs have
    /// passed a quiescent state.
    pub(super) fn detach(self, ebpf: &mut aya::Ebpf) {
        let taken = |(name, link)| program(ebpf, name).ok()?.take_link(link).ok();
        let links: Vec<UProbeLink> = self.links.into_iter().filter_map(taken).collect();
        // If no thread can be started, they are dropped here.
        _ = thread::Builder::new().name("detach".to_owned()).spawn(move || drop(links));
    }
}

/// A program of the object.
fn program<'a>(ebpf: &'a mut aya::Ebpf, name: &str) -> Result<&'a mut UProbe, EbpfError> {
    let missing = || EbpfError::Object { part: name.to_owned() };
    ebpf.program_mut(name).ok_or_else(missing)?.try_into().map_err(|_| missing())
}
