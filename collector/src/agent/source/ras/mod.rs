//! NCCL's RAS, asked while a job hangs: which ranks have launched fewer collectives, which processes are gone.
//! One process answers for all ranks of its job, so it is not asked more often than needed.

mod needs;

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::contract::{Between, Context, Opened, Opening, Source};
use crate::config::SourceConfig;
use crate::ingest::capability::{Host, Verdict};
use crate::ingest::ras::{self, RasError};
use railscope_core::decode::ras::RasStatus;
use railscope_core::model::health::event::HealthEvent;

/// Shortest time between two questions.
const PAUSE: Duration = Duration::from_secs(10);

/// The source.
pub(super) struct Ras;

impl Source for Ras {
    fn key(&self) -> &'static str {
        "sources.ras"
    }

    fn is_on(&self, on: SourceConfig) -> bool {
        on.ras
    }

    fn needs(&self, host: &Host) -> Vec<Verdict> {
        vec![needs::needs(host)]
    }

    fn open(&self, opening: &Opening<'_>, _: &mut Context<'_>) -> Opened {
        let address = opening.config.ras.address;
        Opened::Between(Box::new(Client { address, asked: None, answer: None, trouble: None }))
    }
}

/// Asks on a thread of its own: an answer takes seconds, and whoever listens may never give one.
struct Client {
    address: SocketAddr,
    asked: Option<Instant>,
    answer: Option<Receiver<Result<Vec<u8>, RasError>>>,
    /// Why the latest question failed, as the user knows.
    trouble: Option<String>,
}

impl Between for Client {
    fn read(&mut self, context: &mut Context<'_>) {
        self.take(context);
        if !context.is_alarmed {
            // What it said of a hang that is over would be taken for the present.
            if self.asked.take().is_some() {
                context.session.pipeline_mut().forget_ras_statuses();
            }
            return;
        }
        let is_due = self.asked.is_none_or(|asked| asked.elapsed() >= PAUSE);
        if !is_due || self.answer.is_some() {
            return;
        }
        self.asked = Some(now());
        let (sender, answer) = sync_channel(1);
        let address = self.address;
        let ask = move || _ = sender.send(ras::status(address));
        match thread::Builder::new().name("ras".to_owned()).spawn(ask) {
            Ok(_) => self.answer = Some(answer),
            Err(error) => self.fail(format!("start a thread: {error}"), context),
        }
    }
}

impl Client {
    fn take(&mut self, context: &mut Context<'_>) {
        let Some(answer) = &self.answer else { return };
        let answered = match answer.try_recv() {
            Ok(answered) => answered,
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => {
                self.answer = None;
                return;
            }
        };
        self.answer = None;
        let address = self.address;
        let parsed = answered.map_err(|error| format!("{:#}", anyhow::Error::from(error)));
        let parsed = parsed.and_then(|bytes| {
            RasStatus::parse(&bytes).map_err(|problem| format!("RAS at {address}: {problem}"))
        });
        match parsed {
            // The hang may be over.
            Ok(_) if !context.is_alarmed => {}
            Ok(status) => {
                self.trouble = None;
                let pipeline = context.session.pipeline_mut();
                pipeline.add_ras_status(format!("RAS at {address}"), status);
            }
            Err(problem) => {
                context.session.pipeline_mut().add_health(HealthEvent::CallRecordFileProblems, 1);
                self.fail(problem, context);
            }
        }
    }

    fn fail(&mut self, problem: String, context: &mut Context<'_>) {
        if self.trouble.as_ref() != Some(&problem) {
            (context.say)(format!("ras: {problem}"));
            self.trouble = Some(problem);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "RAS is asked now and then")]
fn now() -> Instant {
    Instant::now()
}
