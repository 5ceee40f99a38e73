//! The input of findings: all results of earlier layers.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::settings::Settings;
use crate::analysis::judged::{JudgedCollective, JudgedIteration};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::roll_call::Rolls;
use crate::analysis::state::State;
use crate::flow::observer::Signal;
use crate::flow::pause::{PauseKey, PauseState};
use crate::flow::port::MeteredPort;
use crate::flow::state::Flow;
use crate::flow::tap::TapState;
use crate::link::clock::timeline;
use crate::link::job::{Communicator, CommunicatorId, Identity, Job};
use crate::link::traffic::record::SignalRecord;
use crate::model::address::{HostAddress, MacAddress};
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// Everything that findings may use.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The state that earlier layers gathered.
    pub state: &'a State,
    /// Collectives in order of time.
    pub collectives: &'a [JudgedCollective],
    /// Training steps in order of time.
    pub iterations: &'a [JudgedIteration],
    /// Queue pairs with their answers, as all taps saw them.
    pub flows: &'a [QueuePair],
    /// What processes recorded of their own calls, compared.
    pub rolls: &'a Rolls,
    /// The user's settings.
    pub settings: &'a Settings,
}

impl<'a> Facts<'a> {
    /// Communicators and connections; `None` if nothing was linked.
    #[must_use]
    pub const fn job(&self) -> Option<&'a Job> {
        self.state.job.as_ref()
    }

    /// Flows of all taps, by index.
    #[must_use]
    pub fn table(&self) -> &'a [Flow] {
        self.state.tracker.flows().flows()
    }

    /// A frame of `tap`, which saw it at `time` by its own clock.
    #[must_use]
    pub fn frame(&self, tap: TapId, number: u64, time: Timestamp) -> Witness {
        self.state.frame(tap, number, time)
    }

    /// A span of `tap`'s own clock, aligned.
    #[must_use]
    pub fn aligned_span(&self, tap: TapId, span: Span) -> Span {
        timeline::aligned_span(span, tap, &self.state.clocks)
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
        let taps =
            (0..).map(TapId).zip(self.state.tracker.taps()).filter(|(_, tap)| is_wanted(tap));
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
        // A pause crosses no hop; further away, frames have the MAC address of a router.
        let is_near = |port: &&MeteredPort| {
            let tap = self.state.positions.get(port.tap.0 as usize);
            tap.is_none_or(|tap| tap.near.is_empty() || tap.near.contains_key(&port.address))
        };
        let ports = self.state.tracker.ports().ports().iter();
        let of_mac = ports.filter(|port| port.mac == Some(mac)).filter(is_near);
        let of_mac = of_mac.map(|port| port.address.to_ip());
        let addresses: std::collections::BTreeSet<IpAddr> = of_mac.collect();
        // A router's MAC address is on packets of many ports.
        addresses.first().copied().filter(|_| addresses.len() == 1)
    }

    /// The pause requests of each station and priority, from the tap that captured most of them:
    /// taps at both ends of a link see the same frames.
    #[must_use]
    pub fn pauses(&self) -> Vec<(&PauseKey, &PauseState)> {
        let mut most: BTreeMap<_, (&PauseKey, &PauseState)> = BTreeMap::new();
        let amount = |state: &PauseState| (state.paused_ns, state.pause_frames);
        for (key, state) in self.state.tracker.pauses().iter() {
            let best = most.entry((key.station, key.priority)).or_insert((key, state));
            if amount(state) > amount(best.1) {
                *best = (key, state);
            }
        }
        most.into_values().collect()
    }

    /// The first CNP or NAK about `flow` at any tap that matches `is_it`.
    #[must_use]
    pub fn first_signal(
        &self,
        flow: &QueuePair,
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
        let record = self.state.signals.iter().find(is_against)?;
        Some(Witness::Frame { tap: record.key.tap, number: record.number, time: record.time })
    }

    /// Looks up a communicator; `None` without a job.
    #[must_use]
    pub fn communicator(&self, id: CommunicatorId) -> Option<&'a Communicator> {
        self.job()?.communicator(id)
    }

    /// What identifies a communicator.
    #[must_use]
    pub fn identity_of(&self, id: CommunicatorId) -> Option<Identity> {
        Some(self.communicator(id)?.identity)
    }

    /// The line rate of the taps that see a port, in bits per second; `None` if it is unknown.
    #[must_use]
    pub fn line_rate_bps(&self, port: IpAddr) -> Option<u64> {
        let address = HostAddress::from(port);
        let ports =
            self.state.tracker.ports().ports().iter().filter(|known| known.address == address);
        let taps = ports.filter_map(|known| self.state.tracker.tap(known.tap));
        taps.filter_map(|tap| tap.line_rate_bps).max()
    }

    /// Several rails, or several parallel uplinks, are known.
    #[must_use]
    pub fn has_parallel_paths(&self) -> bool {
        let rails: std::collections::BTreeSet<u32> =
            self.flows.iter().filter_map(|flow| self.state.rails.of_address(flow.source)).collect();
        rails.len() > 1 || !super::uplink::uplinks(self.state).is_empty()
    }
}
