//! RAS connections: the first message names the release.

use super::ends::{Progress, Speaker};
use super::facts::RasPeer;
use super::frames::Frames;
use crate::decode::nccl::ras::RasGreeting;
use crate::model::witness::Witness;

/// A RAS connection. Its messages start with their length, like bootstrap frames.
#[derive(Clone, Debug, Default)]
pub(super) struct Ras {
    frames: Frames,
    peer: Option<RasPeer>,
}

impl Ras {
    pub(super) fn bytes(&mut self, from: Speaker, bytes: &[u8], witness: Witness) -> Progress {
        if from == Speaker::Listener {
            return Progress::More;
        }
        let Self { frames, peer } = self;
        frames.push(bytes, |frame| match RasGreeting::decode(frame) {
            Some(RasGreeting { release, listener }) => {
                *peer = Some(RasPeer { address: listener, release, witness });
                Progress::Done
            }
            None => Progress::Malformed,
        })
    }

    pub(super) fn end(&mut self) {
        self.frames = Frames::default();
    }

    pub(super) const fn peer(&self) -> Option<&RasPeer> {
        self.peer.as_ref()
    }

    /// Bytes of memory.
    pub(super) fn kept(&self) -> usize {
        self.frames.kept()
    }
}
