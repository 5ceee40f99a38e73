//! Health: the counters of all layers for what was dropped, rejected or remained unknown.

use super::state::State;
use crate::flow::state::Flow;
use crate::flow::tap::TapState;
use crate::link::position::Position;
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::opcode::Transport;
use crate::model::qpn::Qpn;

/// The counters that `state` gathered, with those that its tables and taps keep.
#[must_use]
pub fn count(state: &State) -> Health {
    let mut health = state.health.clone();
    let tracker = &state.tracker;
    let sum = |of: fn(&TapState) -> u64| tracker.taps().iter().map(of).sum::<u64>();
    health.add(HealthEvent::CaptureBackwardTimeFrames, sum(|tap| tap.backward_frames));
    health.add(HealthEvent::CaptureLostFrames, sum(|tap| tap.lost_frames));
    health.add(HealthEvent::CaptureTruncatedFrames, sum(|tap| tap.truncated_frames));
    health.add(HealthEvent::FlowTapDuplicates, sum(|tap| tap.duplicates));
    let flows = tracker.flows();
    health.add(HealthEvent::FlowEvictedFlows, flows.evicted_flows());
    health.add(HealthEvent::FlowEvictedFrames, flows.evicted_frames());
    health.add(HealthEvent::FlowRestartedEpochs, tracker.restarted_epochs());
    flows.flows().iter().for_each(|flow| add_flow(&mut health, state, flow));
    health.add(HealthEvent::ConnectionMessages, tracker.connections().messages());
    health.add(HealthEvent::ConnectionEvicted, tracker.connections().evicted());
    health.add(HealthEvent::PortUnmeteredFrames, tracker.ports().unmetered());
    health.add(HealthEvent::MirrorUncheckedFrames, tracker.mirrors().unchecked());
    let lost = tracker.mirrors().iter().map(|(_, session)| session.lost_frames);
    health.add(HealthEvent::MirrorLostFrames, lost.sum());
    health.add(HealthEvent::PauseRefused, tracker.pauses().refused());
    state.sampled.add_health(&mut health);
    health
}

fn add_flow(health: &mut Health, state: &State, flow: &Flow) {
    let counts = flow.requester().requests.counts();
    health.add(HealthEvent::FlowAmbiguousPackets, counts.ambiguous_packets);
    health.add(HealthEvent::FlowHolesEvicted, counts.holes_evicted);
    health.add(HealthEvent::FlowUnexpectedAcks, flow.unexpected_acks);
    health.add(HealthEvent::FlowUnmeasuredRoundTrips, flow.requester().round_trips.unmeasured());
    let answers = flow.requester().answers.as_ref().map_or(0, |answers| answers.forgotten());
    health.add(HealthEvent::FlowAnswersForgotten, answers);
    let episodes = flow.episodes.as_ref().map_or(0, |episodes| episodes.unlisted());
    health.add(HealthEvent::FlowEpisodesUnlisted, episodes);
    health.add(HealthEvent::FlowTallyOverflow, flow.headers.overflow());
    let is_datagram = flow.transport == Transport::Ud && flow.key.dest_qpn != Qpn::GSI;
    health.add(HealthEvent::FlowDatagramFlows, u64::from(is_datagram));
    health.add(HealthEvent::FlowSeveralDatagramSources, u64::from(flow.has_several_sources));
    let should_have_reverse = matches!(flow.transport, Transport::Rc | Transport::Xrc);
    let is_unpaired = flow.reverse.is_none() && should_have_reverse;
    health.add(HealthEvent::FlowUnpaired, u64::from(is_unpaired));
    let hides_marks = flow.marks().visible_ce(state.position(flow) == Position::Sender).is_none();
    health.add(HealthEvent::EcnCeNotVisibleNextToSenderFlows, u64::from(hides_marks));
}
