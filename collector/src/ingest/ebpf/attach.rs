//! Attaches the programs to interfaces: at traffic control, or in the driver of a mirror port.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::thread;

use aya::maps::MapError;
use aya::programs::tc::SchedClassifierLinkId;
use aya::programs::tc::{NlOptions, TcAttachOptions, qdisc_add_clsact, qdisc_detach_program};
use aya::programs::xdp::XdpLinkId;
use aya::programs::{LinkOrder, ProgramError, TcAttachType, XdpMode};
use aya::util::KernelVersion;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::{InterfaceFlags, if_nameindex, if_nametoindex};
use nix::sched::{CloneFlags, setns};

use super::config::EbpfConfig;
use super::error::{EbpfError, chain};
use super::object::{DIRECTIONS, Object, mirror_program, program};
use super::stacked;
use crate::ingest::af_packet::Promiscuous;
use crate::ingest::interface_losses::InterfaceLosses;
use crate::ingest::interfaces::hidden_by_xdp;
use railscope_core::model::tap::{LinkType, Tap, TapFormat};

/// From this release on a program has its own link, which ends with the process (`tcx`).
const TCX_SINCE: KernelVersion = KernelVersion::new(6, 6, 0);

/// A program that is attached to an interface.
#[derive(Debug)]
enum Hook {
    /// At traffic control, and its name.
    TrafficControl(&'static str, SchedClassifierLinkId),
    /// In the driver.
    Driver(XdpLinkId),
}

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
    hooks: Vec<Hook>,
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
    config: EbpfConfig,
    /// What is to be said of the interfaces.
    pub(super) news: Vec<String>,
}

impl Attached {
    pub(super) fn new(object: &mut Object, config: &EbpfConfig) -> Result<Self, EbpfError> {
        let mut news = Vec::new();
        let mut attach = || {
            let names = config.interfaces.iter();
            names.map(|name| port(object, name, config, &mut news)).collect()
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
        let (is_here, config) = (config.namespace.is_none(), config.clone());
        Ok(Self { ports: ports?, is_here, config, news })
    }

    /// Attaches to one more interface, or again to one that was forgotten; returns its place.
    pub(super) fn follow(&mut self, object: &mut Object, name: &str) -> Result<usize, EbpfError> {
        self.forget(object, name);
        let new = port(object, name, &self.config, &mut self.news)?;
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
            for hook in port.hooks.drain(..) {
                detach(object, port.index, hook);
            }
        }
    }

    /// Interfaces that were to receive every frame, and may not.
    pub(super) fn deaf(&self) -> Vec<&str> {
        let ports = self.ports.iter().filter(|_| self.config.promiscuous);
        ports.filter(|port| port.promiscuous.is_none()).map(|port| port.name.as_str()).collect()
    }

    /// Looks which interfaces are up, and which have another address now. Those of another network namespace are
    /// taken to be up, and to keep theirs.
    pub(super) fn look(&mut self, object: &mut Object) {
        let interfaces = if self.is_here { getifaddrs().ok() } else { None };
        let Some(interfaces) = interfaces else { return };
        // Of an interface with several addresses, one entry is of Ethernet.
        let mut seen: BTreeMap<String, (bool, Option<[u8; 6]>)> = BTreeMap::new();
        for one in interfaces {
            let address = ethernet_address(&one);
            let (is_running, known) = seen.entry(one.interface_name).or_default();
            *is_running = one.flags.contains(InterfaceFlags::IFF_RUNNING);
            *known = known.or(address);
        }
        for port in &mut self.ports {
            let Some(&(is_running, address)) = seen.get(&port.name) else {
                port.is_up = false;
                continue;
            };
            port.is_up = !port.hooks.is_empty() && is_running;
            if address == port.hardware_address {
                continue;
            }
            let is_in_driver = matches!(port.hooks[..], [Hook::Driver(_)]);
            // If that fails, it is tried again at the next look.
            if !is_in_driver || set_own_address(object, port.index, address).is_ok() {
                port.hardware_address = address;
            }
        }
    }
}

/// Attaches the programs to an interface. Where that is not as wanted, `news` says why.
fn port(
    object: &mut Object,
    name: &str,
    config: &EbpfConfig,
    news: &mut Vec<String>,
) -> Result<HookedPort, EbpfError> {
    let Ok(index) = if_nametoindex(name) else {
        return Err(EbpfError::NoInterface { name: name.to_owned(), have: interfaces() });
    };
    let hardware_address = hardware_address(name);
    let mut hooks = Vec::new();
    if config.is_mirror(name) {
        match in_driver(object, index, hardware_address) {
            Ok(hook) => {
                hooks.push(hook);
                news.push(format!(
                    "{name} is read in its driver, as a mirror port: only what it receives is seen; frames to \
                     other hosts and mirror sessions are dropped there, so tcpdump and packet sockets see none"
                ));
            }
            Err(why) => news.push(format!(
                "{name} is not read in its driver, as a mirror port would be, but at traffic control: {why}"
            )),
        }
    }
    let is_in_driver = !hooks.is_empty();
    if !is_in_driver {
        news.extend(hidden_by_xdp(index));
        hooks = at_traffic_control(object, name)?;
    }
    Ok(HookedPort {
        name: name.to_owned(),
        index,
        hardware_address,
        is_up: true,
        losses: InterfaceLosses::open(index, !is_in_driver).ok(),
        hooks,
        // Programs need no capability for it, and see much without.
        promiscuous: config.promiscuous.then(|| Promiscuous::open(name).ok()).flatten(),
    })
}

/// Attaches the program for mirror ports; or why not.
fn in_driver(
    object: &mut Object,
    index: u32,
    hardware_address: Option<[u8; 6]>,
) -> Result<Hook, String> {
    if let Some(obstacle) = stacked::obstacle(index) {
        return Err(obstacle);
    }
    // Before the first frame: as long as it is not known, no unicast is dropped.
    set_own_address(object, index, hardware_address).map_err(|error| chain(&error))?;
    let program = mirror_program(&mut object.ebpf).map_err(|error| chain(&error))?;
    let attached = program.attach_to_if_index(index, XdpMode::Driver);
    attached.map(Hook::Driver).map_err(|error| {
        _ = object.own_addresses.remove(&index);
        match &error {
            ProgramError::SyscallError(call)
                if call.io_error.raw_os_error() == Some(libc::EBUSY) =>
            {
                "another program is there already".to_owned()
            }
            _ => chain(&error),
        }
    })
}

/// Tells the program for mirror ports an interface's address.
fn set_own_address(
    object: &mut Object,
    index: u32,
    address: Option<[u8; 6]>,
) -> Result<(), MapError> {
    let number = |[a, b, c, d, e, f]: [u8; 6]| u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    match address.map(number) {
        Some(address) => object.own_addresses.insert(index, address, 0),
        None => object.own_addresses.remove(&index),
    }
}

/// Attaches both programs. What leaves a loopback interface comes in again at once, so one direction shows
/// everything there.
fn at_traffic_control(object: &mut Object, name: &str) -> Result<Vec<Hook>, EbpfError> {
    let has_links = KernelVersion::current().is_ok_and(|kernel| kernel >= TCX_SINCE);
    if !has_links {
        // It may exist already.
        _ = qdisc_add_clsact(name);
    }
    let sides = [TcAttachType::Ingress, TcAttachType::Egress];
    let directions = if is_loopback(name) { 1 } else { 2 };
    let mut hooks = Vec::new();
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
        let link = attached.map_err(|error| EbpfError::attach(name, error))?;
        hooks.push(Hook::TrafficControl(program_name, link));
    }
    Ok(hooks)
}

/// Detaches a program, unless the kernel has done so with the interface.
fn detach(object: &mut Object, index: u32, hook: Hook) {
    match hook {
        Hook::TrafficControl(name, link) => {
            _ = program(&mut object.ebpf, name).map(|program| program.detach(link));
        }
        Hook::Driver(link) => {
            _ = mirror_program(&mut object.ebpf).map(|program| program.detach(link));
            _ = object.own_addresses.remove(&index);
        }
    }
}

fn is_loopback(name: &str) -> bool {
    let is_one = |interface: InterfaceAddress| {
        interface.interface_name == name && interface.flags.contains(InterfaceFlags::IFF_LOOPBACK)
    };
    getifaddrs().is_ok_and(|mut interfaces| interfaces.any(is_one))
}

fn hardware_address(name: &str) -> Option<[u8; 6]> {
    let mut interfaces = getifaddrs().ok()?.filter(|interface| interface.interface_name == name);
    interfaces.find_map(|interface| ethernet_address(&interface))
}

fn ethernet_address(interface: &InterfaceAddress) -> Option<[u8; 6]> {
    let address = interface.address.as_ref()?.as_link_addr()?.addr()?;
    (address != [0; 6]).then_some(address)
}

fn interfaces() -> String {
    let Ok(interfaces) = if_nameindex() else { return "none".to_owned() };
    let names = interfaces.iter().map(|interface| interface.name().to_string_lossy().into_owned());
    names.collect::<Vec<_>>().join(", ")
}
