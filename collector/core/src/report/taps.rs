//! The observation points.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::analysis::tap::{self, JudgedTap};
use crate::flow::tap::TapState;
use crate::link::clock::track::{Piece, Track, WhyUnknown};
use crate::link::position::{NearEvidence, Position};
use crate::model::tap::{LinkType, TapFormat, TapId};

/// One observation point: an interface of a capture file or of this machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TapReport {
    /// Number that other sections refer to.
    pub id: u32,
    /// The file, as named on the command line; live: the interface, or `sflow:` and the address of a socket.
    pub file: String,
    /// `pcap` or `pcapng`; live: `af_packet`, `ebpf` or `sflow`.
    pub format: String,
    /// The interface's name; `null` if the file does not name it.
    pub interface: Option<String>,
    /// Link type: the first header of its frames.
    pub link_type: String,
    /// Number of frames that it captured.
    pub frames: u64,
    /// Time of the earliest frame; `null` without frames.
    pub first_ns: Option<i64>,
    /// Time of the latest frame; `null` without frames.
    pub last_ns: Option<i64>,
    /// The tap that its clock is compared with: the first of the taps that saw the same packets or
    /// are live on one machine, or a tap next to the same machine. The first one is its own
    /// reference. If it is `null`, all `clock_*` are `null` except `clock_why_unknown`.
    pub clock_reference: Option<u32>,
    /// How far its clock was ahead of the reference's at its first frame. All times of this report
    /// are corrected by offset and drift, but messages of `--detail full` have the timestamps of
    /// their file. 0 unless packets prove that the two clocks differ: they seem to arrive
    /// before they left.
    pub clock_offset_ns: Option<i64>,
    /// Upper bound of the combined error of offset and drift at any frame of the tap; the error is
    /// much smaller if delays are equal in both directions. If it is `null`, `clock_why_unknown`
    /// says why.
    pub clock_uncertainty_ns: Option<u64>,
    /// How much faster than the reference its clock runs, in billionths; 0 unless packets prove a
    /// drift.
    pub clock_drift_ppb: Option<i64>,
    /// Upper bound of the drift's error, in billionths.
    pub clock_drift_uncertainty_ppb: Option<u64>,
    /// Steps of its clock and changes of its rate.
    pub clock_jumps: Vec<ClockJump>,
    /// Why the offset or its uncertainty is unknown. `no_common_packets`: no other tap saw its
    /// packets. `same_machine`: it is assumed to share the clock of a tap next to the same machine.
    /// `one_way`: packets were seen in one direction only, so the offset includes their shortest
    /// delay and is used from 1 ms on. `unknown_direction`: it is unknown which tap packets pass
    /// first. `no_line_fits`: the clock runs unevenly even between a few jumps, or was set back (as
    /// NTP does when it steps), so that times repeat; its times are not corrected.
    pub clock_why_unknown: Option<&'static str>,
    /// Its position relative to most of the payload it saw.
    pub position: PositionReport,
    /// Hosts whose own link it observes.
    pub hosts_near: Vec<NearHost>,
    /// Directions it sees of the hosts near it.
    pub sees: Sees,
    /// How complete its frames are.
    pub completeness: Completeness,
    /// Packets that it captured twice; the copies are in no other figure.
    pub tap_duplicates: u64,
    /// Frames lost by the capture or by mirror sessions.
    pub lost_frames: u64,
}

/// A step of a clock, or a change of its rate. A clock that was set back repeats times and is not
/// corrected. Between the last common packet before the jump and the first one after it, times are
/// uncertain by the size of the jump.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClockJump {
    /// Aligned time of the first common packet after the jump.
    pub at_ns: i64,
    /// Size of the jump; negative if the clock was set back.
    pub by_ns: i64,
    /// Drift after the jump, in billionths.
    pub drift_ppb: i64,
}

/// A host next to a tap.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NearHost {
    /// IP address of the host's port.
    pub address: String,
    /// Position of the tap relative to most of this host's payload: `sender` if it sends more than
    /// it receives.
    pub position: PositionReport,
    /// Evidence that it is near: `direction`, `common_host` or `round_trip`.
    pub evidence: String,
}

/// Position of a tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PositionReport {
    /// Next to the sender.
    Sender,
    /// Next to the receiver.
    Receiver,
    /// Next to neither.
    Fabric,
    /// Nothing shows where it is.
    Unknown,
}

/// Directions that a tap sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sees {
    /// What the near hosts send and receive.
    Both,
    /// Only what the near hosts send.
    Tx,
    /// Only what the near hosts receive.
    Rx,
}

/// How complete the frames of a tap are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Completeness {
    /// Frames are complete, and none is reported lost.
    Lossless,
    /// Some frames are truncated; none is reported lost.
    Truncated,
    /// Frames are reported lost.
    Lossy,
}

impl From<Position> for PositionReport {
    fn from(position: Position) -> Self {
        match position {
            Position::Sender => Self::Sender,
            Position::Receiver => Self::Receiver,
            Position::Fabric => Self::Fabric,
            Position::Unknown => Self::Unknown,
        }
    }
}

impl From<tap::Sees> for Sees {
    fn from(sees: tap::Sees) -> Self {
        match sees {
            tap::Sees::Both => Self::Both,
            tap::Sees::Sent => Self::Tx,
            tap::Sees::Received => Self::Rx,
        }
    }
}

impl From<tap::Completeness> for Completeness {
    fn from(completeness: tap::Completeness) -> Self {
        match completeness {
            tap::Completeness::Lossless => Self::Lossless,
            tap::Completeness::Truncated => Self::Truncated,
            tap::Completeness::Lossy => Self::Lossy,
        }
    }
}

pub(super) fn section(sources: &Sources<'_>) -> Vec<TapReport> {
    let taps = sources.understanding.taps.iter();
    let known = taps.filter_map(|judged| Some((judged, sources.state.tracker.tap(judged.id)?)));
    known.map(|(judged, state)| report(sources, judged, state)).collect()
}

fn report(sources: &Sources<'_>, judged: &JudgedTap, state: &TapState) -> TapReport {
    let id = judged.id;
    let clock = sources.state.clocks.clock(id);
    let reference = clock.and_then(|clock| clock.reference);
    let related = clock.filter(|_| reference.is_some()).map(|clock| &clock.track);
    TapReport {
        id: id.0,
        file: state.tap.file.clone(),
        format: match state.tap.format {
            TapFormat::Pcap => "pcap".to_owned(),
            TapFormat::PcapNg => "pcapng".to_owned(),
            TapFormat::AfPacket => "af_packet".to_owned(),
            TapFormat::Ebpf => "ebpf".to_owned(),
            TapFormat::Sflow => "sflow".to_owned(),
        },
        interface: state.tap.interface.clone(),
        link_type: link_type_name(state.tap.link_type),
        frames: state.frames,
        first_ns: state.span.map(|span| sources.aligned_ns(id, span.first)),
        last_ns: state.span.map(|span| sources.aligned_ns(id, span.last)),
        clock_reference: reference.map(|reference| reference.0),
        clock_offset_ns: related.zip(state.span).map(|(track, span)| track.ahead_at(span.first)),
        clock_uncertainty_ns: related.and_then(|track| track.uncertainty_ns),
        clock_drift_ppb: related
            .zip(state.span)
            .map(|(track, span)| parts_per_billion(track.drift_at(span.first))),
        clock_drift_uncertainty_ppb: related
            .and_then(|track| track.drift_uncertainty)
            .map(|drift| parts_per_billion(drift).unsigned_abs()),
        clock_jumps: related.map_or_else(Vec::new, |track| clock_jumps(sources, id, track)),
        clock_why_unknown: clock.and_then(|clock| clock.why_unknown).map(why_unknown_name),
        position: judged.position.into(),
        hosts_near: judged.near.iter().map(near_host).collect(),
        sees: judged.sees.into(),
        completeness: judged.completeness.into(),
        tap_duplicates: state.duplicates,
        lost_frames: judged.lost_frames,
    }
}

fn near_host(host: &tap::NearHost) -> NearHost {
    NearHost {
        address: host.address.to_string(),
        position: host.position.into(),
        evidence: evidence_name(host.evidence).to_owned(),
    }
}

/// The starts of a clock's pieces, without the first.
fn clock_jumps(sources: &Sources<'_>, tap: TapId, track: &Track) -> Vec<ClockJump> {
    let pieces = track.pieces.iter().zip(track.pieces.iter().skip(1));
    let jump = |(before, after): (&Piece, &Piece)| ClockJump {
        at_ns: sources.aligned_ns(tap, after.start),
        by_ns: after.ahead_ns.saturating_sub(before.ahead_at(after.start)),
        drift_ppb: parts_per_billion(after.drift),
    };
    pieces.map(jump).collect()
}

fn parts_per_billion(drift: f64) -> i64 {
    (drift * 1e9).round() as i64
}

const fn why_unknown_name(why: WhyUnknown) -> &'static str {
    match why {
        WhyUnknown::NoCommonPackets => "no_common_packets",
        WhyUnknown::SameMachine => "same_machine",
        WhyUnknown::OneWay => "one_way",
        WhyUnknown::UnknownDirection => "unknown_direction",
        WhyUnknown::NoLineFits => "no_line_fits",
    }
}

const fn evidence_name(evidence: NearEvidence) -> &'static str {
    match evidence {
        NearEvidence::Direction => "direction",
        NearEvidence::CommonHost => "common_host",
        NearEvidence::RoundTrip => "round_trip",
        NearEvidence::LongerRoundTrip => "longer_round_trip",
    }
}

fn link_type_name(link_type: LinkType) -> String {
    match link_type {
        LinkType::Ethernet => "ethernet".to_owned(),
        LinkType::LinuxCookedV1 => "linux_cooked_v1".to_owned(),
        LinkType::LinuxCookedV2 => "linux_cooked_v2".to_owned(),
        LinkType::RawIp => "raw_ip".to_owned(),
        LinkType::Null => "null".to_owned(),
        LinkType::Loopback => "loopback".to_owned(),
        LinkType::InfiniBand => "infiniband".to_owned(),
        LinkType::Erf => "erf".to_owned(),
        LinkType::Unknown(number) => format!("unknown_{number}"),
    }
}
