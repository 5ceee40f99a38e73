//! Which panels must show what, as `board: title`.

/// A rank that others wait for, and agents at work.
pub(super) const LATE: &[&str] = &[
    "job: Who holds up the job, and why?",
    "job: How long is a training step?",
    "job: How regular are they?",
    "job: How much is communication?",
    "job: When are training steps slow?",
    "job: Why? What do collectives wait for?",
    "job: Who? How long does the job wait for each rank?",
    "job: How near is bus bandwidth to the line rate?",
    "job: How long does the job wait for which rank, and why?",
    "job: What do ranks account for themselves?",
    "job: Which rank waits for which?",
    "job: How long do collectives take?",
    "job: How many bytes does the job send?",
    "agents: Are all agents up?",
    "agents: Which sources see their data?",
    "agents: How often do agents report?",
    "agents: How many frames do agents see?",
    "agents: How much CPU do agents take?",
    "agents: How much memory do agents take?",
    "agents: Which versions run?",
    "agents: How large are the agents' pages?",
];

/// Lost packets.
pub(super) const LOSS: &[&str] = &[
    "fabric: Losing packets?",
    "fabric: Who retransmits?",
    "fabric: How long do senders recover, and from what?",
    "fabric: Which NAKs are sent?",
    "rails: Which rails lose packets?",
    "job: What happened to training steps on the network?",
];

/// Packets that switches mark.
pub(super) const CONGESTION: &[&str] = &[
    "fabric: Congested?",
    "fabric: Which rails are congested?",
    "fabric: Does DCQCN react to congestion?",
    "fabric: At which ports do marked packets arrive?",
    "fabric: Hidden bursts?",
    "fabric: How far above the mean are the peaks?",
    "fabric: Incast?",
    "fabric: How many flows meet at one port?",
    "host: Congested?",
    "host: How bursty is its traffic?",
    "host: Does it take part in congestion control?",
    "rails: Which rails are congested?",
    "rails: Which DSCPs do packets have?",
    "rails: Which path MTUs are used?",
    "rails: One DSCP?",
    "rails: One path MTU?",
    "rails: One IP version?",
];

/// A late rank, seen where all ranks are visible.
pub(super) const MIRROR: &[&str] = &[
    "job: Who holds up the job, and why?",
    "job: When are training steps slow?",
    "job: How long do ranks wait for a straggler?",
    "job: Why? What do collectives wait for?",
    "job: What is wrong, and what to do?",
];

/// A job that does not use RDMA.
pub(super) const SOCKETS: &[&str] = &[
    "job: RDMA or sockets?",
    "job: How many bytes does the job send?",
    "host: Sockets instead of RDMA?",
    "host: Does NCCL use sockets instead of RDMA?",
    "fabric: What is wrong, and what to do?",
];

/// A rank that stands still.
pub(super) const HANG: &[&str] = &[
    "hang: Does a collective hang?",
    "hang: How long has the job been silent?",
    "hang: How many ranks are seen?",
    "hang: How many ports are silent?",
    "hang: Do all agents answer?",
    "hang: Who is silent, and since when?",
    "hang: When did which rank fall silent?",
    "hang: Which ports are silent, and for how long?",
    "hang: What is wrong, and what to do?",
    "hang: Which agents report it?",
    "hang: How long since each rank asked for data?",
    "hang: When did data stop?",
    "hang: Which verdicts came up?",
    "job: Does it hang?",
];

/// NICs of which one is at fault, without packets.
pub(super) const COUNTERS: &[&str] = &[
    "agents: Exports lost?",
    "agents: Does the OTLP receiver take everything?",
    "fabric: Paused?",
    "fabric: Who pauses whom, at which priority?",
    "fabric: Do senders react?",
    "fabric: Links flapping?",
    "fabric: Trust this board?",
    "fabric: Does DCQCN react to congestion?",
    "fabric: Do links flap or correct errors?",
    "fabric: Which NICs pause their switch?",
    "fabric: Which NICs are paused by their switch?",
    "fabric: Which signs of loss do NICs count?",
    "fabric: Which NICs drop packets?",
    "fabric: Are there pause storms?",
    "rails: Is a rail lame?",
    "rails: Ports compared?",
    "rails: One MTU?",
    "rails: One firmware?",
    "rails: One driver?",
    "rails: How much does each rail carry?",
    "rails: How even are the rails?",
    "rails: Which ports carry less than their rail?",
    "rails: Which ports differ from most others?",
    "rails: Which ports are on a rail that most hosts do not use?",
    "rails: Do all links run at the same rate?",
    "rails: What are the NICs, and how are they set up?",
    "host: Are its links up?",
    "host: Does it pause its switch?",
    "host: Is it paused?",
    "host: Out of buffers?",
    "host: Receivers not ready?",
    "host: How much do its NICs carry?",
    "host: Who pauses whom, at which priority?",
    "host: Does it run out of buffers?",
    "host: Does it lose packets?",
    "host: What are its NICs?",
    "host: When were its links down?",
    "host: Which counters of its NICs rise?",
    "hang: Was a link down?",
    "hang: Did connections time out?",
];

/// What a clean job shows.
pub(super) const CLEAN: &[&str] = &[
    "job: How long is a training step?",
    "job: How near is bus bandwidth to the line rate?",
    "fabric: How far above the mean are the peaks?",
    "rails: How much does each rail carry?",
    "host: How much do its NICs carry?",
    "hang: How many ranks are seen?",
    "agents: Are all agents up?",
];

/// What a clean job shows to be well.
pub(super) const CLEAN_QUIET: &[&str] = &[
    "job: Who holds up the job, and why?",
    "job: Does it hang?",
    "job: RDMA or sockets?",
    "fabric: Congested?",
    "fabric: Losing packets?",
    "host: Sockets instead of RDMA?",
    "hang: Does a collective hang?",
    "agents: Frames lost?",
    "agents: Series refused?",
];

/// NICs without packets: sources that see nothing have the value 0.
pub(super) const COUNTERS_QUIET: &[&str] = &["agents: Which sources see nothing, and why?"];
