//! Recovery episodes: a sender goes back to an earlier PSN, and why.

use serde::{Deserialize, Serialize};

use crate::model::time::Timestamp;

use super::jump::Jump;
use super::sighting::Sighting;

/// Episodes listed per flow; further ones are only in the totals.
const LISTED: usize = 1024;

/// Episodes of one flow waiting for their ACK at the same time; the oldest is closed first.
const OPEN: usize = 8;

/// Longest time that a receiver may ask a sender to wait, in nanoseconds (IBTA volume 1, table 45).
pub const LONGEST_DELAY_NS: u64 = 655_360_000;

/// Shortest silence before a timeout.
const TIMEOUT_FLOOR_NS: u64 = 1_000_000;

/// Why the sender went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Trigger {
    /// A NAK (PSN sequence error).
    Nak,
    /// A receiver-not-ready NAK.
    Rnr,
    /// Its timer: the reverse direction was visible, no NAK came, and there was silence before; or a silence
    /// longer than any receiver may ask for.
    Timeout,
    /// No evidence for any of these.
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

/// One step back and the recovery from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Episode {
    /// Why the sender went back.
    pub trigger: Trigger,
    /// When the hole opened, else the NAK, else the PSN's first transmission, else the sender's
    /// last packet before the silence.
    pub start: Timestamp,
    /// From `start` to the first ACK at or above the PSN, else to the retransmission.
    pub recovery_ns: u64,
    /// Retransmitted packets.
    pub resent_packets: u64,
}

/// Totals of one trigger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodeTotals {
    /// Episodes.
    pub count: u64,
    /// When the first one started.
    pub first_start: Timestamp,
    /// The first frame that showed the sender had gone back, and its time.
    pub first_resend: Option<Sighting>,
    /// Time in recovery; overlapping episodes, such as repeated timeouts, count once.
    pub recovery_ns: u64,
    /// Total of retransmitted packets.
    pub resent_packets: u64,
}

/// Outages that are kept of one flow.
const OUTAGES: usize = 4;

/// A time in which the sender tried again and again, and nothing came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// When the first packet without an answer was sent.
    pub start: Timestamp,
    /// The first answer; `None` if none came.
    pub end: Option<Timestamp>,
    /// Times that its timer expired without an answer.
    pub tries: u32,
    /// When it tried last.
    pub last_try: Timestamp,
    /// PSNs that it had sent by then, the first time each.
    pub sent: i64,
    /// The PSN that it went back to.
    target: i64,
    /// The reverse direction of the flow was seen, before or in the meantime; else nothing tells that a
    /// tap would have seen an answer.
    pub has_way_back: bool,
    /// The first retransmission.
    pub first_resend: Sighting,
}

/// What the reverse direction showed since the last progress.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct WayBack {
    /// Whether it was seen at all.
    pub visible: bool,
    /// Time of the last PSN sequence NAK since progress.
    pub nak: Option<Timestamp>,
    /// Time of the last RNR NAK since progress.
    pub rnr: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct OpenEpisode {
    target: i64,
    resend: Timestamp,
    frame: u64,
    episode: Episode,
}

/// The episodes of one flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Episodes {
    is_listing: bool,
    open: Vec<OpenEpisode>,
    listed: Vec<Episode>,
    last_closed: Option<Trigger>,
    /// End of the latest recovery in the totals.
    recovered_until: Timestamp,
    /// Timeouts since the last answer.
    unanswered: Option<Outage>,
    /// The outages with the most tries.
    outages: Vec<Outage>,
    /// Times that its timer expired, over all of them.
    expired: u64,
    totals: [EpisodeTotals; Trigger::ALL.len()],
}

impl Episodes {
    /// Without episodes; `is_listing` says whether they are kept one by one.
    #[must_use]
    pub fn new(is_listing: bool) -> Self {
        let totals = [EpisodeTotals::default(); Trigger::ALL.len()];
        Self {
            is_listing,
            open: Vec::new(),
            listed: Vec::new(),
            last_closed: None,
            recovered_until: Timestamp::EPOCH,
            unanswered: None,
            outages: Vec::new(),
            expired: 0,
            totals,
        }
    }

    /// The sender went back. `first_sending` is the PSN's first transmission, if known;
    /// `p99_round_trip_ns` sets the silence of a timeout; `frame` showed it. `sent`: PSNs that it had
    /// sent, the first time each.
    pub fn begin(
        &mut self,
        jump: &Jump,
        way_back: WayBack,
        first_sending: Option<Timestamp>,
        p99_round_trip_ns: Option<u64>,
        frame: u64,
        sent: i64,
    ) {
        let silence = jump.time.nanos_since(jump.previous_request);
        let patience = p99_round_trip_ns.unwrap_or(0).saturating_mul(4).max(TIMEOUT_FLOOR_NS);
        let trigger = match way_back {
            // A receiver that was not ready also NAKs what follows the refused packet.
            WayBack { rnr: Some(_), .. } => Trigger::Rnr,
            WayBack { nak: Some(_), .. } => Trigger::Nak,
            WayBack { visible: true, .. } if silence >= patience => Trigger::Timeout,
            // No NAK, seen or not, is obeyed that late.
            _ if silence > patience.max(LONGEST_DELAY_NS) => Trigger::Timeout,
            _ => Trigger::Unknown,
        };
        let nak = match trigger {
            Trigger::Nak => way_back.nak,
            Trigger::Rnr => way_back.rnr,
            Trigger::Timeout | Trigger::Unknown => None,
        };
        let start = jump.hole_opened.or(nak).or(first_sending).unwrap_or(jump.previous_request);
        match trigger {
            Trigger::Nak | Trigger::Rnr => self.answered(jump.time),
            Trigger::Timeout | Trigger::Unknown if silence >= patience => {
                let first_resend = Sighting { time: jump.time, frame };
                self.tried(jump, start, first_resend, sent, way_back.visible);
            }
            Trigger::Timeout | Trigger::Unknown => {}
        }
        if self.open.len() >= OPEN {
            let oldest = self.open.remove(0);
            self.close(&oldest, None);
        }
        let episode = Episode { trigger, start, recovery_ns: 0, resent_packets: 0 };
        self.open.push(OpenEpisode { target: jump.target, resend: jump.time, frame, episode });
    }

    /// Its timer expired.
    fn tried(
        &mut self,
        jump: &Jump,
        start: Timestamp,
        first_resend: Sighting,
        sent: i64,
        has_way_back: bool,
    ) {
        self.expired += 1;
        let target = jump.target;
        // Answers that are not seen show in the sender's progress.
        let goes_on = |open: &Outage| !has_way_back && open.target != target;
        if self.unanswered.as_ref().is_some_and(goes_on) {
            self.answered(jump.previous_request);
        }
        let outage = self.unanswered.get_or_insert(Outage {
            start,
            end: None,
            tries: 0,
            last_try: jump.time,
            sent,
            target,
            has_way_back: false,
            first_resend,
        });
        outage.tries += 1;
        outage.last_try = jump.time;
        outage.sent = sent;
        outage.target = target;
        outage.has_way_back |= has_way_back;
    }

    /// A packet of the latest episode was retransmitted.
    pub fn resent(&mut self) {
        if let Some(latest) = self.open.last_mut() {
            latest.episode.resent_packets += 1;
        } else if let Some(trigger) = self.last_closed {
            // The ACK of the target came before the rest of the retransmission.
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
        let mut is_answer = false;
        while let Some(at) = self.open.iter().position(|open| open.target <= psn) {
            let recovered = self.open.remove(at);
            self.close(&recovered, Some(time));
            is_answer = true;
        }
        if is_answer {
            self.answered(time);
        }
    }

    fn answered(&mut self, time: Timestamp) {
        if let Some(outage) = self.unanswered.take() {
            self.note_outage(Outage { end: Some(time), ..outage });
        }
    }

    fn note_outage(&mut self, outage: Outage) {
        self.outages.push(outage);
        if self.outages.len() > OUTAGES {
            let least = (0..).zip(&self.outages).min_by_key(|(_, one)| one.tries);
            if let Some((at, _)) = least {
                self.outages.remove(at);
            }
        }
    }

    /// Closes every episode as it stands.
    pub fn finish(&mut self) {
        for open in std::mem::take(&mut self.open) {
            self.close(&open, None);
        }
        if let Some(outage) = self.unanswered.take() {
            self.note_outage(outage);
        }
    }

    /// The times with the most retransmissions that nothing answered, the first one first, also where
    /// an answer would not have been seen.
    #[must_use]
    pub fn outages(&self) -> &[Outage] {
        &self.outages
    }

    /// Times that its timer expired in all outages, also those that are not kept.
    #[must_use]
    pub const fn expired(&self) -> u64 {
        self.expired
    }

    /// The first 1024 episodes in order of their ends, if they are listed.
    #[must_use]
    pub fn listed(&self) -> &[Episode] {
        &self.listed
    }

    /// Number and time of the recoveries that `trigger` began.
    #[must_use]
    pub const fn totals(&self, trigger: Trigger) -> EpisodeTotals {
        self.totals[trigger as usize]
    }

    /// Episodes missing from the list.
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
        // Timestamps of a damaged capture may be centuries apart.
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
