//! Attaches the programs to interfaces.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::thread;

use aya::programs::tc::SchedClassifierLinkId;
use aya::programs::tc::{NlOptions, TcAttachOptions, qdisc_add_clsact, qdisc_detach_program};
use aya::programs::{LinkOrder, TcAttachType};
use aya::util::KernelVersion;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nameindex, if_nametoindex};
use nix::sched::{CloneFlags, setns};

use super::config::EbpfConfig;
use super::error::EbpfError;
use super::object::{DIRECTIONS, Object, program};
use crate::ingest::af_packet::Promiscuous;
use crate::ingest::interface_losses::InterfaceLosses;
use railscope_core::model::tap::{LinkType, Tap, TapFormat};

/// From this release on a program has its own link, which ends with the process (`tcx`).
const TCX_SINCE: KernelVersion = KernelVersion::new(6, 6, 0);

/// An observed interface.
#[derive(Debug)]
pub(super) struct HookedPort {
    pub(super) name: String,
    pub(super) index: u32,
    /// `None` if it has none.
    pub(super) hardware_address: Option<[u8; 6]>,
    /// Whether packets can come, as of the latest look.
    pub(super) is_up: bool,
    /// `None` if the kernel does not say.
    losses: Option<InterfaceLosses>,
    links: Vec<(&'static str, SchedClassifierLinkId)>,
    promiscuous: Option<Promiscuous>,
}

impl HookedPort {
    pub(super) fn tap(&self) -> Tap {
        Tap {
            file: self.name.clone(),
            format: TapFormat::Ebpf,
            interface: Some(self.name.clone()),
            link_type: LinkType::Ethernet,
            // Only RoCE packets are truncated.
            snap_len: None,
            line_rate_bps: None,
        }
    }

    /// Frames that the interface lost before a program saw them, since the last call.
    pub(super) fn lost(&mut self, at_once: bool) -> u64 {
        self.losses.as_mut().map_or(0, |losses| losses.take(at_once))
    }
}

/// All observed interfaces.
#[derive(Debug)]
pub(super) struct Attached {
    pub(super) ports: Vec<HookedPort>,
    /// Whether the interfaces are in this process's network namespace.
    is_here: bool,
    promiscuous: bool,
}

impl Attached {
    pub(super) fn new(object: &mut Object, config: &EbpfConfig) -> Result<Self, EbpfError> {
        let mut attach = || {
            let names = config.interfaces.iter();
            names.map(|name| port(object, name, config.promiscuous)).collect()
        };
        let ports: Result<Vec<_>, EbpfError> = match &config.namespace {
            None => attach(),
            Some(path) => {
                let refused =
                    |source| EbpfError::Namespace { path: path.display().to_string(), source };
                let namespace = File::open(path).map_err(refused)?;
                // A namespace is entered by a thread; the programs stay attached after it ends.
                let enter = || {
                    setns(&namespace, CloneFlags::CLONE_NEWNET)
                        .map_err(|error| refused(error.into()))?;
                    attach()
                };
                let failed = || refused(io::Error::other("the thread that enters it failed"));
                thread::scope(|scope| scope.spawn(enter).join()).map_err(|_| failed())?
            }
        };
        let (is_here, promiscuous) = (config.namespace.is_none(), config.promiscuous);
        Ok(Self { ports: ports?, is_here, promiscuous })
    }

    /// Attaches to one more interface, or again to one that was forgotten; returns its place.
    pub(super) fn follow(&mut self, object: &mut Object, name: &str) -> Result<usize, EbpfError> {
        self.forget(object, name);
        let new = port(object, name, self.promiscuous)?;
        if let Some(at) = self.ports.iter().position(|port| port.name == name) {
            self.ports[at] = new;
            return Ok(at);
        }
        self.ports.push(new);
        Ok(self.ports.len() - 1)
    }

    /// Lets go of an interface that was removed.
    pub(super) fn forget(&mut self, object: &mut Object, name: &str) {
        for port in self.ports.iter_mut().filter(|port| port.name == name) {
            port.is_up = false;
            port.promiscuous = None;
            port.losses = None;
            for (program_name, link) in port.links.drain(..) {
                // The kernel has detached it with the interface.
                _ = program(&mut object.ebpf, program_name).map(|program| program.detach(link));
            }
        }
    }

    /// Interfaces that were to receive every frame, and may not.
    pub(super) fn deaf(&self) -> Vec<&str> {
        let ports = self.ports.iter().filter(|_| self.promiscuous);
        ports.filter(|port| port.promiscuous.is_none()).map(|port| port.name.as_str()).collect()
    }

    /// Looks which interfaces are up. Those of another network namespace are taken to be.
    pub(super) fn look(&mut self) {
        let interfaces = if self.is_here { getifaddrs().ok() } else { None };
        let Some(interfaces) = interfaces else { return };
        let running = interfaces.filter(|one| one.flags.contains(InterfaceFlags::IFF_RUNNING));
        let running: BTreeSet<String> = running.map(|one| one.interface_name).collect();
        for port in &mut self.ports {
            port.is_up = !port.links.is_empty() && running.contains(&port.name);
        }
    }
}

/// Attaches both programs to an interface. What leaves a loopback interface comes in again at once, so one
/// direction shows everything there.
fn port(object: &mut Object, name: &str, promiscuous: bool) -> Result<HookedPort, EbpfError> {
    let Ok(index) = if_nametoindex(name) else {
        return Err(EbpfError::NoInterface { name: name.to_owned(), have: interfaces() });
    };
    let has_links = KernelVersion::current().is_ok_and(|kernel| kernel >= TCX_SINCE);
    if !has_links {
        // It may exist already.
        _ = qdisc_add_clsact(name);
    }
    let sides = [TcAttachType::Ingress, TcAttachType::Egress];
    let directions = if is_loopback(name) { 1 } else { 2 };
    let mut links = Vec::new();
    for (program_name, side) in DIRECTIONS.iter().zip(sides).take(directions) {
        let options = if has_links {
            TcAttachOptions::TcxOrder(LinkOrder::default())
        } else {
            // A killed run leaves its programs behind.
            _ = qdisc_detach_program(name, side, program_name);
            TcAttachOptions::Netlink(NlOptions::default())
        };
        let attached =
            program(&mut object.ebpf, program_name)?.attach_with_options(name, side, options);
        links.push((*program_name, attached.map_err(|error| EbpfError::attach(name, error))?));
    }
    Ok(HookedPort {
        name: name.to_owned(),
        index,
        hardware_address: hardware_address(name),
        is_up: true,
        losses: InterfaceLosses::open(index).ok(),
        links,
        // Programs need no capability for it, and see much without.
        promiscuous: promiscuous.then(|| Promiscuous::open(name).ok()).flatten(),
    })
}

fn is_loopback(name: &str) -> bool {
    let is_one = |interface: nix::ifaddrs::InterfaceAddress| {
        interface.interface_name == name && interface.flags.contains(InterfaceFlags::IFF_LOOPBACK)
    };
    getifaddrs().is_ok_and(|mut interfaces| interfaces.any(is_one))
}

fn hardware_address(name: &str) -> Option<[u8; 6]> {
    let mut addresses = getifaddrs().ok()?.filter(|interface| interface.interface_name == name);
    let address = addresses.find_map(|interface| interface.address?.as_link_addr()?.addr())?;
    (address != [0; 6]).then_some(address)
}

fn interfaces() -> String {
    let Ok(interfaces) = if_nameindex() else { return "none".to_owned() };
    let names = interfaces.iter().map(|interface| interface.name().to_string_lossy().into_owned());
    names.collect::<Vec<_>>().join(", ")
}
