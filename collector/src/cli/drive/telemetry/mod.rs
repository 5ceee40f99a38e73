//! `drive --otlp`: the job's own spans and metrics, sent by a process of its own.
//!
//! Ranks in namespaces reach no receiver, and only a single-threaded process can enter a user
//! namespace. So the sending process, [`sender`], is started first, where the receiver can be
//! reached. It reads truth records as lines and at the end answers what was delivered. Whatever
//! happens to it or to the receiver, the job goes on: records wait in a bounded queue.

mod conversation;
mod queue;
pub(super) mod sender;

use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;

use super::environment::Environment;
use crate::cli::notice::notice;
use conversation::Answer;
use queue::Queue;
use railscope_drive::launch::Detail;
use railscope_drive::telemetry::Settings;
use railscope_drive::truth::Record;

/// Set for the sending process: the process that started it.
const VARIABLE: &str = "RAILSCOPE_DRIVE_SENDER";

/// How long the rest may take to be sent once the job is over.
const PATIENCE: Duration = Duration::from_secs(5);

/// Longer than that, so that the sending process can say what it could not send.
const ANSWER: Duration = Duration::from_secs(8);

/// Options, as typed.
#[derive(Args)]
#[command(next_help_heading = "Export")]
pub(in crate::cli) struct TelemetryArgs {
    /// Also send the job's own training steps, compute phases and collectives to an OpenTelemetry
    /// collector, in the traces that railscope makes of its packets; OTEL_* variables are those of
    /// the SDK, and OTEL_EXPORTER_OTLP_ENDPOINT alone turns it on
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

impl TelemetryArgs {
    /// Whether ranks have to tell when they computed and called collectives.
    pub(super) fn detail(&self, environment: &Environment) -> anyhow::Result<Detail> {
        let is_wanted = self.settings(environment)?.is_some();
        Ok(if is_wanted { Detail::Calls } else { Detail::Introduction })
    }

    /// `None`: nothing is sent.
    fn settings(&self, environment: &Environment) -> anyhow::Result<Option<Settings>> {
        let variable = |name: &str| environment.text(name).map(str::to_owned);
        Settings::new(self.otlp.as_deref(), variable).map_err(anyhow::Error::msg)
    }
}

/// The process that started this one to send, if it is the sending process.
pub(super) fn sends_for(environment: &Environment) -> anyhow::Result<Option<u32>> {
    environment.number(VARIABLE, 1..=u32::MAX)
}

/// The sending process.
pub(in crate::cli) struct Telemetry {
    sender: Child,
    /// Until the first record.
    input: Option<ChildStdin>,
    answers: ChildStdout,
    queue: Option<Queue>,
}

impl Telemetry {
    /// Starts to send; `None` if nobody asked for it. To be called before the first thread.
    ///
    /// # Errors
    /// A setting is not valid, or the process does not start.
    pub(super) fn start(
        args: &TelemetryArgs,
        environment: &Environment,
    ) -> anyhow::Result<Option<Self>> {
        if args.settings(environment)?.is_none() {
            return Ok(None);
        }
        let program = std::env::current_exe().context("find this program's file")?;
        let mut command = Command::new(program);
        command.args(std::env::args_os().skip(1));
        command.env(VARIABLE, std::process::id().to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C ends the job; what it did is still sent.
        command.process_group(0);
        let mut sender = command.spawn().context("start the process that sends by OTLP")?;
        let (Some(input), Some(answers)) = (sender.stdin.take(), sender.stdout.take()) else {
            bail!("no pipe to the process that sends by OTLP");
        };
        let mut telemetry = Self { sender, input: Some(input), answers, queue: None };
        match telemetry.answer() {
            Some(Answer::Ready) => Ok(Some(telemetry)),
            Some(Answer::Unable(why)) => bail!("{why}"),
            Some(Answer::Delivered(_)) | None => bail!("the process that sends by OTLP is gone"),
        }
    }

    /// Takes a record, and never waits.
    pub(super) fn observe(&mut self, record: &Record) {
        if let Some(input) = self.input.take() {
            self.queue = Queue::start(input);
        }
        if let Some(queue) = &mut self.queue {
            queue.put(record);
        }
    }

    /// Sends the rest, and prints what was delivered; `rank` of a job that rank 0 shows only
    /// prints what was not.
    pub(super) fn finish_and_tell(self, rank: Option<u32>) {
        let (text, is_complete) = self.finish();
        match rank {
            None => notice(text),
            Some(_) if is_complete => {}
            Some(rank) => notice(format!("rank {rank}: {text}")),
        }
    }

    /// A line that says what was delivered, and whether all was.
    fn finish(mut self) -> (String, bool) {
        self.input = None;
        let lost = self.queue.take().map_or(0, Queue::end);
        match self.answer() {
            Some(Answer::Delivered(delivery)) if lost == 0 => {
                (delivery.text(), !delivery.is_partial())
            }
            Some(Answer::Delivered(delivery)) => {
                (format!("{}; {lost} records were dropped before", delivery.text()), false)
            }
            _ => ("otlp: the sending process did not say what was delivered".to_owned(), false),
        }
    }

    fn answer(&mut self) -> Option<Answer> {
        conversation::answer_within(&mut self.answers, ANSWER)
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        // It has answered, or there is nothing left to wait for.
        let _ = self.sender.kill();
        let _ = self.sender.wait();
    }
}
