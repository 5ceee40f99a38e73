//! Pause per station and priority: from frames, and from counters of NICs.

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Detail;
use super::sources::Sources;
use super::words;
use crate::link::counter::NicCounters;
use crate::link::counter::pause::CountedPause;
use crate::model::time::Span;

/// Pause that one station requested of the other end of its link.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PfcReport {
    /// The tap that saw it; `null` for counters.
    pub tap: Option<u32>,
    /// The overloaded station: the source MAC address of the frames. For counters the NIC's name,
    /// or `switch of` the NIC if the NIC was paused.
    pub station: String,
    /// Priority 0 to 7; `null` for 802.3x pause of the whole link.
    pub priority: Option<u8>,
    /// Frames that request a pause. For counters, pause and resume frames if the NIC counts them.
    pub pause_frames: u64,
    /// Frames that end a pause; 0 for counters, which do not distinguish them.
    pub resume_frames: u64,
    /// Time paused, overlaps counted once; `null` if the line rate is unknown.
    pub paused_ns: Option<u64>,
    /// Longest uninterrupted pause; `null` if the line rate is unknown, and for counters.
    pub longest_ns: Option<u64>,
    /// Number of pause storms: at least 95 % of 100 ms paused. `null` if the line rate is unknown,
    /// and for counters.
    pub storms: Option<u64>,
    /// The pauses one by one; `null` without full detail, if the line rate is unknown, if there are
    /// too many, and for counters.
    pub pauses: Option<Vec<PauseReport>>,
    /// `frames`: from pause frames in the capture; `counters`: from counters of a NIC.
    pub source: &'static str,
}

/// An uninterrupted pause.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PauseReport {
    /// Its first frame.
    pub start_ns: i64,
    /// Its end: the quanta have passed, or a frame ended it.
    pub end_ns: i64,
}

pub(super) fn section(sources: &Sources<'_>) -> Vec<PfcReport> {
    let frames = sources.state.tracker.pauses().iter().map(|(key, state)| PfcReport {
        tap: Some(key.tap.0),
        station: key.station.to_string(),
        priority: key.priority,
        pause_frames: state.pause_frames,
        resume_frames: state.resume_frames,
        paused_ns: state.paused_ns,
        longest_ns: state.longest_ns,
        storms: state.paused_ns.map(|_| state.storms),
        pauses: state.pauses().filter(|_| sources.context.detail >= Detail::Events).map(|pauses| {
            let report = |pause: &Span| PauseReport {
                start_ns: sources.relative_ns(pause.first),
                end_ns: sources.relative_ns(pause.last),
            };
            pauses.iter().map(report).collect()
        }),
        source: "frames",
    });
    let counted = sources.state.counters.nics.iter().flat_map(NicCounters::pauses);
    frames.chain(counted.map(|pause| of_counters(&pause))).collect()
}

fn of_counters(pause: &CountedPause) -> PfcReport {
    PfcReport {
        tap: None,
        station: counted_station(pause),
        priority: pause.priority,
        pause_frames: pause.frames,
        resume_frames: 0,
        paused_ns: Some(pause.paused_ns),
        longest_ns: None,
        storms: None,
        pauses: None,
        source: "counters",
    }
}

/// Who asked for a pause that a NIC counted: the NIC, or its switch.
pub(crate) fn counted_station(pause: &CountedPause) -> String {
    let nic = words::name::nic(&pause.nic);
    if pause.is_received { format!("switch of {nic}") } else { nic }
}
