//! Where a switch puts a DSCP, and what it does with it: what its maps and settings say together.
//! What they do not list is not known.

use std::collections::{BTreeMap, BTreeSet};

use super::switch::Switch;
use crate::model::node::Trust;
use crate::model::switch::{MapKind, SwitchPort};

/// Queues of one port, or of a profile: those that are known, and those of them that mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EcnQueues {
    /// Queues whose setting is known.
    pub known: BTreeSet<u8>,
    /// Those in which packets are marked with ECN.
    pub marked: BTreeSet<u8>,
}

impl Switch {
    /// Priorities with PFC: of each port, and of each profile.
    pub fn lossless(&self) -> impl Iterator<Item = [bool; 8]> {
        let ports = self.ports.values().filter_map(|port| port.lossless);
        ports.chain(self.settings.values().filter_map(|one| one.lossless))
    }

    /// Whether all that is known trusts the PCP alone.
    #[must_use]
    pub fn trusts_pcp_alone(&self) -> bool {
        let mut known = self.settings.values().filter_map(|one| one.trust).peekable();
        known.peek().is_some() && known.all(|trust| trust == Trust::Pcp)
    }

    /// Priorities for which the switch pauses packets with this DSCP; `None` if a map that may apply
    /// does not list it.
    #[must_use]
    pub fn priorities_of(&self, dscp: u8) -> Option<BTreeSet<u8>> {
        let mut found = BTreeSet::new();
        for (_, map) in self.dscp_maps() {
            found.extend(self.groups_of(*map.get(&dscp)?)?);
        }
        (!found.is_empty()).then_some(found)
    }

    /// DSCPs that the switch puts in this priority.
    #[must_use]
    pub fn dscps_of(&self, priority: u8) -> BTreeSet<u8> {
        let maps = self.dscp_maps();
        let all = maps.flat_map(|(_, map)| map.iter());
        let own = all.filter(|(_, class)| {
            self.groups_of(**class).is_some_and(|groups| groups.contains(&priority))
        });
        own.map(|(dscp, _)| *dscp).collect()
    }

    /// Whether it has a map of DSCPs.
    #[must_use]
    pub fn has_dscp_map(&self) -> bool {
        self.dscp_maps().next().is_some()
    }

    /// The queues that packets of a lossless priority leave from; `None` if no map lists it.
    #[must_use]
    pub fn queues_of(&self, priority: u8) -> Option<BTreeSet<u8>> {
        // Of SONiC, the queue that stops for a pause of this priority is the one that it leaves from.
        let by_pfc: BTreeSet<u8> = self.of_kind(MapKind::PfcToQueue, priority).collect();
        if !by_pfc.is_empty() {
            return Some(by_pfc);
        }
        let queues: BTreeSet<u8> = self.of_kind(MapKind::ClassToQueue, priority).collect();
        (!queues.is_empty()).then_some(queues)
    }

    /// Which queues mark packets: of each port, and of each profile of which it is known.
    #[must_use]
    pub fn ecn_queues(&self) -> Vec<EcnQueues> {
        let ports = self.ports.values().filter_map(|port| self.ecn_of_port(port));
        let eight = |marked: [bool; 8]| EcnQueues {
            known: (0..8).collect(),
            marked: (0..).zip(marked).filter(|(_, is_on)| *is_on).map(|(queue, _)| queue).collect(),
        };
        let settings = self.settings.values().filter_map(|one| one.ecn_queues).map(eight);
        ports.chain(settings).collect()
    }

    fn ecn_of_port(&self, port: &SwitchPort) -> Option<EcnQueues> {
        let mut found = EcnQueues::default();
        for (queue, profile) in &port.queues {
            let marks = match profile {
                None => Some(false),
                Some(name) => {
                    let profile = self.profiles.get(name);
                    profile.and_then(|one| one.ecn.as_deref()).map(|ecn| ecn != "ecn_none")
                }
            };
            let Some(marks) = marks else { continue };
            found.known.insert(*queue);
            if marks {
                found.marked.insert(*queue);
            }
        }
        (!found.known.is_empty()).then_some(found)
    }

    /// Maps of DSCPs that are in use: those that ports name, or all if none names one.
    fn dscp_maps(&self) -> impl Iterator<Item = (&Option<String>, &BTreeMap<u8, u8>)> {
        let named: BTreeSet<&str> =
            self.ports.values().filter_map(|port| port.dscp_map.as_deref()).collect();
        let all = self.maps.iter().filter(|((kind, _), _)| *kind == MapKind::DscpToClass);
        let is_used = move |name: &Option<String>| {
            named.is_empty() || name.as_deref().is_some_and(|name| named.contains(name))
        };
        all.map(|((_, name), map)| (name, map)).filter(move |(name, _)| is_used(name))
    }

    /// Priority groups of a class: itself, unless a map says otherwise.
    fn groups_of(&self, class: u8) -> Option<BTreeSet<u8>> {
        if !self.maps.keys().any(|(kind, _)| *kind == MapKind::ClassToGroup) {
            return Some(BTreeSet::from([class]));
        }
        let groups: BTreeSet<u8> = self.of_kind(MapKind::ClassToGroup, class).collect();
        (!groups.is_empty()).then_some(groups)
    }

    fn of_kind(&self, kind: MapKind, key: u8) -> impl Iterator<Item = u8> {
        let all = self.maps.iter().filter(move |((own, _), _)| *own == kind);
        all.filter_map(move |(_, map)| map.get(&key).copied())
    }
}
