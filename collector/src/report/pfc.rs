//! Pause per station and priority.

use schemars::JsonSchema;
use serde::Serialize;

use super::Detail;
use crate::flow::tracker::FlowTracker;
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};

/// What one station asked the other end of its link to stop.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PfcReport {
    /// The tap that saw it.
    pub tap: u32,
    /// Source MAC address: the station that cannot take more.
    pub station: String,
    /// Priority 0 ..= 7; `null` for 802.3x pause of the whole link.
    pub priority: Option<u8>,
    /// Frames that ask to stop.
    pub pause_frames: u64,
    /// Frames that let go on.
    pub resume_frames: u64,
    /// Union of the pauses; `null` when the line rate is unknown.
    pub paused_ns: Option<u64>,
    /// Longest pause without interruption; `null` when the line rate is unknown.
    pub longest_ns: Option<u64>,
    /// Times at which at least 95 % of 100 ms were paused; `null` when the line rate is unknown.
    pub storms: Option<u64>,
    /// The pauses one by one; `null` unless full detail is asked for, where the line rate is
    /// unknown, and where there are too many.
    pub pauses: Option<Vec<PauseReport>>,
    /// `frames`: from pause frames in the capture.
    pub source: String,
}

/// A pause without interruption.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PauseReport {
    /// Its first frame.
    pub start_ns: i64,
    /// Its end: the last quanta are over, or a frame lets go on.
    pub end_ns: i64,
}

pub(super) fn section(
    tracker: &mut FlowTracker,
    detail: Detail,
    origin: Timestamp,
) -> Vec<PfcReport> {
    let last: Vec<Timestamp> = tracker
        .taps()
        .iter()
        .map(|tap| tap.span.map_or(Timestamp::MAX, |span| span.last))
        .collect();
    let last_frame = |tap: TapId| last.get(tap.0 as usize).copied().unwrap_or(Timestamp::MAX);
    tracker
        .pauses_mut()
        .finish(last_frame)
        .map(|(key, state)| PfcReport {
            tap: key.tap.0,
            station: key.station.to_string(),
            priority: key.priority,
            pause_frames: state.pause_frames,
            resume_frames: state.resume_frames,
            paused_ns: state.paused_ns,
            longest_ns: state.longest_ns,
            storms: state.paused_ns.map(|_| state.storms),
            pauses: state.pauses().filter(|_| detail == Detail::Full).map(|pauses| {
                let report = |pause: &Span| PauseReport {
                    start_ns: pause.first.relative_to(origin),
                    end_ns: pause.last.relative_to(origin),
                };
                pauses.iter().map(report).collect()
            }),
            source: "frames".to_owned(),
        })
        .collect()
}
