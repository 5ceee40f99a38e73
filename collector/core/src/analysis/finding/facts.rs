//! What findings are made of: everything that the layers before found out.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::joined_flow::JoinedFlow;
use super::settings::Settings;
use crate::analysis::collective::Collective;
use crate::analysis::iteration::Iteration;
use crate::analysis::straggler::Straggler;
use crate::flow::observer::Signal;
use crate::flow::pause::{PauseKey, PauseState};
use crate::flow::state::Flow;
use crate::flow::tap::TapState;
use crate::flow::tcp_stream::attempt::Attempts;
use crate::flow::tracker::FlowTracker;
use crate::link::clock::clocks::Clocks;
use crate::link::clock::timeline;
use crate::link::control::facts::StreamFacts;
use crate::link::counter::Counters;
use crate::link::job::{Communicator, CommunicatorId, Identity, Job};
use crate::link::log::LogFacts;
use crate::link::position::TapPosition;
use crate::link::rail::Rails;
use crate::link::traffic::record::SignalRecord;
use crate::model::address::{HostAddress, MacAddress};
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// The facts.
pub struct Facts<'a> {
    /// Taps, flows, ports, pause.
    pub tracker: &'a FlowTracker,
    /// Where the taps stand.
    pub positions: &'a [TapPosition],
    /// The taps' clocks: what `tracker` and `attempts` say is not aligned, all else is.
    pub clocks: &'a Clocks,
    /// Flows with their answers, as all taps saw them.
    pub flows: Vec<JoinedFlow>,
    /// Communicators and connections; `None` where nothing was linked.
    pub job: Option<&'a Job>,
    /// Collectives in order of time.
    pub collectives: &'a [Collective],
    /// The straggler of each collective, by its place.
    pub stragglers: &'a [Option<Straggler>],
    /// Training steps in order of time.
    pub iterations: &'a [Iteration],
    /// TCP connections of the control plane.
    pub streams: &'a [StreamFacts],
    /// CNPs and NAKs in the order in which they passed.
    pub signals: &'a [SignalRecord],
    /// TCP connections that were asked for.
    pub attempts: &'a Attempts,
    /// NCCL's logs.
    pub logs: &'a LogFacts,
    /// The communicator of each membership in the logs: by place of process and membership.
    pub memberships: &'a BTreeMap<(usize, usize), CommunicatorId>,
    /// NIC counters.
    pub counters: &'a Counters,
    /// Which rail a port is on.
    pub rails: &'a Rails,
    /// What the user set.
    pub settings: &'a Settings,
    /// Flows or messages were dropped for want of room: what does not show may have been there.
    pub is_cut_short: bool,
}

impl<'a> Facts<'a> {
    /// The flow table.
    #[must_use]
    pub fn table(&self) -> &'a [Flow] {
        self.tracker.flows().flows()
    }

    /// A frame of `tap`, which saw it at `time` by its own clock.
    #[must_use]
    pub fn frame(&self, tap: TapId, number: u64, time: Timestamp) -> Witness {
        Witness::Frame { tap, number, time: self.clocks.aligned(tap, time) }
    }

    /// A span of `tap`'s own clock, aligned.
    #[must_use]
    pub fn aligned_span(&self, tap: TapId, span: Span) -> Span {
        timeline::aligned_span(span, tap, self.clocks)
    }

    /// From the first frame of all taps to the last.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        self.span_of(|_| true)
    }

    /// From the first RoCE frame to the last, of all flows.
    #[must_use]
    pub fn roce_span(&self) -> Option<Span> {
        self.span_of(|tap| tap.roce_frames > 0)
    }

    fn span_of(&self, is_wanted: impl Fn(&TapState) -> bool) -> Option<Span> {
        let taps = (0..).map(TapId).zip(self.tracker.taps()).filter(|(_, tap)| is_wanted(tap));
        let spans = taps.filter_map(|(id, tap)| Some(self.aligned_span(id, tap.span?)));
        let spans: Vec<Span> = spans.collect();
        Some(Span {
            first: spans.iter().map(|span| span.first).min()?,
            last: spans.iter().map(|span| span.last).max()?,
        })
    }

    /// The address of the port that sends with this MAC address.
    #[must_use]
    pub fn port_of_mac(&self, mac: MacAddress) -> Option<IpAddr> {
        let ports = self.tracker.ports().ports().iter();
        let of_mac = ports.filter(|port| port.mac == Some(mac)).map(|port| port.address.to_ip());
        let addresses: std::collections::BTreeSet<IpAddr> = of_mac.collect();
        // A router's address stands before the packets of many.
        addresses.first().copied().filter(|_| addresses.len() == 1)
    }

    /// What each station asked for, by priority, once: both ends of a link see the same frames, and
    /// the tap counts that saw most of them.
    #[must_use]
    pub fn pauses(&self) -> Vec<(&PauseKey, &PauseState)> {
        let mut most: BTreeMap<_, (&PauseKey, &PauseState)> = BTreeMap::new();
        let amount = |state: &PauseState| (state.paused_ns, state.pause_frames);
        for (key, state) in self.tracker.pauses().iter() {
            let best = most.entry((key.station, key.priority)).or_insert((key, state));
            if amount(state) > amount(best.1) {
                *best = (key, state);
            }
        }
        most.into_values().collect()
    }

    /// The first CNP or NAK that `is_it` holds for, against `flow` at any tap.
    #[must_use]
    pub fn first_signal(
        &self,
        flow: &JoinedFlow,
        is_it: impl Fn(&Signal) -> bool,
    ) -> Option<Witness> {
        let table = self.table();
        let backs: Vec<_> = flow
            .views
            .iter()
            .filter_map(|at| {
                let seen = table.get(*at as usize)?;
                let back = seen.reverse.and_then(|reverse| table.get(reverse.flow as usize));
                let carrier = back.unwrap_or(seen);
                Some((carrier.key, carrier.epoch))
            })
            .collect();
        let is_against = |record: &&SignalRecord| {
            is_it(&record.signal) && backs.contains(&(record.key, record.epoch))
        };
        let record = self.signals.iter().find(is_against)?;
        Some(Witness::Frame { tap: record.key.tap, number: record.number, time: record.time })
    }

    /// A communicator.
    #[must_use]
    pub fn communicator(&self, id: CommunicatorId) -> Option<&'a Communicator> {
        self.job?.communicators.get(id.0 as usize)
    }

    /// How findings name a communicator: by its hash, as reports do.
    #[must_use]
    pub fn name_of(&self, id: CommunicatorId) -> String {
        match self.communicator(id).map(|communicator| communicator.identity) {
            Some(Identity::CommHash(hash) | Identity::LogHash(hash) | Identity::Magic(hash)) => {
                format!("{hash:016x}")
            }
            Some(Identity::Inferred(number)) => format!("inferred-{number}"),
            None => "a communicator".to_owned(),
        }
    }

    /// The line rate of the taps that see a port, in bits per second; `None` where it is unknown.
    #[must_use]
    pub fn line_rate_bps(&self, port: IpAddr) -> Option<u64> {
        let address = HostAddress::from(port);
        let ports = self.tracker.ports().ports().iter().filter(|known| known.address == address);
        let taps = ports.filter_map(|known| self.tracker.taps().get(known.tap.0 as usize));
        taps.filter_map(|tap| tap.line_rate_bps).max()
    }

    /// Several rails, or several parallel uplinks, are known.
    #[must_use]
    pub fn has_parallel_paths(&self) -> bool {
        let rails: std::collections::BTreeSet<u32> =
            self.flows.iter().filter_map(|flow| self.rails.of_address(flow.source)).collect();
        rails.len() > 1 || !super::uplink::uplinks(self).is_empty()
    }
}
