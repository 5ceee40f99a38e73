//! Recovery episodes: a sender goes back to an earlier PSN, and what made it do so.

use crate::model::time::Timestamp;

use super::sequence::Jump;
use super::state::Sighting;

/// Episodes listed one by one for each flow; further ones only enter the totals.
const LISTED: usize = 1024;

/// Episodes of one flow that wait for their ACK at the same time; the oldest is closed first.
const OPEN: usize = 8;

/// Silence before a backward jump, at least, to call it a timeout.
const TIMEOUT_FLOOR_NS: u64 = 1_000_000;

/// What made the sender go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trigger {
    /// A NAK (PSN sequence error).
    Nak,
    /// A receiver-not-ready NAK.
    Rnr,
    /// Its timer: the way back was visible, no NAK came, and there was silence before.
    Timeout,
    /// None of these can be shown.
    Unknown,
}

impl Trigger {
    /// Every trigger, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Nak, Self::Rnr, Self::Timeout, Self::Unknown];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nak => "nak",
            Self::Rnr => "rnr",
            Self::Timeout => "timeout",
            Self::Unknown => "unknown",
        }
    }
}

/// One backward jump and the recovery from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Episode {
    /// What made the sender go back.
    pub trigger: Trigger,
    /// When the hole opened, else the NAK, else the first sending of the PSN, else the sender's
    /// last packet before the silence.
    pub start: Timestamp,
    /// From `start` to the first ACK at or above the PSN, else to the resend.
    pub recovery_ns: u64,
    /// Packets sent again.
    pub resent_packets: u64,
}

/// Sums over the episodes of one trigger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpisodeTotals {
    /// Episodes.
    pub count: u64,
    /// When the first one started.
    pub first_start: Timestamp,
    /// When it was noticed that the sender had gone back, and in which frame, the first time.
    pub first_resend: Option<Sighting>,
    /// Time in recovery; where episodes overlap, as repeated timeouts do, it counts once.
    pub recovery_ns: u64,
    /// Sum of packets sent again.
    pub resent_packets: u64,
}

/// What the way back said since the last progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct WayBack {
    /// It was seen at all.
    pub visible: bool,
    /// Time of the last PSN sequence NAK since progress.
    pub nak: Option<Timestamp>,
    /// Time of the last RNR NAK since progress.
    pub rnr: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug)]
struct OpenEpisode {
    target: i64,
    resend: Timestamp,
    frame: u64,
    episode: Episode,
}

/// The episodes of one flow.
#[derive(Clone, Debug)]
pub struct Episodes {
    is_listing: bool,
    open: Vec<OpenEpisode>,
    listed: Vec<Episode>,
    last_closed: Option<Trigger>,
    /// End of the latest recovery that is in the totals.
    recovered_until: Timestamp,
    totals: [EpisodeTotals; Trigger::ALL.len()],
}

impl Episodes {
    /// No episode yet; `is_listing` says whether they are kept one by one.
    #[must_use]
    pub fn new(is_listing: bool) -> Self {
        let totals = [EpisodeTotals::default(); Trigger::ALL.len()];
        Self {
            is_listing,
            open: Vec::new(),
            listed: Vec::new(),
            last_closed: None,
            recovered_until: Timestamp::EPOCH,
            totals,
        }
    }

    /// The sender jumped back. `first_sending` is when the PSN was first sent, if known;
    /// `p99_round_trip_ns` sets how much silence a timeout takes; `frame` is the frame that showed it.
    pub fn begin(
        &mut self,
        jump: &Jump,
        way_back: WayBack,
        first_sending: Option<Timestamp>,
        p99_round_trip_ns: Option<u64>,
        frame: u64,
    ) {
        let silence = jump.time.nanos_since(jump.previous_request);
        let patience = p99_round_trip_ns.unwrap_or(0).saturating_mul(4).max(TIMEOUT_FLOOR_NS);
        let trigger = match way_back {
            // A receiver that was not ready also NAKs what comes behind the packet it refused.
            WayBack { rnr: Some(_), .. } => Trigger::Rnr,
            WayBack { nak: Some(_), .. } => Trigger::Nak,
            WayBack { visible: true, .. } if silence >= patience => Trigger::Timeout,
            _ => Trigger::Unknown,
        };
        let nak = match trigger {
            Trigger::Nak => way_back.nak,
            Trigger::Rnr => way_back.rnr,
            Trigger::Timeout | Trigger::Unknown => None,
        };
        let start = jump.hole_opened.or(nak).or(first_sending).unwrap_or(jump.previous_request);
        if self.open.len() >= OPEN {
            let oldest = self.open.remove(0);
            self.close(&oldest, None);
        }
        let episode = Episode { trigger, start, recovery_ns: 0, resent_packets: 0 };
        self.open.push(OpenEpisode { target: jump.target, resend: jump.time, frame, episode });
    }

    /// A packet of the latest episode was sent again.
    pub fn resent(&mut self) {
        if let Some(latest) = self.open.last_mut() {
            latest.episode.resent_packets += 1;
        } else if let Some(trigger) = self.last_closed {
            // The ACK of the jump's target came before the rest of the resend.
            let totals = &mut self.totals[trigger as usize];
            totals.resent_packets += 1;
            let all = self.totals.iter().map(|totals| totals.count).sum::<u64>();
            if let Some(latest) = self.listed.last_mut().filter(|_| all <= LISTED as u64) {
                latest.resent_packets += 1;
            }
        }
    }

    /// Everything up to `psn` (unwrapped) was acknowledged.
    pub fn acknowledged(&mut self, psn: i64, time: Timestamp) {
        while let Some(at) = self.open.iter().position(|open| open.target <= psn) {
            let recovered = self.open.remove(at);
            self.close(&recovered, Some(time));
        }
    }

    /// Ends every episode as it stands.
    pub fn finish(&mut self) {
        for open in std::mem::take(&mut self.open) {
            self.close(&open, None);
        }
    }

    /// The first 1024 episodes, in the order of their ends; none unless they are listed.
    #[must_use]
    pub fn listed(&self) -> &[Episode] {
        &self.listed
    }

    /// Sums of one trigger.
    #[must_use]
    pub const fn totals(&self, trigger: Trigger) -> EpisodeTotals {
        self.totals[trigger as usize]
    }

    /// Episodes that are only in the sums although they should be listed.
    #[must_use]
    pub fn unlisted(&self) -> u64 {
        let all: u64 = self.totals.iter().map(|totals| totals.count).sum();
        if self.is_listing { all - self.listed.len() as u64 } else { 0 }
    }

    fn close(&mut self, open: &OpenEpisode, acknowledged: Option<Timestamp>) {
        let end = acknowledged.unwrap_or(open.resend);
        let episode = Episode { recovery_ns: end.nanos_since(open.episode.start), ..open.episode };
        let totals = &mut self.totals[episode.trigger as usize];
        if totals.count == 0 {
            totals.first_start = episode.start;
            totals.first_resend = Some(Sighting { time: open.resend, frame: open.frame });
        }
        totals.count += 1;
        // Times of a damaged capture may lie centuries apart.
        let further_ns = end.nanos_since(episode.start.max(self.recovered_until));
        totals.recovery_ns = totals.recovery_ns.saturating_add(further_ns);
        self.recovered_until = self.recovered_until.max(end);
        totals.resent_packets += episode.resent_packets;
        self.last_closed = Some(episode.trigger);
        if self.is_listing && self.listed.len() < LISTED {
            self.listed.push(episode);
        }
    }
}
