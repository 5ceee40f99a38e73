//! A process according to its log, and the communicator of each of its lines.
//!
//! Most lines name no communicator: those of initialisation belong to the one that their thread is
//! setting up, those of a later connection to the one that still lacks it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::membership::{EdgeFact, Membership, Setup};
use super::network::Networks;
use super::warning::Warnings;
use crate::decode::nccl_log::communicator::{End, Init, InitStage};
use crate::decode::nccl_log::entry::{Entry, Level};
use crate::decode::nccl_log::graph::{Edge, EdgeEnd, Via};
use crate::decode::nccl_log::message::Message;
use crate::decode::nccl_log::network::{GpuDirect, Ofi, PluginEvent};
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::nccl::Release;
use crate::model::qpn::Qpn;
use crate::model::witness::Witness;

/// What a process logged.
#[derive(Clone, Debug)]
pub struct Process {
    /// Name of its host.
    pub host: String,
    /// Its id on that host.
    pub pid: u32,
    /// Its release of NCCL.
    pub release: Option<Release>,
    /// Interface and address of its control plane.
    pub bootstrap: Option<(String, Option<IpAddr>)>,
    /// Networks it tried.
    pub networks: Networks,
    /// Names and addresses of the interfaces that NET/Socket would use, in its order.
    pub interfaces: Vec<(String, String)>,
    /// It printed a connection over a network.
    pub has_network_edges: bool,
    /// HCAs without GPUDirect RDMA.
    pub without_gpu_direct: Vec<WithoutGpuDirect>,
    /// The first function that returned an error.
    pub failed_call: Option<FailedCall>,
    /// Ports of its HCAs, in the order of NCCL's device numbers.
    pub hcas: Vec<HcaFact>,
    /// The Libfabric plugin.
    pub ofi: OfiFact,
    /// Plugins other than for the network: area, name, whether it was loaded.
    pub plugins: BTreeMap<(String, String), bool>,
    /// Environment variables that NCCL used.
    pub environment: BTreeMap<String, String>,
    /// Its warnings, grouped by text.
    pub warnings: Warnings,
    /// Its ranks, in order of creation.
    pub memberships: Vec<Membership>,
    /// Edges that may belong to several of its communicators.
    pub shared_edges: Vec<EdgeFact>,
    /// Queue pairs that it logged, with their ends.
    pub queue_pairs: Vec<QueuePairFact>,
    /// The first line.
    pub first: Witness,
    /// Number of its lines.
    pub lines: u64,
    current: BTreeMap<u64, usize>,
    threads: BTreeMap<u32, Thread>,
    last_called: Option<usize>,
}

/// A port of an HCA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HcaFact {
    /// Device name.
    pub device: String,
    /// Port number.
    pub port: u32,
    /// `RoCE` or `IB`.
    pub link_layer: String,
    /// Mb/s.
    pub speed_mbps: Option<u32>,
    /// Whether the fabric may reorder its packets.
    pub is_adaptive: Option<bool>,
    /// Whether data goes directly between it and the GPU's memory.
    pub is_gpu_direct: Option<bool>,
}

/// An HCA that does not use GPUDirect RDMA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithoutGpuDirect {
    /// Device name, if known.
    pub device: Option<String>,
    /// `distance 4 >= 2`, `no module or not supported by GPU`, if the line has it.
    pub reason: Option<String>,
    /// The line.
    pub witness: Witness,
}

/// The first function that returned an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCall {
    /// File and line.
    pub place: String,
    /// The error's name.
    pub error: String,
    /// The line.
    pub witness: Witness,
}

/// Facts about aws-ofi-nccl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfiFact {
    /// Release of the plugin.
    pub release: Option<String>,
    /// Libfabric's release.
    pub libfabric: Option<String>,
    /// `RDMA` or `SENDRECV`.
    pub protocol: Option<String>,
    /// The provider that it selected.
    pub provider: Option<String>,
}

/// A queue pair that a log names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuePairFact {
    /// Its number on the process's host.
    pub qpn: Qpn,
    /// Address of its port.
    pub address: Option<IpAddr>,
    /// Device name.
    pub device: Option<String>,
    /// Its end of the connection: whether it sends or receives data.
    pub end: Option<EdgeEnd>,
    /// R_Key of the memory to which CTS are written.
    pub cts_remote_key: Option<u32>,
    /// Whether it only flushes.
    pub is_flush: bool,
    /// The line.
    pub witness: Witness,
}

/// State of a thread.
#[derive(Clone, Debug, Default)]
struct Thread {
    /// The communicator of its lines.
    current: Option<usize>,
    /// Lines of a communicator without a name yet.
    draft: Setup,
}

const MEMBERSHIP_CAPACITY: usize = 4_096;
const THREAD_CAPACITY: usize = 4_096;
const HCA_CAPACITY: usize = 64;
const INTERFACE_CAPACITY: usize = 64;
const VARIABLE_CAPACITY: usize = 512;
const PLUGIN_CAPACITY: usize = 64;

impl Process {
    pub(super) fn new(host: &str, pid: u32, witness: Witness) -> Self {
        Self {
            host: host.to_owned(),
            pid,
            release: None,
            bootstrap: None,
            networks: Networks::default(),
            interfaces: Vec::new(),
            has_network_edges: false,
            without_gpu_direct: Vec::new(),
            failed_call: None,
            hcas: Vec::new(),
            ofi: OfiFact::default(),
            plugins: BTreeMap::new(),
            environment: BTreeMap::new(),
            warnings: Warnings::default(),
            memberships: Vec::new(),
            shared_edges: Vec::new(),
            queue_pairs: Vec::new(),
            first: witness,
            lines: 0,
            current: BTreeMap::new(),
            threads: BTreeMap::new(),
            last_called: None,
        }
    }

    /// Processes the next entry of this process, written by thread `tid`.
    pub(super) fn observe(
        &mut self,
        entry: &Entry<'_>,
        tid: u32,
        witness: Witness,
        health: &mut Health,
    ) {
        self.lines += 1;
        let message = &entry.message;
        if entry.level == Level::Warn || matches!(message, Message::AsyncEvent(_)) {
            self.warnings.add(entry, witness);
            if matches!(message, Message::Ofi(_)) {
                self.networks.plugin_failed(entry.text, witness);
            }
        }
        self.networks.observe(message, entry.text, witness);
        if entry.text.starts_with("Failed to open libibverbs") {
            self.networks.verbs_missing(witness);
        }
        // RCCL; NCCL names each device instead.
        if entry.text.starts_with("GDRDMA not enabled") && self.without_gpu_direct.is_empty() {
            let reason = entry.text.split_once(". ").map(|(_, reason)| reason.to_owned());
            self.without_gpu_direct.push(WithoutGpuDirect { device: None, reason, witness });
        }
        match message {
            Message::Init(init) => self.init(init, tid, witness, health),
            Message::End(end) => self.end(end),
            Message::Call(call) => match self.current.get(&call.pointer).copied() {
                Some(at) => {
                    self.last_called = Some(at);
                    self.thread(tid).current = Some(at);
                    self.memberships[at].add_call(call, witness);
                }
                None => health.add(HealthEvent::LogCallsOfUnknownCommunicators, 1),
            },
            Message::Choice(choice) => {
                let current = self.thread(tid).current.or(self.last_called);
                let member = current.and_then(|at| self.memberships.get_mut(at));
                if !member.is_some_and(|member| member.add_choice(choice)) {
                    health.add(HealthEvent::LogDroppedChoices, 1);
                }
            }
            Message::Edge(edge) => {
                self.has_network_edges |= matches!(edge.via, Via::Net { .. });
                self.edge(edge, tid, message, witness);
            }
            Message::Summary(summary) => match self.current.get(&summary.pointer) {
                Some(at) => {
                    self.memberships[*at].setup.observe(message, witness);
                }
                None => {
                    self.thread(tid).draft.observe(message, witness);
                }
            },
            _ => {
                self.facts(message, witness);
                self.setup(tid, message, witness);
            }
        }
    }

    /// Concludes which network it uses where no line says so.
    pub(super) fn conclude_network(&mut self) {
        let is_disabled = self.environment.get("NCCL_IB_DISABLE").is_some_and(|set| set != "0");
        let looked_for_plugin = self.networks.looked_for_plugin();
        self.networks.conclude(is_disabled, looked_for_plugin);
    }

    fn thread(&mut self, tid: u32) -> &mut Thread {
        // Threads that connect come and go with rising numbers; the main thread stays.
        if self.threads.len() >= THREAD_CAPACITY && !self.threads.contains_key(&tid) {
            let oldest = self.threads.keys().find(|known| **known != self.pid).copied();
            oldest.and_then(|oldest| self.threads.remove(&oldest));
        }
        self.threads.entry(tid).or_default()
    }

    fn init(&mut self, init: &Init<'_>, tid: u32, witness: Witness, health: &mut Health) {
        let begun = self.current.get(&init.pointer).copied();
        let begun = begun.filter(|at| {
            let member = &self.memberships[*at];
            init.stage == InitStage::Complete && !member.is_complete && member.rank == init.rank
        });
        if let Some(at) = begun {
            let member = &mut self.memberships[at];
            member.is_complete = true;
            member.lines += 1;
            member.hash = member.hash.or(init.hash);
            self.thread(tid).current = Some(at);
            return;
        }
        if self.memberships.len() >= MEMBERSHIP_CAPACITY {
            health.add(HealthEvent::LogDroppedCommunicators, 1);
            return;
        }
        let parent = init.split.and_then(|split| self.current.get(&split.parent).copied());
        let at = self.memberships.len();
        let thread = self.thread(tid);
        let setup = std::mem::take(&mut thread.draft);
        thread.current = Some(at);
        self.memberships.push(Membership::new(init, parent, setup, witness));
        self.current.insert(init.pointer, at);
    }

    fn end(&mut self, end: &End) {
        if let Some(at) = self.current.remove(&end.pointer) {
            self.memberships[at].end = Some(*end);
        }
    }

    /// A line of initialisation: of the communicator that the thread sets up; once that is ready,
    /// of the next one, unless connections are made later.
    fn setup(&mut self, tid: u32, message: &Message<'_>, witness: Witness) {
        let current = self.thread(tid).current;
        let is_late = matches!(message, Message::Connected(_) | Message::InitTimings(_));
        let member = current.and_then(|at| self.memberships.get_mut(at));
        let thread = self.threads.entry(tid).or_default();
        match member {
            Some(member) if !member.is_complete || (is_late && !thread.draft.has_graph()) => {
                member.lines += u64::from(member.setup.observe(message, witness));
            }
            _ => {
                thread.draft.observe(message, witness);
            }
        }
    }

    /// An edge: of the communicator that the thread sets up; else of the only possible one.
    fn edge(&mut self, edge: &Edge<'_>, tid: u32, message: &Message<'_>, witness: Witness) {
        let own = EdgeFact::printed_by(edge);
        let known = self.thread(tid).current.filter(|at| self.memberships[*at].rank == own);
        // Until 2.17, a communicator's edges come before its name.
        let is_next = known.is_none_or(|at| self.memberships[at].is_complete);
        let is_first = known.is_none() && self.memberships.is_empty();
        if is_first || (is_next && self.thread(tid).draft.has_graph()) {
            self.thread(tid).draft.observe(message, witness);
            return;
        }
        if let Some(at) = known.or_else(|| self.owner_of_late_edge(edge, own)) {
            self.thread(tid).current = Some(at);
            let member = &mut self.memberships[at];
            member.setup.observe(message, witness);
            member.lines += 1;
        } else {
            self.shared_edges.push(EdgeFact::new(edge, witness));
        }
    }

    /// The communicator of an edge connected by a thread of unknown purpose.
    fn owner_of_late_edge(&self, edge: &Edge<'_>, own: u32) -> Option<usize> {
        let is_collective = edge.connection_index == Some(0);
        let lacks_it = |member: &&Membership| {
            member.end.is_none()
                && member.rank == own
                && member.nranks > edge.sender.max(edge.receiver)
                && !(is_collective && member.has_rings())
        };
        let members = self.memberships.iter().enumerate();
        let mut fit = members.filter(|(_, member)| lacks_it(member)).map(|(at, _)| at);
        match (fit.next(), fit.next()) {
            (Some(at), None) => Some(at),
            (Some(_), Some(_)) => self.last_called.filter(|at| lacks_it(&&self.memberships[*at])),
            _ => None,
        }
    }

    /// Facts about the process itself.
    fn facts(&mut self, message: &Message<'_>, witness: Witness) {
        match message {
            Message::Release(release) => self.release = self.release.or(Some(*release)),
            Message::BootstrapInterface(interface) => {
                let known = || (interface.name.to_owned(), interface.ip());
                self.bootstrap.get_or_insert_with(known);
            }
            Message::Hcas(hcas) => {
                for hca in hcas.iter() {
                    self.hca(hca.device, |fact| {
                        fact.port = hca.port;
                        hca.link_layer.clone_into(&mut fact.link_layer);
                    });
                }
            }
            Message::Device(device) => self.hca(device.name, |fact| {
                fact.speed_mbps = device.speed_mbps;
                fact.is_adaptive = device.is_adaptive;
            }),
            Message::SocketInterfaces(interfaces) if self.interfaces.is_empty() => {
                let all = interfaces.iter().take(INTERFACE_CAPACITY);
                let all = all.map(|one| (one.name.to_owned(), one.address.to_owned()));
                self.interfaces = all.collect();
            }
            Message::GpuDirect(direct) => self.gpu_direct(direct, witness),
            Message::Trace(trace) if self.failed_call.is_none() => {
                let named = |error: &str| FailedCall {
                    place: trace.place.to_owned(),
                    error: error.to_owned(),
                    witness,
                };
                self.failed_call = trace.error().map(named);
            }
            Message::Ofi(ofi) => self.ofi.observe(ofi),
            Message::Plugin(plugin) if plugin.area != "NET" => {
                let (name, is_loaded) = match plugin.event {
                    PluginEvent::Loaded(name) => (name, true),
                    PluginEvent::Missing(name) if !name.is_empty() => (name, false),
                    _ => return,
                };
                if self.plugins.len() < PLUGIN_CAPACITY {
                    self.plugins.insert((plugin.area.to_owned(), name.to_owned()), is_loaded);
                }
            }
            Message::Environment { name, value } if self.environment.len() < VARIABLE_CAPACITY => {
                self.environment.insert((*name).to_owned(), (*value).to_owned());
            }
            Message::QueuePair(pair) => {
                let named = pair.device.and_then(|at| self.hcas.get(at as usize));
                let device = named.map(|hca| hca.device.clone());
                self.queue_pair(pair.qpn, |fact| {
                    fact.address = pair.address;
                    fact.end = Some(EdgeEnd::Send);
                    fact.cts_remote_key = pair.cts_remote_key;
                    fact.device = fact.device.take().or(device);
                    fact.witness = witness;
                });
            }
            Message::QueuePairCreated(pair) => self.queue_pair(pair.qpn, |fact| {
                fact.device = pair.device.map(str::to_owned);
                fact.end = pair.end;
                fact.is_flush = pair.is_flush;
                fact.witness = witness;
            }),
            _ => {}
        }
    }

    /// Whether an HCA uses GPUDirect RDMA: for a process, or for each of its GPUs.
    fn gpu_direct(&mut self, direct: &GpuDirect<'_>, witness: Witness) {
        let numbered = || {
            let known = self.hcas.get(direct.number? as usize)?;
            Some(known.device.clone())
        };
        let device = direct.device.map(str::to_owned).or_else(numbered);
        if let Some(device) = &device {
            self.hca(device, |fact| fact.is_gpu_direct = Some(direct.is_enabled));
        }
        let is_news = !direct.is_enabled
            && !self.without_gpu_direct.iter().any(|known| known.device == device);
        if is_news && self.without_gpu_direct.len() < HCA_CAPACITY {
            let reason = direct.distance.map(|distance| format!("distance {distance}"));
            let reason = reason.or_else(|| direct.reason.map(str::to_owned));
            self.without_gpu_direct.push(WithoutGpuDirect { device, reason, witness });
        }
    }

    fn hca(&mut self, device: &str, set: impl FnOnce(&mut HcaFact)) {
        if let Some(fact) = self.hcas.iter_mut().find(|fact| fact.device == device) {
            set(fact);
        } else if self.hcas.len() < HCA_CAPACITY {
            let mut fact = HcaFact {
                device: device.to_owned(),
                port: 1,
                link_layer: String::new(),
                speed_mbps: None,
                is_adaptive: None,
                is_gpu_direct: None,
            };
            set(&mut fact);
            self.hcas.push(fact);
        }
    }

    /// Records a line's facts about a queue pair; a reused number is a new queue pair.
    fn queue_pair(&mut self, qpn: Qpn, set: impl FnOnce(&mut QueuePairFact)) {
        let last = self.queue_pairs.iter_mut().rev().take(64).find(|fact| fact.qpn == qpn);
        if let Some(fact) = last.filter(|fact| fact.address.is_none()) {
            set(fact);
        } else {
            let mut fact = QueuePairFact {
                qpn,
                address: None,
                device: None,
                end: None,
                cts_remote_key: None,
                is_flush: false,
                witness: self.first,
            };
            set(&mut fact);
            self.queue_pairs.push(fact);
        }
    }
}

impl OfiFact {
    fn observe(&mut self, ofi: &Ofi<'_>) {
        let (fact, value) = match ofi {
            Ofi::Release(value) => (&mut self.release, value),
            Ofi::Libfabric(value) => (&mut self.libfabric, value),
            Ofi::Protocol(value) => (&mut self.protocol, value),
            Ofi::Provider(value) => (&mut self.provider, value),
            Ofi::NoProvider | Ofi::Other(_) => return,
        };
        *fact = Some((*value).trim().to_owned());
    }
}
