//! Which networks a process tried, in which order, and why each was rejected.

use crate::decode::nccl_log::graph::{Edge, Via};
use crate::decode::nccl_log::message::Message;
use crate::decode::nccl_log::network::{Ofi, PluginEvent};
use crate::model::witness::Witness;

/// Outcome of trying a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Examined, outcome unknown.
    Tried,
    /// The plugin's library does not exist.
    Missing,
    /// Unusable.
    Failed,
    /// In use between nodes.
    Chosen,
}

impl Outcome {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tried => "tried",
            Self::Missing => "missing",
            Self::Failed => "failed",
            Self::Chosen => "chosen",
        }
    }
}

/// A network that a process tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkAttempt {
    /// `IB`, `Socket`, or the plugin's or its library's name.
    pub name: String,
    /// Whether it was chosen, failed or is missing.
    pub outcome: Outcome,
    /// The first reason given.
    pub reason: Option<String>,
    /// The line with the reason; else the first about it.
    pub witness: Witness,
}

/// Networks kept per process; NCCL supports fewer.
const CAPACITY: usize = 32;

/// The networks of a process, in the order they were tried.
#[derive(Clone, Debug, Default)]
pub struct Networks {
    list: Vec<NetworkAttempt>,
    /// The last plugin loaded: lines of aws-ofi-nccl do not name it.
    plugin: Option<usize>,
}

impl Networks {
    /// Processes a line about networks.
    pub(super) fn observe(&mut self, message: &Message<'_>, text: &str, witness: Witness) {
        match message {
            Message::Plugin(plugin) if plugin.area == "NET" => self.plugin(plugin.event, witness),
            Message::Ofi(Ofi::NoProvider) => self.plugin_failed(text, witness),
            Message::Hcas(hcas) if hcas.iter().next().is_some() => {
                self.set("IB", Outcome::Tried, None, witness);
            }
            Message::NoHca => self.set("IB", Outcome::Failed, Some("No device found"), witness),
            Message::SocketInterfaces(_) => self.set("Socket", Outcome::Tried, None, witness),
            Message::NoSocketInterface => {
                self.set("Socket", Outcome::Failed, Some("No usable listening interface"), witness);
            }
            Message::Network(name) | Message::InitializedNetwork(name) => {
                self.set(name, Outcome::Chosen, None, witness);
            }
            Message::NicDistance { network, .. } => {
                self.set(network, Outcome::Chosen, None, witness);
            }
            // Releases before 2.6 do not say which network they use, but every connection names it.
            Message::Edge(Edge { via: Via::Net { network, .. }, .. })
                if self.chosen().is_none() =>
            {
                self.set(network, Outcome::Chosen, None, witness);
            }
            _ => {}
        }
    }

    /// The verbs library cannot be loaded.
    pub(super) fn verbs_missing(&mut self, witness: Witness) {
        self.set("IB", Outcome::Failed, Some("libibverbs cannot be loaded"), witness);
    }

    /// Processes a warning of the plugin.
    pub(super) fn plugin_failed(&mut self, text: &str, witness: Witness) {
        let text = text.strip_prefix("NET/OFI ").unwrap_or(text);
        let name = match self.plugin.and_then(|at| self.list.get(at)) {
            Some(attempt) => attempt.name.clone(),
            None => "OFI".to_owned(),
        };
        self.set(&name, Outcome::Failed, Some(text.trim_end_matches('.')), witness);
    }

    fn plugin(&mut self, event: PluginEvent<'_>, witness: Witness) {
        match event {
            // Two symbols may be loaded from one library; the first names it.
            PluginEvent::Loaded(name) if self.plugin.is_none() => {
                self.set(name, Outcome::Tried, None, witness);
                self.plugin = self.position(name);
            }
            PluginEvent::Missing(library) if !library.is_empty() => {
                self.set(library, Outcome::Missing, Some("library not found"), witness);
            }
            PluginEvent::Failed(text) => {
                self.set("plugin", Outcome::Failed, Some(text), witness);
            }
            _ => {}
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|attempt| attempt.name == name)
    }

    fn set(&mut self, name: &str, outcome: Outcome, reason: Option<&str>, witness: Witness) {
        let at = match self.position(name) {
            Some(at) => at,
            None if self.list.len() < CAPACITY => {
                let name = name.to_owned();
                self.list.push(NetworkAttempt { name, outcome, reason: None, witness });
                self.list.len() - 1
            }
            None => return,
        };
        let Some(attempt) = self.list.get_mut(at) else { return };
        attempt.outcome = attempt.outcome.max(outcome);
        if let (None, Some(reason)) = (&attempt.reason, reason) {
            attempt.reason = Some(reason.to_owned());
            attempt.witness = witness;
        }
    }

    /// All networks, in the order in which the process tried them.
    pub fn iter(&self) -> impl Iterator<Item = &NetworkAttempt> {
        self.list.iter()
    }

    /// Concludes which network is in use where no line says so: NET/IB if it has a device, else
    /// NET/Socket once NET/IB has failed, is disabled, or was passed over (`looked_for_plugin`: releases
    /// before 2.6 look for a plugin after NET/Socket and before NET/IB).
    pub(super) fn conclude(&mut self, is_ib_disabled: bool, looked_for_plugin: bool) {
        let of = |name| self.list.iter().find(|attempt: &&NetworkAttempt| attempt.name == name);
        let outcome = |name| of(name).map(|attempt| attempt.outcome);
        let is_tried = |name| outcome(name) == Some(Outcome::Tried);
        if self.chosen().is_some() || self.plugin.is_some() {
            return;
        }
        let is_without_ib = outcome("IB") == Some(Outcome::Failed)
            || is_ib_disabled
            || (outcome("IB").is_none() && looked_for_plugin);
        let name = match (is_tried("IB"), is_tried("Socket") && is_without_ib) {
            (true, _) if !is_ib_disabled => "IB",
            (_, true) => "Socket",
            _ => return,
        };
        if let Some(attempt) = self.list.iter_mut().find(|attempt| attempt.name == name) {
            attempt.outcome = Outcome::Chosen;
        }
    }

    /// Whether a plugin was looked for, in vain.
    pub(super) fn looked_for_plugin(&self) -> bool {
        self.list.iter().any(|attempt| attempt.outcome == Outcome::Missing)
    }

    /// The network in use between nodes.
    #[must_use]
    pub fn chosen(&self) -> Option<&str> {
        let chosen = self.list.iter().rev().find(|attempt| attempt.outcome == Outcome::Chosen);
        chosen.map(|attempt| attempt.name.as_str())
    }
}
