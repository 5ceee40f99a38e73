//! What processes of this host do and have, on its way into the pipeline: a thread reads the kernel's
//! programs and its list of queue pairs, for attaching to a library takes longer than packets can wait.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::own::Own;
use super::queue_pairs;
use crate::config::Config;
use crate::ingest::probe::{ProbeConfig, ProbeEvent, Probes};
use crate::ingest::process::Processes as Identities;
use crate::ingest::rdma_netlink::RdmaNetlink;
use railscope_core::model::call::{Action, Call};
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::process::Process;
use railscope_core::model::queue_pair::HostQueuePair;
use railscope_core::pipeline::Pipeline;

/// How long records may lie in the kernel's ring: nobody is woken for them, and each look costs CPU.
const NAP: Duration = Duration::from_millis(250);

/// Room for records, MiB: 20,000 calls.
const RING_MEBIBYTES: u32 = 8;

/// Events that wait for the pipeline.
const WAITING: usize = 1 << 16;

/// How long the thread may take to tell what is left.
const PATIENCE: Duration = Duration::from_secs(1);

/// Naps between two lists of the kernel's queue pairs: for each of them it asks the device.
const LIST_EVERY: u32 = 20;

/// Rounds of the agent between two looks for processes that have ended.
const TIDY_EVERY: u32 = 100;

/// What watches processes, and the thread that reads it.
pub(super) struct Processes {
    shared: Arc<Shared>,
    news: Receiver<News>,
    thread: Option<JoinHandle<()>>,
    identities: Identities,
    rounds: u32,
}

/// What the thread tells.
enum News {
    Probe(ProbeEvent),
    /// All queue pairs that there are.
    QueuePairs(Vec<HostQueuePair>),
    /// That was all.
    End,
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
        let kernel = config.sources.processes.then(|| open_kernel(own, say)).flatten();
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
                logs: config.logs_kernel_programs,
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
        if probes.is_empty() && kernel.is_none() {
            return None;
        }
        let shared = Arc::new(Shared::default());
        let (sender, news) = sync_channel(WAITING);
        let identities = Identities::new(&config.host.proc);
        let mut watch = Watch {
            probes,
            kernel,
            identities: identities.clone(),
            sender,
            shared: Arc::clone(&shared),
        };
        let thread = thread::Builder::new().name("processes".to_owned()).spawn(move || watch.run());
        let thread = thread.map_err(|error| say(format!("calls: start a thread: {error}"))).ok()?;
        Some(Self { shared, news, thread: Some(thread), identities, rounds: 0 })
    }

    /// Hands on what has come.
    pub(super) fn read(&mut self, pipeline: &mut Pipeline, say: &mut dyn FnMut(String)) {
        for news in self.news.try_iter().take(WAITING) {
            self.take(news, pipeline, say);
        }
        let dropped = self.shared.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            pipeline.add_health(HealthEvent::ProcessesEventsDropped, dropped);
        }
        self.rounds += 1;
        if self.rounds >= TIDY_EVERY {
            self.rounds = 0;
            let identities = &self.identities;
            pipeline.processes_mut().retain(|pid| identities.is_alive(pid));
        }
    }

    /// Hands on what is left, and watches no longer.
    pub(super) fn finish(&mut self, pipeline: &mut Pipeline, say: &mut dyn FnMut(String)) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // The thread may be waiting for a device that does not answer.
        while let Ok(news) = self.news.recv_timeout(PATIENCE)
            && !matches!(news, News::End)
        {
            self.take(news, pipeline, say);
        }
        self.read(pipeline, say);
    }

    fn take(&self, news: News, pipeline: &mut Pipeline, say: &mut dyn FnMut(String)) {
        let event = match news {
            News::Probe(event) => event,
            News::QueuePairs(pairs) => {
                return pipeline.processes_mut().observe_queue_pairs(pairs);
            }
            News::End => return,
        };
        match event {
            ProbeEvent::Call(call) => {
                pipeline.processes_mut().observe(&call);
                self.introduce(&call, say);
            }
            ProbeEvent::Connection(change) => {
                pipeline.processes_mut().observe_connection(&change);
            }
            ProbeEvent::Missed { event, count } => pipeline.add_health(event, count),
            ProbeEvent::Watched { path, functions } => {
                say(format!("calls of {path} are seen: {functions} functions"));
            }
            ProbeEvent::Warning(words) => say(words),
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
        if !call.returned.is_some_and(|returned| returned.is_success) || rank >= nranks {
            return;
        }
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

/// The kernel's list of queue pairs, where it has one.
fn open_kernel(own: &mut Own, say: &mut dyn FnMut(String)) -> Option<RdmaNetlink> {
    match RdmaNetlink::open() {
        Ok(kernel) => {
            own.add_seeing("queue_pairs", "all");
            Some(kernel)
        }
        Err(error) => {
            own.add_blind("queue_pairs", "all", "the kernel has no RDMA subsystem");
            say(format!("queue pairs: {:#}", anyhow::Error::from(error)));
            None
        }
    }
}

/// The work of the thread.
struct Watch {
    probes: Vec<Probes>,
    kernel: Option<RdmaNetlink>,
    identities: Identities,
    sender: SyncSender<News>,
    shared: Arc<Shared>,
}

impl Watch {
    fn run(&mut self) {
        let (mut probe_trouble, mut list_trouble) = (None, None);
        for round in (0..LIST_EVERY).cycle() {
            let is_over = self.shared.is_over.load(Ordering::Relaxed);
            let polled = self.poll(is_over);
            self.say_once("calls", polled, &mut probe_trouble);
            if is_over {
                send(&self.sender, &self.shared, News::End);
                return;
            }
            if round == 0 {
                let listed = self.list();
                self.say_once("queue pairs", listed, &mut list_trouble);
            }
            thread::sleep(NAP);
        }
    }

    fn poll(&mut self, is_last: bool) -> anyhow::Result<()> {
        let Self { probes, sender, shared, .. } = self;
        let mut take = |event| send(sender, shared, News::Probe(event));
        probes.iter_mut().try_for_each(|one| one.poll(is_last, &mut take))?;
        let costs =
            probes.iter().flat_map(Probes::costs).map(|cost| (cost.name, cost.time)).collect();
        *shared.costs.lock().unwrap_or_else(PoisonError::into_inner) = costs;
        Ok(())
    }

    fn list(&mut self) -> anyhow::Result<()> {
        if let Some(kernel) = &mut self.kernel {
            let (pairs, failure) = queue_pairs::owned(kernel, &self.identities)?;
            send(&self.sender, &self.shared, News::QueuePairs(pairs));
            for (event, count) in kernel.take_health().iter() {
                let missed = ProbeEvent::Missed { event, count };
                send(&self.sender, &self.shared, News::Probe(missed));
            }
            failure.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    /// Says what went wrong, if it went otherwise than the last time.
    fn say_once(&self, what: &str, done: anyhow::Result<()>, before: &mut Option<String>) {
        let failed = done.err().map(|error| format!("{what}: {error:#}"));
        if failed != *before {
            if let Some(words) = &failed {
                let warning = ProbeEvent::Warning(words.clone());
                send(&self.sender, &self.shared, News::Probe(warning));
            }
            *before = failed;
        }
    }
}

fn send(sender: &SyncSender<News>, shared: &Shared, news: News) {
    if let Err(TrySendError::Full(_)) = sender.try_send(news) {
        shared.dropped.fetch_add(1, Ordering::Relaxed);
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
