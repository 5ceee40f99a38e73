//! What processes of this host do, on its way into the pipeline: a thread reads the kernel's programs,
//! for attaching to a library takes longer than packets can wait.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::config::Config;
use super::own::Own;
use crate::ingest::probe::{ProbeConfig, ProbeEvent, Probes};
use crate::ingest::process::Processes as Identities;
use crate::model::call::{Action, Call};
use crate::model::process::Process;
use crate::pipeline::Pipeline;

/// How long records may lie in the kernel's ring: nobody is woken for them, and each look costs CPU.
const NAP: Duration = Duration::from_millis(100);

/// Room for records, MiB: 20,000 calls.
const RING_MEBIBYTES: u32 = 8;

/// Events that wait for the pipeline.
const WAITING: usize = 1 << 16;

/// Rounds of the agent between two looks for processes that have ended.
const TIDY_EVERY: u32 = 100;

/// Programs that watch processes, and the thread that reads them.
pub(super) struct Processes {
    shared: Arc<Shared>,
    events: Receiver<ProbeEvent>,
    thread: Option<JoinHandle<()>>,
    identities: Identities,
    proc: PathBuf,
    rounds: u32,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    dropped: AtomicU64,
    costs: Mutex<Vec<(String, Duration)>>,
}

impl Processes {
    /// Begins to watch what the settings ask for and this host allows; `None` where that is nothing.
    pub(super) fn open(
        config: &Config,
        own: &mut Own,
        say: &mut dyn FnMut(String),
    ) -> Option<Self> {
        let sources = config.sources;
        let mut probes = Vec::new();
        for (name, calls, is_wanted) in
            [("calls", true, sources.calls), ("connections", false, sources.processes)]
        {
            if !is_wanted {
                continue;
            }
            // Each on its own: what one lacks does not stop the other.
            let opened = Probes::open(&ProbeConfig {
                calls,
                connections: !calls,
                proc: config.host.proc.clone(),
                ring_mebibytes: RING_MEBIBYTES,
            });
            match opened {
                Ok(opened) => {
                    opened.completeness().into_iter().for_each(&mut *say);
                    own.add_seeing(name, "all");
                    probes.push(opened);
                }
                Err(error) => {
                    own.add_blind(name, "all", "kernel programs cannot be loaded");
                    say(format!("{name}: {:#}", anyhow::Error::from(error)));
                }
            }
        }
        if probes.is_empty() {
            return None;
        }
        let shared = Arc::new(Shared::default());
        let (sender, events) = sync_channel(WAITING);
        let thread = thread::Builder::new().name("processes".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || watch(&mut probes, &sender, &shared)
        });
        let thread = thread.map_err(|error| say(format!("calls: start a thread: {error}"))).ok()?;
        Some(Self {
            shared,
            events,
            thread: Some(thread),
            identities: Identities::new(&config.host.proc),
            proc: config.host.proc.clone(),
            rounds: 0,
        })
    }

    /// Hands on what has come.
    pub(super) fn read(&mut self, pipeline: &mut Pipeline, say: &mut dyn FnMut(String)) {
        for event in self.events.try_iter().take(WAITING) {
            match event {
                ProbeEvent::Call(call) => {
                    pipeline.processes_mut().observe(&call);
                    self.introduce(&call, say);
                }
                ProbeEvent::Connection(change) => {
                    pipeline.processes_mut().observe_connection(&change);
                }
                ProbeEvent::Missed { counter, count } => pipeline.add_health(counter, count),
                ProbeEvent::Watched { path, functions } => {
                    say(format!("calls of {path} are seen: {functions} functions"));
                }
                ProbeEvent::Warning(words) => say(words),
            }
        }
        let dropped = self.shared.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            pipeline.add_health("processes.events_dropped", dropped);
        }
        self.rounds += 1;
        if self.rounds >= TIDY_EVERY {
            self.rounds = 0;
            let proc = &self.proc;
            pipeline.processes_mut().retain(|pid| proc.join(pid.to_string()).exists());
        }
    }

    /// CPU time of the programs, by name.
    pub(super) fn kernel_times(&self) -> Vec<(String, Duration)> {
        self.shared.costs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says who a process is that has become a rank.
    fn introduce(&self, call: &Call, say: &mut dyn FnMut(String)) {
        let Action::Initialise { nranks, rank, communicator: Some(_), .. } = call.action else {
            return;
        };
        let pid = call.caller.pid;
        let who = match self.identities.identify(pid) {
            Ok(process) => describe(&process),
            Err(error) => error.to_string(),
        };
        say(format!("rank {rank} of {nranks} is process {pid}: {who}"));
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // A thread that panicked has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn watch(probes: &mut [Probes], sender: &SyncSender<ProbeEvent>, shared: &Shared) {
    let mut trouble = None;
    while !shared.is_over.load(Ordering::Relaxed) {
        let send = |event| {
            if let Err(TrySendError::Full(_)) = sender.try_send(event) {
                shared.dropped.fetch_add(1, Ordering::Relaxed);
            }
        };
        let polled = probes.iter_mut().try_for_each(|one| one.poll(&mut { send }));
        let failed = polled.err().map(|error| error.to_string());
        if failed != trouble {
            if let Some(error) = &failed {
                send(ProbeEvent::Warning(format!("calls: {error}")));
            }
            trouble = failed;
        }
        let costs =
            probes.iter().flat_map(Probes::costs).map(|cost| (cost.name, cost.time)).collect();
        *shared.costs.lock().unwrap_or_else(PoisonError::into_inner) = costs;
        thread::sleep(NAP);
    }
}

/// Name, container, pod and Slurm task, as far as they are known.
fn describe(process: &Process) -> String {
    let container = process.container.as_ref().map(|container| {
        let short = container.id.get(..12).unwrap_or(&container.id);
        format!("container {short}")
    });
    let pod = process.pod.as_ref().map(|uid| format!("pod {uid}"));
    let slurm = process.slurm.as_ref().map(|slurm| {
        let task = slurm.task.map(|task| format!(", task {task}")).unwrap_or_default();
        format!("Slurm job {}{task}", slurm.job)
    });
    let all = [Some(process.name.clone()), container, pod, slurm];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
