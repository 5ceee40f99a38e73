//! What is said of single packets: lost before it, sent again, CE, NAK, a late rank, and the finding it belongs to.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use crate::filter::Knowledge;
use railscope_core::decode::frame;
use railscope_core::decode::packet::{Body, Packet};
use railscope_core::decode::roce::aeth::{NakCode, Syndrome};
use railscope_core::decode::roce::packet::RocePacket;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::frame::Frame;
use railscope_core::model::opcode::{Opcode, Traits, Transport};
use railscope_core::model::psn::Psn;
use railscope_core::model::tap::{Tap, TapId};
use railscope_core::model::time::Timestamp;
use railscope_core::report::Report;
use railscope_core::report::evidence::EvidenceReport;
use railscope_core::report::packets::PacketContext;
use railscope_core::report::packets::nak_name;

/// Comments of each kind in one file: a thousand say the same as a million.
const LIMIT: u32 = 5000;

/// Flows whose PSNs are followed.
const FLOW_CAPACITY: usize = 65_536;

/// Tap, source, destination, destination queue pair.
type FlowName = (u32, IpAddr, IpAddr, u32);

/// Findings of a flow, by name.
type Names = BTreeSet<&'static str>;

/// Kinds of comments, each with a limit of its own.
#[derive(Clone, Copy)]
enum Kind {
    Gap,
    Again,
    Mark,
    Signal,
    Pause,
}

/// Comments on frames in order.
pub(super) struct Comments {
    knowledge: Knowledge,
    /// By number of the frame.
    cited: BTreeMap<u64, Vec<String>>,
    findings: HashMap<FlowName, Names>,
    /// The PSN that each flow should go on with.
    expected: HashMap<FlowName, Psn>,
    /// Taps that lost frames since the last gap.
    lossy: BTreeSet<u32>,
    used: [u32; 5],
    origin: Option<Timestamp>,
}

impl Comments {
    /// What `report`, on the same frames, says.
    pub(super) fn new(report: &Report, config: FlowConfig, taps: &[Tap]) -> Self {
        let mut knowledge = Knowledge::new(report, config);
        taps.iter().for_each(|tap| knowledge.add_tap(tap.clone()));
        Self {
            knowledge,
            cited: cited(report),
            findings: findings(report),
            expected: HashMap::new(),
            lossy: BTreeSet::new(),
            used: [0; 5],
            origin: None,
        }
    }

    /// A tap lost frames before the next one.
    pub(super) fn add_lost(&mut self, tap: TapId) {
        self.lossy.insert(tap.0);
    }

    /// The comments on the next frame.
    pub(super) fn of(&mut self, frame: &Frame<'_>) -> Vec<String> {
        let packet = frame::decode(frame);
        let origin = *self.origin.get_or_insert(frame.time);
        let known = self.knowledge.observe(frame, &packet, origin);
        let mut comments = self.cited.remove(&frame.number).unwrap_or_default();
        match &packet.body {
            Body::Roce(roce) => self.of_roce(frame, &packet, roce, known, &mut comments),
            Body::Pause(_) if self.may(Kind::Pause) => comments.push("pause".to_owned()),
            _ => {}
        }
        comments
    }

    fn of_roce(
        &mut self,
        frame: &Frame<'_>,
        packet: &Packet<'_>,
        roce: &RocePacket<'_>,
        known: PacketContext,
        comments: &mut Vec<String>,
    ) {
        let Some(ip) = &packet.ip else { return };
        let name = (frame.tap.0, ip.source, ip.destination, roce.bth.dest_qpn.value());
        let named = |names: Option<&Names>, wanted: &[&str]| {
            let names = names.into_iter().flatten().filter(|name| wanted.contains(*name));
            let names: Vec<&str> = names.copied().collect();
            if names.is_empty() { String::new() } else { format!(" [{}]", names.join(", ")) }
        };
        let who = who(known);
        if let Some(gap) = self.gap(name, roce)
            && self.may(Kind::Gap)
        {
            let why = match self.lossy.remove(&frame.tap.0) {
                true => "lost on the way, or by this capture, which lost frames",
                false => "lost before this tap, or late",
            };
            let found = named(self.findings.get(&name), &["loss", "reordering"]);
            comments
                .push(format!("lost here: {gap} missing before this packet ({why}){who}{found}"));
        }
        if known.retransmitted && self.may(Kind::Again) {
            let found = named(self.findings.get(&name), &["loss", "timeouts", "reordering"]);
            comments.push(format!("sent again{who}{found}"));
        }
        if packet.is_marked() && self.may(Kind::Mark) {
            let found = named(self.findings.get(&name), &["congestion", "ce_without_cnp"]);
            comments.push(format!("CE: a switch on the way had a queue{who}{found}"));
        }
        if let Some(signal) = signal(roce)
            && self.may(Kind::Signal)
        {
            comments.push(format!("{signal}{who}"));
        }
    }

    /// The PSNs that are missing before a packet.
    fn gap(&mut self, name: FlowName, roce: &RocePacket<'_>) -> Option<String> {
        let (opcode, psn) = (roce.bth.opcode, roce.bth.psn);
        // Responses have the PSNs of their requests.
        if opcode.transport() != Transport::Rc || !opcode.traits().has(Traits::REQUEST) {
            return None;
        }
        // A READ request takes as many PSNs as its answer has packets.
        if opcode.traits().has(Traits::READ) {
            self.expected.remove(&name);
            return None;
        }
        let is_new = !self.expected.contains_key(&name);
        if is_new && self.expected.len() >= FLOW_CAPACITY {
            self.expected.clear();
        }
        let expected = self.expected.entry(name).or_insert(psn);
        let missing = psn.distance_from(*expected);
        let first = *expected;
        if missing >= 0 {
            *expected = psn.plus(1);
        }
        match missing {
            ..=0 => None,
            1 => Some(format!("PSN {}", first.value())),
            _ => {
                // One before it, on the circle.
                let last = psn.plus(Psn::MAX.value());
                Some(format!("{missing} packets, PSN {} to {},", first.value(), last.value()))
            }
        }
    }

    /// Whether there may be another comment of a kind.
    fn may(&mut self, kind: Kind) -> bool {
        let Some(used) = self.used.get_mut(kind as usize) else { return false };
        *used += 1;
        *used <= LIMIT
    }
}

/// ` (rank 1 to 2, channel 0, step 7)`, as far as it is known.
fn who(known: PacketContext) -> String {
    let mut parts = Vec::new();
    match [known.src_rank, known.dst_rank] {
        [Some(from), Some(to)] => parts.push(format!("rank {from} to rank {to}")),
        [Some(from), None] => parts.push(format!("from rank {from}")),
        [None, Some(to)] => parts.push(format!("to rank {to}")),
        [None, None] => {}
    }
    parts.extend(known.channel.map(|channel| format!("channel {channel}")));
    parts.extend(known.collective.map(|collective| format!("collective {collective}")));
    parts.extend(known.iteration.map(|iteration| format!("training step {iteration}")));
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

fn signal(roce: &RocePacket<'_>) -> Option<String> {
    if roce.bth.opcode == Opcode::CNP {
        return Some("CNP: the receiver saw CE, the sender must slow down".to_owned());
    }
    let psn = roce.bth.psn;
    match roce.aeth?.syndrome {
        Syndrome::Nak(NakCode::PsnSequenceError) => {
            Some(format!("NAK, PSN sequence error: send again from PSN {psn} on"))
        }
        Syndrome::Nak(code) => Some(format!("NAK, {}: the connection fails", nak_name(code))),
        Syndrome::RnrNak { .. } => Some("RNR NAK: the receiver had no buffer".to_owned()),
        _ => None,
    }
}

/// What findings and late ranks cite, by number of the frame.
fn cited(report: &Report) -> BTreeMap<u64, Vec<String>> {
    let mut cited: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut add = |evidence: &[EvidenceReport], about: &str| {
        for one in evidence {
            let Some(frame) = one.frame else { continue };
            let comments = cited.entry(frame).or_default();
            let comment = format!("{about}; evidence: {}", one.text);
            if comments.len() < 8 && !comments.contains(&comment) {
                comments.push(comment);
            }
        }
    };
    for finding in &report.findings {
        // Many titles begin with the name.
        let about = match finding.title.starts_with(finding.id) {
            true => format!("finding {}", finding.title),
            false => format!("finding {}: {}", finding.id, finding.title),
        };
        add(&finding.evidence, &about);
    }
    for one in &report.iterations {
        let Some(straggler) = &one.straggler else { continue };
        let late = straggler.lag_ns as f64 / 1e6;
        let about = format!(
            "late rank {} in training step {}: the others waited {late:.1} ms",
            straggler.rank, one.iteration
        );
        add(&straggler.evidence, &about);
    }
    cited
}

/// The names of findings, by flow.
fn findings(report: &Report) -> HashMap<FlowName, Names> {
    let mut by_flow: HashMap<u32, Names> = HashMap::new();
    for finding in &report.findings {
        for flow in &finding.flows {
            by_flow.entry(*flow).or_default().insert(finding.id);
        }
    }
    let mut named = HashMap::new();
    for flow in &report.flows {
        let Some(names) = by_flow.remove(&flow.id) else { continue };
        if let (Ok(source), Ok(destination)) = (flow.src.parse(), flow.dst.parse()) {
            let name = (flow.tap, source, destination, flow.dest_qpn);
            named.entry(name).or_insert_with(Names::new).extend(names);
        }
    }
    named
}
