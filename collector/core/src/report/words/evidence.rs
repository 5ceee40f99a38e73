//! Sentences about evidence, of links and of findings.

use std::net::IpAddr;

use super::name;
use super::number::{bit_rate, bytes, count, counted, duration, share};
use super::straggler;
use crate::analysis::finding::claim::network::{
    Contradiction, NetworkFailure, NetworkPart, OddNetwork,
};
use crate::analysis::finding::observation::{
    CallObservation, CounterObservation, EcnContrast, FlowObservation, FrameObservation,
    LogObservation, Observation, RecordObservation,
};
use crate::decode::flight_recorder::Progress;
use crate::link::evidence::EvidenceKind;
use crate::link::log::network::Outcome;

/// Evidence of a link, which was seen `times` times.
#[must_use]
pub fn link(kind: EvidenceKind, times: u64) -> String {
    let what = match kind {
        EvidenceKind::RingShape => "the connections between hosts form one ring",
        EvidenceKind::Payload => "hosts forward payload as such a collective does",
        EvidenceKind::UdpPort => {
            "same UDP source port in both directions, unique between the hosts"
        }
        EvidenceKind::PsnAck => "ACKs carry the PSNs of the other direction",
        EvidenceKind::CtsTag => "clear-to-sends name the sender's rank",
        EvidenceKind::CtsMatch => "data goes to the address and R_Key that a clear-to-send offered",
        EvidenceKind::ConnectionManager => "the connection manager's REQ and REP name both QPNs",
        EvidenceKind::Log => "an NCCL log says so",
        EvidenceKind::Process => "its process created the communicator or connected its ring",
        EvidenceKind::UniqueId => "its unique ID is in the TCPStore",
        EvidenceKind::CheckIn => "the rank checked in at the root",
        EvidenceKind::RingGather => "the ranks exchanged their data over the bootstrap ring",
        EvidenceKind::TransportSetup => "the receiver sent the sender its listening address",
        EvidenceKind::OobExchange => "both ends exchanged their queue pair numbers",
    };
    if times > 1 { format!("{what} ({times} times)") } else { what.to_owned() }
}

/// Evidence of a finding.
#[must_use]
pub fn finding(observation: &Observation) -> String {
    match observation {
        Observation::Flow(of, what) => format!("{}: {}", name::flow(of), flow(what)),
        Observation::Frames(what) => frames(what),
        Observation::Log(what) => log(what),
        Observation::Counter(what) => counter(what),
        Observation::Calls(what) => calls(what),
        Observation::Recorded(what) => recorded(what),
        Observation::Straggler(sign) => straggler::sign(sign),
    }
}

fn flow(what: &FlowObservation) -> String {
    match what {
        FlowObservation::WrongIcrcs(wrong) => {
            format!("{} with a wrong ICRC", counted(*wrong, "frame"))
        }
        FlowObservation::MarksUnanswered(marks) => {
            let marks = counted(*marks, "packet");
            format!("{marks} CE-marked; ACKs came back, but no CNP")
        }
        FlowObservation::RateAfterCnp(rate) => {
            format!("{} on average in the millisecond after a CNP", bit_rate(*rate))
        }
        FlowObservation::Marks { marks, packets } => {
            format!("{} of its packets CE-marked", share(*marks, *packets))
        }
        FlowObservation::Cnps(cnps) => counted(*cnps, "CNP"),
        FlowObservation::Dscps(seen) => format!("DSCP {}", dscps(seen)),
        FlowObservation::NotEct(contrast) => not_ect(*contrast).to_owned(),
        FlowObservation::PartitionKey(key) => format!("P_Key {key:#06x}"),
        FlowObservation::PathMtu(mtu) => format!("{mtu} bytes per packet"),
        FlowObservation::MiscountedRead(read) => format!(
            "a READ of {} was answered in {} of {} bytes; its sender counted {} (path MTU {}), and its \
             next request took the sequence number of packet {}",
            bytes(u64::from(read.bytes)),
            counted(u64::from(read.packets), "packet"),
            read.packet_bytes,
            read.counted,
            read.counted_by,
            read.counted + 1
        ),
        FlowObservation::RejectedSize { own, other } => format!(
            "packets of {own} bytes rejected as invalid; the receiver's own packets have {other} bytes"
        ),
        FlowObservation::PacketSizes { own, other } => {
            format!("packets of {own} bytes one way, of {other} bytes the other")
        }
        FlowObservation::Resends(resends) => counted(*resends, "retransmission"),
        FlowObservation::SequenceNaks { naks, recoveries: 0, .. } => counted(*naks, "NAK"),
        FlowObservation::SequenceNaks { naks, recoveries, recovery_ns } => format!(
            "{}; {} took {}",
            counted(*naks, "NAK"),
            counted(*recoveries, "recovery"),
            duration(*recovery_ns)
        ),
        FlowObservation::RnrWaits { resent, waits, waited_ns } => format!(
            "{}; {} took {}",
            counted(*resent, "retransmission"),
            counted(*waits, "RNR wait"),
            duration(*waited_ns)
        ),
        FlowObservation::Timeouts { recovery_ns, of_ns } => {
            let own = format!("recovery took {}, no NAK", duration(*recovery_ns));
            if recovery_ns == of_ns {
                own
            } else {
                format!("{own}; {} over all flows together", duration(*of_ns))
            }
        }
        FlowObservation::ErrorState => "the queue pair enters the error state".to_owned(),
        FlowObservation::Overtaken { late, resent } => {
            format!("{} out of order, {} retransmitted", counted(*late, "packet"), count(*resent))
        }
        FlowObservation::Payload(payload) => format!("{} of payload", bytes(*payload)),
    }
}

const fn not_ect(contrast: EcnContrast) -> &'static str {
    match contrast {
        EcnContrast::OtherTap => "ECN-capable at one tap, Not-ECT at another",
        EcnContrast::OtherFlows => "Not-ECT, but other flows are ECN-capable",
        EcnContrast::Expected => "Not-ECT, but [expect] requires ECN",
        EcnContrast::Nothing => "Not-ECT",
    }
}

fn frames(what: &FrameObservation) -> String {
    match what {
        FrameObservation::CheckIns { ranks, root, silence_ns } => format!(
            "{ranks} ranks checked in at {root}, the last one {} before the capture ended",
            duration(*silence_ns)
        ),
        FrameObservation::Bootstrap => {
            "from the first check-in at the root to the last gather".to_owned()
        }
        FrameObservation::Syns { syns, server } => {
            format!("{} to {server}, none accepted", counted(*syns, "SYN"))
        }
        FrameObservation::Pause { longest_ns: Some(longest) } => {
            format!("longest pause {}", duration(*longest))
        }
        FrameObservation::Pause { longest_ns: None } => "pause frames".to_owned(),
        FrameObservation::Storm { paused_ns, frames } => {
            format!(
                "paused for {} in total, {}",
                duration(*paused_ns),
                counted(*frames, "pause frame")
            )
        }
        FrameObservation::Ring(ranks) => {
            let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
            format!("ring {}", ranks.join(" "))
        }
        FrameObservation::Messages(messages) => {
            format!("median of {}", counted(*messages, "message"))
        }
        FrameObservation::SocketConnections(connections) => {
            format!("{} NET/Socket connections", count(*connections))
        }
        FrameObservation::Contradiction(one) => contradiction(one),
        FrameObservation::OddNetwork(odd, host) => odd_network(odd, host),
        FrameObservation::Rails(loads) => {
            let loads = loads.iter().map(|(rail, load)| format!("rail {rail} {}", bytes(*load)));
            loads.collect::<Vec<_>>().join(", ")
        }
        FrameObservation::Uplinks { loads, flows, udp_ports } => {
            let loads = loads.iter().map(|(name, load)| format!("{name} {}", bytes(*load)));
            format!(
                "{}; {} with {} on the busiest",
                loads.collect::<Vec<_>>().join(", "),
                counted(*flows, "flow"),
                counted(*udp_ports, "UDP source port")
            )
        }
        FrameObservation::Unanswered { clear_to_sends, ranks } => format!(
            "{} from {} got no data",
            counted(*clear_to_sends, "clear-to-send"),
            name::ranks(ranks)
        ),
        FrameObservation::Unsent { messages, ranks } => format!(
            "{} have received {} fewer than the rest of the ring",
            name::ranks(ranks),
            counted(*messages, "message")
        ),
        FrameObservation::NeverArrived { flows } => {
            format!("the last packets of {} left and never arrived", counted(*flows, "flow"))
        }
        FrameObservation::Registered { store, hosts } => {
            let hosts: Vec<String> = hosts.iter().map(IpAddr::to_string).collect();
            format!(
                "workers of {} came to the store at {store}, which its own host serves; who else \
                 belongs to the job is missing",
                hosts.join(", ")
            )
        }
        FrameObservation::Farewells { host, farewells, resets } => format!(
            "{host} ended TCP connections of the job: {}, {}",
            counted(farewells - resets, "FIN"),
            counted(*resets, "RST")
        ),
        FrameObservation::SocketStalled { sender, receiver, others } => {
            let others = match others {
                0 => "no other connection of the communicator stands still like this".to_owned(),
                _ => format!(
                    "{} of the communicator stand still, too",
                    counted(*others, "other connection")
                ),
            };
            format!("the latest message on {sender} → {receiver}; {others}")
        }
    }
}

fn recorded(what: &RecordObservation) -> String {
    match what {
        RecordObservation::LastCall { file, rank, call: None, .. } => {
            format!("rank {rank} called nothing in the group ({file})")
        }
        RecordObservation::LastCall { file, rank, call: Some(call), number, progress } => {
            let state = match progress {
                Some(Progress::Ended) => "ended",
                Some(Progress::Started) => "begun on the GPU, not ended",
                Some(Progress::Scheduled) | None => "called, not ended",
            };
            format!("rank {rank}: {call} {number}, {state} ({file})")
        }
        RecordObservation::Line(line) => format!("called at {line}"),
        RecordObservation::Answer { file, taken } => match taken {
            Some(taken) => format!("RAS at {taken} ({file})"),
            None => format!("RAS ({file})"),
        },
    }
}

fn log(what: &LogObservation) -> String {
    match what {
        LogObservation::Quote(text) => text.clone(),
        LogObservation::Warning { host, pid, text } => format!("{host} (pid {pid}): {text}"),
        LogObservation::InitNotComplete => "Init START without Init COMPLETE".to_owned(),
        LogObservation::BootstrapTimes { receive_ns, ranks } => format!(
            "{} of it waiting to receive; reported by {}",
            duration(*receive_ns),
            counted(*ranks, "rank")
        ),
        LogObservation::EfaPlugin(release) => {
            format!("aws-ofi-nccl {}", release.as_deref().unwrap_or("of unknown release"))
        }
        LogObservation::PluginFailure(reason) => plugin_failure(reason.as_deref()).to_owned(),
        LogObservation::Refused(network, outcome) => refused(network, *outcome),
        LogObservation::SocketTaken => "NCCL uses NET/Socket".to_owned(),
        LogObservation::IbTaken => "Using network IB".to_owned(),
        LogObservation::OddNetwork(odd, host) => odd_network(odd, host),
        LogObservation::WatchdogProgress { rank, call, number, elements, enqueued, completed } => {
            let call = call.as_deref().unwrap_or("collective");
            let number = number.map_or_else(String::new, |number| format!(" {number}"));
            let mut text = format!("rank {rank}: {call}{number} not done");
            for (name, value) in
                [("elements", elements), ("last enqueued", enqueued), ("last completed", completed)]
            {
                if let Some(value) = value {
                    text.push_str(&format!(", {name} {value}"));
                }
            }
            text
        }
        LogObservation::WithoutGpuDirect { device, reason } => {
            let device = device.as_deref().unwrap_or("a device");
            let reason = reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
            format!("GPU Direct RDMA Disabled for {device}{reason}")
        }
        LogObservation::Release(release) => format!("NCCL version {release}"),
        LogObservation::FailedCall { place, error } => format!("{place} returned: {error}"),
        LogObservation::Interfaces => "interfaces and NICs, as NCCL lists them".to_owned(),
        LogObservation::InitTimings => "Init timings".to_owned(),
    }
}

fn refused(network: &NetworkFailure, outcome: Outcome) -> String {
    let why = network.reason.as_deref().unwrap_or("no reason logged");
    format!("{} {}: {why}", network.name, outcome.name())
}

fn counter(what: &CounterObservation) -> String {
    match what {
        CounterObservation::Rose { nic, counter, by } => {
            format!("{counter} of {} rose by {}", name::nic(nic), count(*by))
        }
        CounterObservation::MarksWithoutCnp { nic, marks } => format!(
            "np_ecn_marked_roce_packets of {} rose by {}, np_cnp_sent did not rise",
            name::nic(nic),
            count(*marks)
        ),
        CounterObservation::CnpsUnhandled(sent) => {
            format!("np_cnp_sent rose by {}, rp_cnp_handled did not rise", count(*sent))
        }
        CounterObservation::Paused { measure, paused_ns } => {
            format!("{} rose by {}", measure.name(), duration(*paused_ns))
        }
        CounterObservation::FirmwareStorms(storms) => {
            format!("its firmware counted {}", counted(*storms, "pause storm"))
        }
        CounterObservation::NearlyAlwaysPaused { percent, length_ns } => {
            format!("paused for at least {percent} % of {}", duration(*length_ns))
        }
        CounterObservation::LinkDown { nic, times } => {
            format!("the link of {} went down {}", name::nic(nic), counted(*times, "time"))
        }
        CounterObservation::NoRdma(nics) => {
            let nics: Vec<String> = nics.iter().map(name::nic).collect();
            format!("no RDMA bytes on {}", nics.join(", "))
        }
    }
}

fn calls(observation: &CallObservation) -> String {
    match observation {
        CallObservation::Ready { rank, pid, queue_pairs, called_ns } => {
            let process = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
            format!(
                "rank {rank}{process} has {} ready to send, and called NCCL for {}",
                counted(*queue_pairs, "queue pair"),
                duration(*called_ns)
            )
        }
        CallObservation::InError { device, number, remote, pid } => {
            let remote = remote.map_or_else(String::new, |remote| format!(" to {remote}"));
            let process = pid.map_or_else(String::new, |pid| format!(" of process {pid}"));
            format!("the kernel lists {device} QPN {number}{remote}{process} in error")
        }
    }
}

/// `8 and 26`.
pub(super) fn dscps(seen: &[u8]) -> String {
    let seen: Vec<String> = seen.iter().map(u8::to_string).collect();
    seen.join(" and ")
}

/// Why a plugin failed, as logged.
pub(super) fn plugin_failure(reason: Option<&str>) -> &str {
    reason.unwrap_or("no reason logged")
}

/// `rank 2: address 10.0.0.1 captured, 10.0.0.2 logged`.
pub(super) fn contradiction(one: &Contradiction) -> String {
    let Contradiction { rank, what, captured, logged } = one;
    format!("rank {rank}: {what} {captured} captured, {logged} logged")
}

/// Which part of the network is not as expected.
pub(super) const fn network_part(part: NetworkPart) -> &'static str {
    match part {
        NetworkPart::BootstrapInterface => "bootstrap interface",
        NetworkPart::BootstrapAddress => "bootstrap address",
        NetworkPart::Hca => "HCA",
    }
}

fn odd_network(odd: &OddNetwork, host: &str) -> String {
    format!("{host}: {} {}", network_part(odd.what), odd.found)
}
