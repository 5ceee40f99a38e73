//! Taps judged: next to which hosts they stand, what they see of them, and how complete that is.

use std::collections::BTreeMap;

use super::state::State;
use crate::flow::state::Flow;
use crate::flow::tap::TapState;
use crate::link::position::{NearEvidence, Position};
use crate::model::address::HostAddress;
use crate::model::tap::TapId;

/// One tap.
#[derive(Clone, Debug)]
pub struct JudgedTap {
    /// Which.
    pub id: TapId,
    /// Its position relative to most of the payload it saw.
    pub position: Position,
    /// Hosts next to it, by address.
    pub near: Vec<NearHost>,
    /// Directions it sees of these hosts.
    pub sees: Sees,
    /// How complete its frames are.
    pub completeness: Completeness,
    /// Frames lost by its source or by mirror sessions.
    pub lost_frames: u64,
}

/// A host next to a tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearHost {
    /// Its address.
    pub address: HostAddress,
    /// Position of the tap relative to most of this host's payload.
    pub position: Position,
    /// Why it is considered near.
    pub evidence: NearEvidence,
}

/// Directions that a tap sees of the hosts next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
    /// Both.
    Both,
    /// Only what they send.
    Sent,
    /// Only what they receive.
    Received,
}

/// How complete the frames of a tap are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// Frames are complete, and none is reported lost.
    Lossless,
    /// Some frames are truncated; none is reported lost.
    Truncated,
    /// Frames are reported lost.
    Lossy,
}

/// The taps in the order of their numbers.
#[must_use]
pub fn judge(state: &State) -> Vec<JudgedTap> {
    let mut near: BTreeMap<TapId, BTreeMap<HostAddress, NearTraffic>> = BTreeMap::new();
    for flow in state.tracker.flows().flows() {
        add_near_traffic(near.entry(flow.key.tap).or_default(), state, flow);
    }
    let taps = (0..).map(TapId).zip(state.tracker.taps());
    taps.map(|(id, tap)| judge_one(state, id, tap, near.get(&id).unwrap_or(&BTreeMap::new())))
        .collect()
}

fn judge_one(
    state: &State,
    id: TapId,
    tap: &TapState,
    near: &BTreeMap<HostAddress, NearTraffic>,
) -> JudgedTap {
    let known = state.positions.get(id.0 as usize);
    let hosts = known.into_iter().flat_map(|position| &position.near);
    let near_host = |(address, evidence): (&HostAddress, &NearEvidence)| NearHost {
        address: *address,
        position: near.get(address).copied().unwrap_or_default().mostly(),
        evidence: *evidence,
    };
    let all = near.values().fold(NearTraffic::default(), NearTraffic::plus);
    let lost_frames = state.tracker.lost_frames(id);
    JudgedTap {
        id,
        position: match known {
            Some(position) if position.is_mirror => Position::Fabric,
            _ => all.mostly(),
        },
        near: hosts.map(near_host).collect(),
        sees: match all.frames {
            [sent, 0] if sent > 0 => Sees::Sent,
            [0, received] if received > 0 => Sees::Received,
            _ => Sees::Both,
        },
        completeness: match (lost_frames, tap.truncated_frames) {
            (0, 0) => Completeness::Lossless,
            (0, _) => Completeness::Truncated,
            _ => Completeness::Lossy,
        },
        lost_frames,
    }
}

/// Payload and frames that a near host sent and received.
#[derive(Clone, Copy, Default)]
struct NearTraffic {
    payload: [u64; 2],
    frames: [u64; 2],
}

impl NearTraffic {
    fn plus(self, other: &Self) -> Self {
        let sum = |one: [u64; 2], other: [u64; 2]| [one[0] + other[0], one[1] + other[1]];
        Self { payload: sum(self.payload, other.payload), frames: sum(self.frames, other.frames) }
    }

    fn mostly(self) -> Position {
        match self.payload {
            [0, 0] => Position::Unknown,
            [sent, received] if sent >= received => Position::Sender,
            _ => Position::Receiver,
        }
    }
}

/// Adds a flow to the traffic of the near host at its end.
fn add_near_traffic(near: &mut BTreeMap<HostAddress, NearTraffic>, state: &State, flow: &Flow) {
    let (host, side) = match state.position(flow) {
        Position::Sender => (flow.key.source, 0),
        Position::Receiver => (flow.key.destination, 1),
        Position::Fabric | Position::Unknown => return,
    };
    let traffic = near.entry(host).or_default();
    traffic.payload[side] += flow.payload_bytes;
    traffic.frames[side] += flow.frames;
}
