//! Processes and threads of a trace: a process per communicator and per host, a thread per lane.

use std::collections::BTreeMap;

use serde_json::Value;

use super::event::{Event, Phase, TrackId, arguments};

/// What a process of the trace represents, in the order in which viewers show them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Process {
    /// Events of no communicator.
    Job,
    /// A communicator, by id.
    Communicator(String),
    /// A host, by name or address.
    Host(String),
}

/// Assigns numbers to processes and threads on first use.
#[derive(Default)]
pub(super) struct Processes {
    processes: BTreeMap<Process, u32>,
    threads: BTreeMap<(u32, String), u32>,
}

impl Processes {
    /// The process itself, for events of no thread.
    pub(super) fn process(&mut self, process: Process) -> TrackId {
        let next = self.processes.len() as u32 + 1;
        let process = *self.processes.entry(process).or_insert(next);
        TrackId { process, thread: 0 }
    }

    /// The track of thread `name` of `process`, created at its first use.
    pub(super) fn thread(&mut self, process: Process, name: String) -> TrackId {
        let TrackId { process, .. } = self.process(process);
        let next = self.threads.len() as u32 + 1;
        let thread = *self.threads.entry((process, name)).or_insert(next);
        TrackId { process, thread }
    }

    /// A lane of a thread: `name`, `name (2)`.
    pub(super) fn lane(&mut self, process: Process, name: &str, lane: usize) -> TrackId {
        let name = if lane == 0 { name.to_owned() } else { format!("{name} ({})", lane + 1) };
        self.thread(process, name)
    }

    /// The events that name them and put them in order.
    pub(super) fn names(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for (index, (process, number)) in self.processes.iter().enumerate() {
            let place = TrackId { process: *number, thread: 0 };
            let name = match process {
                Process::Job => "job".to_owned(),
                Process::Communicator(id) => format!("NCCL communicator {id}"),
                Process::Host(host) => format!("host {host}"),
            };
            events.push(metadata(place, "process_name", "name", name.into()));
            events.push(metadata(place, "process_sort_index", "sort_index", index.into()));
        }
        for ((process, name), thread) in &self.threads {
            let place = TrackId { process: *process, thread: *thread };
            events.push(metadata(place, "thread_name", "name", name.as_str().into()));
            events.push(metadata(place, "thread_sort_index", "sort_index", (*thread).into()));
        }
        events
    }
}

fn metadata(place: TrackId, name: &str, key: &str, value: Value) -> Event {
    Event {
        name: name.to_owned(),
        category: "__metadata",
        phase: Phase::Metadata,
        time_ns: 0,
        place,
        arguments: arguments([(key, value)]),
    }
}
