//! One edge in one collective: its time, divided into parts.
//!
//! ```text
//! buffer and left | first message | gap | message | gap | ... | last message |
//! start wait        transfer        ?     transfer  ?           transfer
//! ```
//!
//! A gap before a message is an input wait until the chunk to forward came, then a receiver wait until
//! the CTS came, if data followed it at once, and then a sender wait: in the order in which NCCL's proxy
//! asks for them, so that a sender without data waits for no receiver. Recoveries
//! are subtracted from each. Of what remains, the time in which the sender was paused is pause, where
//! it had something to send: in transfers and sender waits, and at the end of a start wait whose data
//! left as soon as the pause was over. Time in which a closed TCP window kept it from sending is receiver
//! wait.

use super::blocked::blocked_ns;
use super::pause::PortPauses;
use super::thresholds::PROMPT_ANSWERS;
use super::trouble::{Recoveries, Troubles};
use super::view::{Message, View};
use crate::analysis::collective::RingOrder;
use crate::link::job::{NetConnectionId, Transfer};
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// Where the time of a collective went on one connection. The parts sum to the span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeWaits {
    /// The connection whose time it is.
    pub connection: NetConnectionId,
    /// From when the sender had a receive buffer and had left the previous collective, to the last
    /// byte; from the first byte if no clear-to-send was seen. Over TCP the sender always has one.
    pub span: Span,
    /// From the start of the span to the first byte; `None` if that is where the span starts.
    pub start_wait_ns: Option<u64>,
    /// Before the span: the sender had left the previous collective, and had no clear-to-send.
    pub without_cts_ns: u64,
    /// The part of `without_cts_ns` in which clear-to-sends were lost or sent again; 0 unless data followed
    /// the one that came at once.
    pub first_cts_recovery_ns: u64,
    /// The part of `receiver_wait_ns` in which clear-to-sends were lost or sent again.
    pub cts_recovery_ns: u64,
    /// The sender had the chunk and a receive buffer for it, and did not send.
    pub sender_wait_ns: u64,
    /// The receiver had offered no buffer, and data followed as soon as it did; over TCP, its window was
    /// 0.
    pub receiver_wait_ns: u64,
    /// The sender waited for the chunk that it forwards.
    pub input_wait_ns: u64,
    /// The rank that those chunks come from; `None` if unknown.
    pub input_from: Option<u32>,
    /// The rest: data flowed, or the cause of a gap is unknown.
    pub transfer_ns: u64,
    /// The sender was paused while it had something to send; `None` if nothing could show that.
    pub paused_ns: Option<u64>,
    /// Its sender may have begun when it did because it had no room before: it waited no longer with room
    /// than without.
    pub may_have_waited_for_room: bool,
    /// The part of it before the first byte.
    pub start_paused_ns: u64,
    /// Pause frames show it, not counters.
    pub is_pause_seen: bool,
    /// The part of the span in which the receiver paused its switch; 0 if nothing could show that.
    pub receiver_pauses_ns: u64,
    /// Packets were being retransmitted, or waited for.
    pub recovery_ns: u64,
    /// The part of it after the last byte: the receiver had all data this much later.
    pub tail_recovery_ns: u64,
    /// The part of it in recoveries that a NAK started: data was missing, not only an ACK.
    pub refused_ns: u64,
    /// The part of its recoveries in which its sender took no data, as room was not free before the
    /// ACK; 0 if that was not seen.
    pub blocked_ns: u64,
    /// The part of its recoveries in which its sender had a chunk and room for it, and sent it only when the
    /// recovery was over.
    pub unsent_ns: u64,
    /// Bytes of its messages, as far as they were captured.
    pub bytes: u64,
    /// From the first to the last packet of each message, added up, without recovery.
    pub data_ns: u64,
    /// The longest gap that no recovery explains.
    pub stall: Option<Stall>,
    /// Its first byte.
    pub first_data: Timestamp,
    /// The last frame of its first message.
    pub first_witness: Witness,
    /// Its sender took part in an earlier collective. Otherwise its connections may have been set up
    /// in this one.
    pub has_predecessor: bool,
    /// Times are those of a tap next to the sender.
    pub is_at_sender: bool,
    /// Its data goes over TCP (NET/Socket).
    pub is_on_tcp: bool,
    /// Data packets with a CE mark; `None` if no tap is behind a switch.
    pub ce_packets: Option<u64>,
    /// CNPs to its sender; `None` if none could be seen.
    pub cnps: Option<u64>,
    /// Packets that its sender retransmitted in the collective.
    pub retransmitted_packets: u64,
}

/// A gap between two messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The message after it, from 0.
    pub before_message: u64,
    /// Its length, without time in recovery.
    pub duration_ns: u64,
    /// When the message after it began.
    pub end: Timestamp,
    /// The last frame of that message.
    pub witness: Witness,
}

/// Reference times for judging an edge.
#[derive(Clone, Debug)]
pub struct Surroundings<'a> {
    /// When the sender finished its previous collective.
    pub left: Option<Timestamp>,
    /// The connection's shortest time from a clear-to-send to its data.
    pub quickest_answer_ns: Option<u64>,
    /// The messages that the sender forwards; `None` if unknown.
    pub inputs: Option<Inputs<'a>>,
    /// When the sender was paused; `None` if nothing could show that.
    pub pauses: Option<&'a PortPauses<'a>>,
    /// When the receiver paused its switch; `None` if nothing could show that.
    pub receiver_pauses: Option<&'a PortPauses<'a>>,
}

/// The messages that a sender forwards, at the tap that saw it send.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// Which message forwards which.
    pub ring: RingOrder,
    /// The messages that the sender received in the same collective.
    pub transfers: &'a [Transfer],
    /// The rank that sent them.
    pub from: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Start,
    Sender,
    Receiver,
    Input,
    Transfer,
}

impl EdgeWaits {
    /// Waits of an edge whose time begins at `start`, all still 0.
    fn starting(
        connection: NetConnectionId,
        view: &View<'_>,
        start: Timestamp,
        first: &Message,
    ) -> Self {
        Self {
            connection,
            span: Span { first: start, last: start },
            start_wait_ns: None,
            without_cts_ns: 0,
            first_cts_recovery_ns: 0,
            cts_recovery_ns: 0,
            sender_wait_ns: 0,
            receiver_wait_ns: 0,
            input_wait_ns: 0,
            input_from: None,
            transfer_ns: 0,
            paused_ns: None,
            may_have_waited_for_room: true,
            start_paused_ns: 0,
            is_pause_seen: false,
            receiver_pauses_ns: 0,
            recovery_ns: 0,
            tail_recovery_ns: 0,
            refused_ns: 0,
            blocked_ns: 0,
            unsent_ns: 0,
            bytes: view.transfers().iter().filter_map(|transfer| transfer.bytes).sum(),
            data_ns: 0,
            stall: None,
            first_data: first.first,
            first_witness: first.witness,
            has_predecessor: false,
            is_at_sender: view.is_of_sender(),
            is_on_tcp: view.socket().is_some(),
            ce_packets: None,
            cnps: None,
            retransmitted_packets: 0,
        }
    }

    /// The sum of all parts.
    #[must_use]
    pub fn parts_ns(&self) -> u64 {
        self.start_wait_ns.unwrap_or(0)
            + self.sender_wait_ns
            + self.receiver_wait_ns
            + self.input_wait_ns
            + self.transfer_ns
            + self.paused_ns.unwrap_or(0)
            + self.recovery_ns
    }
}

impl Inputs<'_> {
    /// Input of message `at`: the sender's own chunk, or the time at which the forwarded chunk
    /// arrived.
    fn input(&self, at: u64) -> Input {
        if self.ring.passes_on(at).is_none() {
            return Input::Own;
        }
        let arrived = self.message(at).and_then(|transfer| transfer.received);
        arrived.map_or(Input::Unseen, |received| Input::Arrived(received.last))
    }

    /// The received message that message `at` forwards, if it was captured.
    pub(super) fn message(&self, at: u64) -> Option<&Transfer> {
        let wanted = self.ring.passes_on(at)?;
        let first = self.transfers.first()?.number;
        let transfer = self.transfers.get(usize::try_from(wanted).ok()?)?;
        // If messages are missing, indices are not message numbers.
        (transfer.number.checked_sub(first) == Some(wanted)).then_some(transfer)
    }
}

/// What a message needed before it could be sent, besides a receive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Own,
    Arrived(Timestamp),
    Unseen,
}

/// The waits of the messages of `view`, which has at least one.
#[must_use]
pub fn waits(
    connection: NetConnectionId,
    view: &View<'_>,
    surroundings: &Surroundings<'_>,
    troubles: &Troubles,
) -> Option<EdgeWaits> {
    let mut messages = view.messages();
    let first = messages.next()?;
    let room = match view.socket() {
        None => first.cts.map(|cts| surroundings.left.map_or(cts, |left| left.max(cts))),
        Some(_) => surroundings.left,
    };
    let start = room.map_or(first.first, |room| room.min(first.first));
    let mut clock = Clock {
        now: start,
        recoveries: troubles.recoveries(connection, view.is_of_sender(), start),
        pauses: surroundings.pauses,
        cts_recoveries: troubles.cts_recoveries(connection, surroundings.left.unwrap_or(start)),
        closed: view.socket().map_or(&[], |socket| &socket.closed),
        waits: EdgeWaits {
            start_wait_ns: room.map(|_| 0),
            is_pause_seen: surroundings.pauses.is_some_and(PortPauses::is_seen),
            has_predecessor: surroundings.left.is_some(),
            ..EdgeWaits::starting(connection, view, start, &first)
        },
    };
    if let Some((room, left)) = room.zip(surroundings.left) {
        let recovery_ns = clock.cts_recoveries.until(left, room);
        let prompt_ns = prompt_ns(surroundings);
        let is_prompt = first.first.nanos_since(room) <= prompt_ns;
        clock.waits.first_cts_recovery_ns = if is_prompt { recovery_ns } else { 0 };
    }
    clock.run(first.first, Part::Start);
    clock.message(first.last);
    let mut number = first.number;
    for message in messages {
        // After a hole the reason for a gap is unknown.
        if number.checked_add(1) == Some(message.number) {
            clock.gap(&message, message.number.saturating_sub(first.number), surroundings);
        } else {
            clock.run(message.first, Part::Transfer);
        }
        clock.message(message.last);
        number = message.number;
    }
    let mut waits = clock.finish(view.start_after().unwrap_or(Timestamp::MAX));
    debug_assert_eq!(
        waits.parts_ns(),
        waits.span.last.nanos_since(waits.span.first),
        "the parts sum to the span"
    );
    let marked = view.transfers().iter().try_fold(0_u64, |sum, transfer| {
        Some(sum.saturating_add(u64::from(transfer.received.map(|_| transfer.ce_packets)?)))
    });
    let without_cts_ns = room.zip(surroundings.left).map(|(room, left)| room.nanos_since(left));
    waits.receiver_pauses_ns = surroundings
        .receiver_pauses
        .and_then(|pauses| pauses.within(waits.span.first, waits.span.last))
        .unwrap_or(0);
    waits.without_cts_ns = without_cts_ns.unwrap_or(0);
    let both = waits.start_wait_ns.zip(without_cts_ns);
    waits.may_have_waited_for_room = both.is_none_or(|(with, without)| with <= without);
    waits.ce_packets = marked.filter(|_| !waits.is_on_tcp);
    waits.input_from = surroundings.inputs.and_then(|inputs| inputs.from);
    waits.refused_ns = troubles.refused_ns(connection, view.is_of_sender(), waits.span);
    waits.blocked_ns = surroundings.inputs.map_or(0, |inputs| {
        let recoveries = troubles.recoveries(connection, view.is_of_sender(), start);
        blocked_ns(inputs.transfers, recoveries)
    });
    waits.cnps = troubles.cnps(connection, waits.span);
    waits.retransmitted_packets =
        troubles.retransmitted_packets(connection, view.is_of_sender(), waits.span);
    Some(waits)
}

/// Data that follows within this time had waited.
fn prompt_ns(surroundings: &Surroundings<'_>) -> u64 {
    surroundings.quickest_answer_ns.unwrap_or(0).saturating_mul(PROMPT_ANSWERS)
}

/// Walks along the time of an edge and adds it to the parts.
struct Clock<'a> {
    now: Timestamp,
    recoveries: Recoveries<'a>,
    /// Of clear-to-sends, at the tap of either end.
    cts_recoveries: Recoveries<'a>,
    pauses: Option<&'a PortPauses<'a>>,
    /// When the receiver's TCP window was 0, in order of time.
    closed: &'a [Span],
    waits: EdgeWaits,
}

impl Clock<'_> {
    /// Adds the time until `end` to `part`, without recoveries and pauses. Returns how much that was.
    fn run(&mut self, end: Timestamp, part: Part) -> u64 {
        let whole_ns = end.nanos_since(self.now);
        let recovery_ns = self.recoveries.until(self.now, end);
        let rest_ns = whole_ns.saturating_sub(recovery_ns);
        let paused_ns = self.paused_ns(end, part).map(|paused_ns| paused_ns.min(rest_ns));
        let rest_ns = rest_ns.saturating_sub(paused_ns.unwrap_or(0));
        let closed_ns = self.closed_ns(end, part).min(rest_ns);
        let part_ns = rest_ns.saturating_sub(closed_ns);
        let begin = self.now;
        self.now = self.now.max(end);
        let waits = &mut self.waits;
        waits.recovery_ns += recovery_ns;
        waits.receiver_wait_ns += closed_ns;
        if let Some(paused_ns) = paused_ns {
            *waits.paused_ns.get_or_insert(0) += paused_ns;
            waits.start_paused_ns += if part == Part::Start { paused_ns } else { 0 };
        }
        match part {
            Part::Start => match &mut waits.start_wait_ns {
                Some(start_wait_ns) => *start_wait_ns += part_ns,
                None => waits.transfer_ns += part_ns,
            },
            Part::Sender => waits.sender_wait_ns += part_ns,
            Part::Receiver => {
                waits.receiver_wait_ns += part_ns;
                waits.cts_recovery_ns += self.cts_recoveries.until(begin, end).min(part_ns);
            }
            Part::Input => waits.input_wait_ns += part_ns,
            Part::Transfer => waits.transfer_ns += part_ns,
        }
        part_ns
    }

    /// How long pause kept the sender from sending until `end`; `None` if unknown, or if it waited for
    /// something else.
    fn paused_ns(&self, end: Timestamp, part: Part) -> Option<u64> {
        let pauses = self.pauses?;
        match part {
            Part::Sender | Part::Transfer => pauses.within(self.now, end),
            Part::Start => Some(pauses.before(self.now, end)),
            Part::Receiver | Part::Input => None,
        }
    }

    /// How long a closed window kept the sender from sending until `end`.
    fn closed_ns(&self, end: Timestamp, part: Part) -> u64 {
        if !matches!(part, Part::Sender | Part::Transfer) {
            return 0;
        }
        let over = self.closed.partition_point(|span| span.last <= self.now);
        let inside = self.closed.iter().skip(over).take_while(|span| span.first < end);
        inside.map(|span| span.last.min(end).nanos_since(span.first.max(self.now))).sum()
    }

    /// Adds the time until `end`, in which a message flows.
    fn message(&mut self, end: Timestamp) {
        self.waits.data_ns += self.run(end, Part::Transfer);
    }

    /// The last message may have needed a recovery before it arrived, but not beyond `next`, the
    /// start of the next collective's data.
    fn finish(mut self, next: Timestamp) -> EdgeWaits {
        let last = self.now;
        while let Some(end) = self.recoveries.next_end(next) {
            self.run(end.min(next), Part::Transfer);
            if end >= next {
                break;
            }
        }
        self.waits.span.last = self.now;
        self.waits.tail_recovery_ns = self.now.nanos_since(last);
        self.waits
    }

    /// The gap before `message`, which is number `at` of the collective.
    fn gap(&mut self, message: &Message, at: u64, surroundings: &Surroundings<'_>) {
        let quick_ns = surroundings.quickest_answer_ns.unwrap_or(0);
        let input = surroundings.inputs.map_or(Input::Unseen, |inputs| inputs.input(at));
        let cts = message.cts.unwrap_or(self.now).clamp(self.now, message.first.max(self.now));
        let mut stalled_ns = match input {
            Input::Arrived(input) if input > self.now => {
                self.run(input.min(message.first), Part::Input)
            }
            _ => 0,
        };
        if cts > self.now {
            let is_prompt = message.first.nanos_since(cts) <= prompt_ns(surroundings);
            stalled_ns += self.run(cts, if is_prompt { Part::Receiver } else { Part::Transfer });
        }
        let answer = self.now.plus_nanos(quick_ns).min(message.first);
        stalled_ns += self.run(answer, Part::Transfer);
        let part = if input == Input::Unseen { Part::Transfer } else { Part::Sender };
        let is_held_back = part == Part::Sender
            && message.cts.is_some()
            && self
                .recoveries
                .last_end(message.first)
                .is_some_and(|end| message.first.nanos_since(end) <= prompt_ns(surroundings));
        let before_ns = self.waits.recovery_ns;
        stalled_ns += self.run(message.first, part);
        if is_held_back {
            self.waits.unsent_ns += self.waits.recovery_ns.saturating_sub(before_ns);
        }
        if self.waits.stall.is_none_or(|known| stalled_ns > known.duration_ns) && stalled_ns > 0 {
            self.waits.stall = Some(Stall {
                before_message: at,
                duration_ns: stalled_ns,
                end: message.first,
                witness: message.witness,
            });
        }
    }
}
