//! Where the agent's data comes from. Each source is a folder of one shape:
//!
//! * `mod.rs` implements `Source`: its switch, how it opens, what it delivers and what it costs.
//! * `needs.rs` says what it needs of the kernel and of this process.
//! * Other files as it needs them.
//!
//! The settings layer comes before the agent, so a source's settings are in `config/NAME.rs`, where
//! it has any. Its test is `tests/agent/source/NAME.rs`. `cargo xtask tidy` checks the shape.
//!
//! `SOURCES` is the only list of them. The agent opens and reads what is in it, `agent --check`
//! goes through it, and `railscope.source.visible` and `/readyz` show what the sources report.

pub mod check;

pub(super) mod queue_pairs;
pub(super) mod running;
pub(super) mod visibility;

mod beside;
mod calls;
mod connections;
mod counters;
mod packets;
mod probes;
mod processes;

use std::time::Duration;

use self::beside::Beside;
use self::visibility::Visibility;
use crate::config::{Config, SourceConfig};
use crate::ingest::capability::{Host, Verdict};
use crate::live::session::Session;

/// Every source, in the order of `agent --check`.
static SOURCES: [&dyn Source; 6] = [
    &packets::Packets,
    &connections::Connections,
    &calls::Calls,
    &queue_pairs::QueuePairs,
    &counters::Counters,
    &processes::Processes,
];

/// A live source of data about this node.
trait Source: Sync {
    /// The key that switches it on, as in `sources.calls`. Several may share one.
    fn key(&self) -> &'static str;

    /// Whether it is switched on.
    fn is_on(&self, on: SourceConfig) -> bool;

    /// Whether it can run on this host: a verdict for each way to run it.
    fn needs(&self, host: &Host) -> Vec<Verdict>;

    /// What the settings ask of it and cannot have here; `verdicts` are those of `needs`.
    fn problems(&self, _: &Config, verdicts: &[Verdict]) -> Vec<String> {
        let blind = verdicts.iter().filter(|verdict| !verdict.runs());
        blind.map(|verdict| format!("{}: cannot see {}", self.key(), verdict.sees)).collect()
    }

    /// Opens it. What it sees, and what keeps it from seeing, goes into `context.visibility`; the
    /// user is told the details by `context.say`.
    fn open(&self, opening: &Opening<'_>, context: &mut Context<'_>) -> Opened;
}

/// How an open source is read.
enum Opened {
    /// Between packets: it never waits for long.
    Between(Box<dyn Between>),
    /// Beside packets, on a thread: it may take its time.
    Beside(Box<dyn Beside>),
    /// Not at all: it cannot run here, or others ask it.
    Nothing,
}

/// A source that is read between packets, in each round of the agent.
trait Between {
    /// Delivers what is due to the pipeline.
    fn read(&mut self, context: &mut Context<'_>);

    /// CPU time of its kernel programs, by name.
    fn kernel_times(&self, _: &Session) -> Vec<(String, Duration)> {
        Vec::new()
    }
}

/// What a source is opened with.
struct Opening<'a> {
    config: &'a Config,
    /// Name of this host in samples.
    host: &'a str,
    /// What this process may do here.
    rights: &'a Host,
}

/// Whom a source delivers to.
struct Context<'a> {
    /// Packet sources, and the pipeline.
    session: &'a mut Session,
    /// What sources see, and what they cannot.
    visibility: &'a mut Visibility,
    /// Takes what the user should know.
    say: &'a mut dyn FnMut(String),
}
