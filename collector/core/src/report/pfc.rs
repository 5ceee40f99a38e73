//! Pause per station and priority: from frames, and from counters of NICs.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Detail, Sources, words};
use crate::link::counter::NicCounters;
use crate::link::counter::pause::CountedPause;
use crate::model::time::Span;

/// What one station asked the other end of its link to stop.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PfcReport {
    /// The tap that saw it; `null` from counters.
    pub tap: Option<u32>,
    /// Who cannot take more: the source MAC address of the frames. From counters the NIC's name;
    /// `switch of` it where the NIC was told to stop.
    pub station: String,
    /// Priority 0 ..= 7; `null` for 802.3x pause of the whole link.
    pub priority: Option<u8>,
    /// Frames that ask to stop; of counters, pause frames of either kind where they are counted.
    pub pause_frames: u64,
    /// Frames that let go on; 0 from counters, which do not tell them apart.
    pub resume_frames: u64,
    /// Union of the pauses; `null` when the line rate is unknown.
    pub paused_ns: Option<u64>,
    /// Longest pause without interruption; `null` when the line rate is unknown, and from counters.
    pub longest_ns: Option<u64>,
    /// Times at which at least 95 % of 100 ms were paused; `null` when the line rate is unknown, and
    /// from counters.
    pub storms: Option<u64>,
    /// The pauses one by one; `null` unless full detail is asked for, where the line rate is
    /// unknown, where there are too many, and from counters.
    pub pauses: Option<Vec<PauseReport>>,
    /// `frames`: from pause frames in the capture; `counters`: from counters of a NIC.
    pub source: &'static str,
}

/// A pause without interruption.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PauseReport {
    /// Its first frame.
    pub start_ns: i64,
    /// Its end: the last quanta are over, or a frame lets go on.
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
        pauses: state.pauses().filter(|_| sources.context.detail == Detail::Full).map(|pauses| {
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
