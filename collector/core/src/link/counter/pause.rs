//! Pause as a NIC counted it.

use super::{NicCounters, NicName};
use crate::decode::counter::measure::Measure;

/// Pause of one priority of a NIC, in one direction.
#[derive(Clone, Debug)]
pub struct CountedPause {
    /// The NIC whose counters show it.
    pub nic: NicName,
    /// The switch asked the NIC to pause; otherwise the NIC asked the switch.
    pub is_received: bool,
    /// The priority; `None` for counters without priority.
    pub priority: Option<u8>,
    /// Pause and resume frames; 0 if the NIC does not count them.
    pub frames: u64,
    /// Time paused.
    pub paused_ns: u64,
}

impl NicCounters {
    /// The NIC's pauses, by direction and priority; none whose time did not increase.
    #[must_use]
    pub fn pauses(&self) -> Vec<CountedPause> {
        let sides = [
            (Measure::PauseSentTime, Measure::PauseSent, false),
            (Measure::PauseReceivedTime, Measure::PauseReceived, true),
        ];
        let mut pauses = Vec::new();
        for (time, frames, is_received) in sides {
            for (reading, series) in self.of_measure(time).filter(|(_, one)| one.rise() > 0) {
                let frames = self
                    .of_measure(frames)
                    .find(|(known, _)| known.priority == reading.priority)
                    .map_or(0, |(_, series)| series.rise());
                let paused_ns = series.rise().saturating_mul(reading.scale);
                let priority = reading.priority;
                pauses.push(CountedPause {
                    nic: self.name(),
                    is_received,
                    priority,
                    frames,
                    paused_ns,
                });
            }
        }
        pauses
    }
}
