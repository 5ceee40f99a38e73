//! What each source provides, and what the agent gives it.

use std::sync::Arc;
use std::time::Duration;

use super::beside::Beside;
use super::visibility::Visibility;
use crate::agent::deep::DeepMode;
use crate::config::{Config, SourceConfig};
use crate::ingest::capability::{Host, Verdict};
use crate::ingest::process::Processes;
use crate::live::session::Session;

/// A live source of data about this node.
pub(super) trait Source: Sync {
    /// The setting that enables it, as in `sources.calls`. Several sources may share one.
    fn key(&self) -> &'static str;

    /// Whether the settings enable it.
    fn is_on(&self, on: SourceConfig) -> bool;

    /// Whether it can run on this host: a verdict for each way to run it.
    fn needs(&self, host: &Host) -> Vec<Verdict>;

    /// What the settings require and this host cannot provide; `verdicts` are those of `needs`.
    fn problems(&self, _: &Config, verdicts: &[Verdict]) -> Vec<String> {
        let blind = verdicts.iter().filter(|verdict| !verdict.runs());
        blind.map(|verdict| format!("{}: cannot see {}", self.key(), verdict.sees)).collect()
    }

    /// Opens it. What it can and cannot see goes into `context.visibility`, details for the user
    /// to `context.say`.
    fn open(&self, opening: &Opening<'_>, context: &mut Context<'_>) -> Opened;
}

/// How an open source is read.
pub(super) enum Opened {
    /// Between packets, on the agent's thread: it must not block.
    Between(Box<dyn Between>),
    /// On a thread beside packets, shared with other such sources: it may take its time.
    Beside(Box<dyn Beside>),
    /// Not at all: it cannot run here, or another source reads it.
    Nothing,
}

/// A source that is read between packets, in each round of the agent.
pub(super) trait Between {
    /// Delivers what is due to the pipeline.
    fn read(&mut self, context: &mut Context<'_>);

    /// Takes over what may change in new settings.
    fn configure(&mut self, _: &Config, _: &mut Context<'_>) {}

    /// CPU time of its kernel programs, by name.
    fn kernel_times(&self, _: &Session) -> Vec<(String, Duration)> {
        Vec::new()
    }
}

/// What a source is opened with.
pub(super) struct Opening<'a> {
    pub(super) config: &'a Config,
    /// Name of this host in samples.
    pub(super) host: &'a str,
    /// What this host and this process's privileges permit.
    pub(super) rights: &'a Host,
    /// The processes of this host.
    pub(super) processes: &'a Processes,
    /// When more events of NCCL's profiler plugin are asked for.
    pub(super) deep: &'a Arc<DeepMode>,
}

/// Where a source delivers its data.
pub(super) struct Context<'a> {
    /// Packet sources, and the pipeline.
    pub(super) session: &'a mut Session,
    /// What sources see, and what they cannot.
    pub(super) visibility: &'a mut Visibility,
    /// Whether a job hangs, as of the latest report.
    pub(super) is_alarmed: bool,
    /// Takes what the user should know.
    pub(super) say: &'a mut dyn FnMut(String),
}
