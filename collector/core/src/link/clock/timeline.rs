//! Converts recorded times to the reference's clock.

use super::clocks::Clocks;
use crate::link::control::facts::{ControlFacts, StreamFacts};
use crate::link::traffic::record::{FlowTraffic, ResendRecord, SignalRecord};
use crate::model::tap::TapId;
use crate::model::time::Span;
use crate::model::witness::Witness;

/// Converts all times of the control plane.
pub fn align_facts(facts: &mut ControlFacts, clocks: &Clocks) {
    let ControlFacts {
        stored_ids,
        check_ins,
        root_replies,
        rings,
        setups,
        exchanges,
        sockets,
        ras_peers,
        streams,
    } = facts;
    let witnesses = stored_ids.iter_mut().map(|fact| &mut fact.witness);
    let witnesses = witnesses.chain(check_ins.iter_mut().map(|fact| &mut fact.witness));
    let witnesses = witnesses.chain(root_replies.iter_mut().map(|fact| &mut fact.witness));
    let witnesses = witnesses.chain(setups.iter_mut().map(|fact| &mut fact.witness));
    let witnesses = witnesses.chain(exchanges.iter_mut().map(|fact| &mut fact.witness));
    let witnesses = witnesses.chain(ras_peers.iter_mut().map(|fact| &mut fact.witness));
    witnesses.for_each(|witness| align_witness(witness, clocks));
    for ring in rings {
        align_span(&mut ring.span, ring.witness, clocks);
        align_witness(&mut ring.witness, clocks);
        ring.splits.iter_mut().for_each(|split| align_witness(&mut split.witness, clocks));
    }
    for socket in sockets {
        align_span(&mut socket.span, socket.witness, clocks);
        let times = socket.messages.iter_mut().map(|message| &mut message.span);
        for span in times.chain(socket.closed.iter_mut()) {
            align_span(span, socket.witness, clocks);
        }
        if let Witness::Frame { tap, .. } = socket.witness {
            if let Some(stall) = &mut socket.stall {
                stall.since = clocks.aligned(tap, stall.since);
                stall.until = stall.until.map(|until| clocks.aligned(tap, until));
            }
            if let Some(advance) = &mut socket.advance {
                advance.latest = clocks.aligned(tap, advance.latest);
            }
        }
        align_witness(&mut socket.witness, clocks);
    }
    for StreamFacts { connection, totals, .. } in streams {
        if let Some(totals) = totals {
            totals.span = aligned_span(totals.span, connection.tap, clocks);
        }
    }
}

/// Converts all times of one flow's messages.
pub fn align_traffic(flow: &mut FlowTraffic, clocks: &Clocks) {
    let tap = flow.key.tap;
    for data in flow.data.iter_mut().chain(&mut flow.forgotten) {
        data.last = clocks.aligned(tap, data.last);
        if let Some(start) = &mut data.start {
            start.first = clocks.aligned(tap, start.first);
        }
    }
    flow.refused = flow.refused.map(|time| clocks.aligned(tap, time));
    for cts in flow.cts.iter_mut() {
        cts.time = clocks.aligned(tap, cts.time);
    }
}

/// Converts the time of a CNP or NAK.
pub fn align_signal(signal: &mut SignalRecord, clocks: &Clocks) {
    signal.time = clocks.aligned(signal.key.tap, signal.time);
}

/// Converts the time of retransmitted packets.
pub fn align_resend(resend: &mut ResendRecord, clocks: &Clocks) {
    resend.time = clocks.aligned(resend.key.tap, resend.time);
}

/// A span of `tap`'s clock, converted.
#[must_use]
pub fn aligned_span(span: Span, tap: TapId, clocks: &Clocks) -> Span {
    Span { first: clocks.aligned(tap, span.first), last: clocks.aligned(tap, span.last) }
}

fn align_span(span: &mut Span, witness: Witness, clocks: &Clocks) {
    if let Witness::Frame { tap, .. } = witness {
        *span = aligned_span(*span, tap, clocks);
    }
}

fn align_witness(witness: &mut Witness, clocks: &Clocks) {
    if let Witness::Frame { tap, time, .. } = witness {
        *time = clocks.aligned(*tap, *time);
    }
}
