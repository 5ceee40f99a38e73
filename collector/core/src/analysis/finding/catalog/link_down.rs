//! The link of a port went down while its counters were read.

use crate::analysis::finding::claim::transport::TransportClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::CounterObservation;
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::decode::counter::measure::Measure;
use crate::flow::episode::Trigger;
use crate::link::counter::NicCounters;
use crate::model::counter::PortState;
use crate::model::time::{Span, Timestamp};

/// Links that went down.
pub const KIND: Kind = Kind {
    id: "link_down",
    about: "The link of a NIC's port went down: a cable, a transceiver, the switch port, or a restart of \
            either end. Nothing passes until it is up again; then queue pairs go on after their ACK timers, \
            if their retries last that long.",
    threshold: "Counters: link_down_events_phy or link_downed rises, and no flow of this port shows timeouts. \
                It is down at the end if the port says so, or if RDMA bytes rose before and no more since.",
    remedy: "Look at both ends of the cable: `mlxlink -d DEVICE -m` or `ethtool -m` for optical power, \
             symbol errors and FEC, dmesg, the switch's log. If it comes again, replace transceiver or cable.",
    needs: &[Need::Counters],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let has_timeouts = |nic: &NicCounters| {
        let mut own = facts.flows.iter().filter(|flow| {
            [flow.source, flow.destination].iter().any(|port| nic.addresses.contains(port))
        });
        own.any(|flow| flow.recoveries(Trigger::Timeout).count > 0)
    };
    let nics = facts.state.counters.nics.iter();
    // Few links go down, and flows may be many.
    nics.filter_map(|nic| finding(nic).filter(|_| !has_timeouts(nic))).collect()
}

fn finding(nic: &NicCounters) -> Option<Finding> {
    let down = nic.rise(Measure::LinkDown).filter(|rise| rise.amount > 0)?;
    let rises = nic.of_measure(Measure::LinkDown).flat_map(|(_, series)| series.rises());
    let rises = rises.filter(|(_, rise)| *rise > 0).map(|(span, _)| span);
    let span = rises.reduce(|one, other| Span {
        first: one.first.min(other.first),
        last: one.last.max(other.last),
    })?;
    let is_down = is_down(nic, span.last);
    let claim = TransportClaim::LinkWentDown { nic: nic.name(), times: down.amount, is_down };
    let observation = CounterObservation::LinkDown { nic: nic.name(), times: down.amount };
    let span = Span { last: if is_down { nic.span.last } else { span.last }, ..span };
    Some(
        KIND.finding(Severity::Warning, claim)
            .caused_by(if is_down { "down" } else { "up_again" })
            .about(Subject { port: nic.addresses.first().copied(), ..Subject::default() })
            .over(Some(span))
            .because(Proof::counter(observation, down.witness)),
    )
}

/// Whether the link, which went down until `time`, was not up again at the end.
fn is_down(nic: &NicCounters, time: Timestamp) -> bool {
    if let Some(link) = nic.link {
        return link.state == PortState::Down;
    }
    let bytes = [Measure::RdmaSentBytes, Measure::RdmaReceivedBytes].into_iter();
    let rises: Vec<Timestamp> = bytes
        .flat_map(|measure| nic.of_measure(measure))
        .flat_map(|(_, series)| series.rises())
        .filter(|(_, rise)| *rise > 0)
        .map(|(span, _)| span.last)
        .collect();
    // Samples after it show that nothing more came.
    nic.span.last > time && !rises.is_empty() && rises.iter().all(|rise| *rise <= time)
}
