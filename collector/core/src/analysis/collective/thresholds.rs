//! Every threshold and weight by which messages are cut into collectives.
//!
//! Weights are costs without a unit: the search takes the cheapest explanation of all messages, so
//! only their order of magnitude and the relations asserted at the end matter. They were set on
//! recorded jobs, which `cargo xtask score` compares with the truth. What NCCL itself fixes (lines,
//! buffers, rounding) is in `slicing.rs` and `plan.rs`.

/// Cost of a collective: of two explanations, the one with fewer collectives is more plausible.
pub(super) const OPERATION: u32 = 100;
/// Cost of a collective whose end no CTS proves. Higher than [`OPERATION`], so that proven ends
/// count for more than few collectives: a capture may begin in the middle of many equal ones.
pub(super) const UNPROVEN: u32 = 900;
/// Cost of an end where every CTS had been sent ahead: NCCL's proxy posts none for the next
/// collective before this one is done (`proxy.cc`), so this is almost certainly not the end.
pub(super) const UNFENCED: u32 = 4000;
/// Cost of continuing across a place where no CTS had been sent ahead, although elsewhere they
/// were. Less than [`UNFENCED`]: a slow receiver looks like this by chance.
pub(super) const ACROSS_FENCE: u32 = 1600;
/// Cost of an end that no CTS confirms or denies: CTSs were not captured there.
pub(super) const UNCONFIRMED: u32 = 300;
/// If this many thousandths of the lanes look like an end inside a collective, looking like an end
/// proves nothing: one lane in four.
pub(super) const CHANCE: u32 = 250;
/// Cost of each end that a collective would hide whose own beginning was not seen: more than for
/// another collective, so that it does not swallow what follows.
pub(super) const HIDDEN: u32 = 300;
/// Cost of payload that contradicts the kind: forwarded in a ReduceScatter, changed in an
/// AllGather. The highest of all, as payload is the best evidence.
pub(super) const CONTRADICTION: u32 = 6000;
/// Cost of a kind that is rarer than AllReduce in training.
pub(super) const RARER: u32 = 100;
/// Cost of a tree where no connection was built for one: it may borrow those of the ring.
pub(super) const BORROWED: u32 = 200;
/// Cost of a capture that begins or ends within a collective, where that is expected.
pub(super) const CUT: u32 = 300;
/// Cost of a capture that ends within a collective: less than of an end against all CTSs
/// ([`UNFENCED`]), so that a last, incomplete collective is not read as a whole one.
pub(super) const CUT_AT_END: u32 = 1200;
/// Cost of a stretch of messages that nothing explains: the last resort, but still cheaper than an
/// end against all CTSs.
pub(super) const UNEXPLAINED: u32 = 2000;
/// Cost of each channel that takes part only after the others have ended: less than of a
/// collective of its own.
pub(super) const APART: u32 = 60;

/// Partial explanations that the search keeps at once: bounds its time and memory.
pub(super) const STATES: usize = 64;
/// Those of [`STATES`] that are kept for their cost, the others for their cost per message: half,
/// because the right reading of a long collective costs more than a wrong one of its first
/// messages, and the right reading of a short one does not.
pub(super) const CHEAPEST: usize = STATES / 2;
/// An explanation that costs this much more than one that explains more messages is given up:
/// as much as one end against all CTSs.
pub(super) const BEHIND: u64 = 4000;
/// A kind whose cost is less than this above the best one's is reported as an alternative: a few
/// doubts more, but no contradiction.
pub(super) const ALTERNATIVE: u32 = 500;
/// Places within one reading at which a collective may have ended; with more, the reading is
/// dropped: its cost, up to [`ACROSS_FENCE`] each, exceeds even [`CONTRADICTION`].
pub(super) const CROSSINGS: u32 = 6;
/// Chunks of a pass or chain whose CTSs or payload are compared: enough to decide, and few on
/// rings of thousands of ranks.
pub(super) const SAMPLED_CHUNKS: usize = 64;

/// Eighths of the lanes that must look like an end for it to count as clean: one lane in many may
/// be late.
pub(super) const CLEAN_EIGHTHS: u32 = 7;
/// Eighths of the lanes below which those that look like an end deny it: most contradict.
pub(super) const DENIED_EIGHTHS: u32 = 4;
/// Tenths of the compared payloads that must agree for a verdict: heads of two chunks may be equal
/// or differ by chance.
pub(super) const AGREEING_TENTHS: u32 = 9;
/// One in this many found collectives may disagree with a log at a given offset: logs have gaps, and
/// not every collective is read correctly.
pub(super) const ONE_UNFITTING_IN: usize = 10;
/// Places at which a part of a job may begin in its logs; later ones are not compared. Only what
/// all of them agree on is used.
pub(super) const OFFSETS: usize = 64;

/// Missing messages that are filled in for one hole in the numbers. A longer hole is as long as
/// several collectives: nothing after it can be attached to what came before.
pub(super) const HOLE_LIMIT: u64 = 256;
/// Messages within which a CTS must have been seen to know what a lane's receiver offers.
pub(super) const CAPACITY_WITHIN: usize = 8;
/// Messages by which equally used connections may differ: at the start or end of a capture, one may be
/// this far ahead of another.
pub(super) const LANES_APART: usize = 64;

/// Sends of two ranks to which a channel may still add its part: one channel is at most a few
/// sends behind another.
pub(super) const OPEN_SENDS: usize = 8;
/// Groups of sends that a late send may still belong to.
pub(super) const OPEN_GROUPS: usize = 8;
/// Sets of ranks' pairs that are remembered as groups: a job calls few.
pub(super) const PATTERNS: usize = 16;
/// Ranks of the smallest AlltoAll: two that send to each other also exchange with SendRecv.
pub(super) const ALL_TO_ALL_RANKS: usize = 3;
/// Sends by which the pairs of an AlltoAll may differ: a capture begins or ends within one.
pub(super) const SENDS_APART: usize = 1;
/// Bytes of the smallest chunk of a send: a quarter of `NCCL_P2P_NET_CHUNKSIZE`'s default, 128 KiB.
pub(super) const LEAST_CHUNK: u64 = 32_768;

// The relations that the comments above claim.
const _: () = assert!(OPERATION < UNPROVEN && OPERATION < HIDDEN && APART < OPERATION);
const _: () = assert!(ACROSS_FENCE < UNFENCED && CUT_AT_END < UNFENCED);
const _: () = assert!(CUT < UNEXPLAINED && CUT_AT_END < UNEXPLAINED && UNEXPLAINED < UNFENCED);
const _: () = assert!(UNFENCED < CONTRADICTION && CONTRADICTION < CROSSINGS * ACROSS_FENCE);
const _: () = assert!(BEHIND == UNFENCED as u64);
