//! Pause per station and priority.

use schemars::JsonSchema;
use serde::Serialize;

use crate::flow::tracker::FlowTracker;
use crate::model::tap::TapId;
use crate::model::time::Timestamp;

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
    /// `frames`: from pause frames in the capture.
    pub source: String,
}

pub(super) fn section(tracker: &mut FlowTracker) -> Vec<PfcReport> {
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
            source: "frames".to_owned(),
        })
        .collect()
}
