//! What processes of this host do, live, from kernel programs: their calls of NCCL and libibverbs, and
//! their TCP connections.
//!
//! ```text
//! processes -> libraries that they map -> programs at functions -+-> ring shared with the kernel
//! TCP's changes of state -> program at a tracepoint -------------+        -> ProbeEvent
//! ```
//!
//! A program is attached to a library's file and runs for every process that maps it, also for those
//! that start later. A call is reported when it is made; when the requested work is done is not known.

mod attach;
mod budget;
mod connection;
mod function;
mod library;
mod open;
mod record;
mod ring;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use aya::maps::{MapData, RingBuf};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use railscope_ebpf::settings::Settings;

use self::attach::Attached;
use self::library::Contents;
pub use self::ring::Records;
use self::search::{FileId, Found, Search};
use super::capability::Host;
use super::ebpf::cost::{Costs, ProgramCost};
use super::ebpf::error::{EbpfError, chain};
use super::ebpf::log::KernelLog;
use super::ebpf::object::{self, Losses, OBJECT};
use super::ebpf::sys::Global;
use super::guarded::Guarded;
use railscope_core::model::call::Call;
use railscope_core::model::connection::ConnectionChange;
use railscope_core::model::health::event::HealthEvent;

/// Most records that one poll delivers.
const MOST_RECORDS: u32 = 1 << 16;

/// Time between two looks for processes.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Library files watched at once: each takes a descriptor for every function, and a second one if the
/// function's return is reported.
const LIBRARY_LIMIT: usize = 64;

/// Of these, most that processes of one user had mapped first: nobody can take them all.
const USER_LIMIT: usize = 32;

/// How long reading the symbols of a library may take.
const READ_TIME: Duration = Duration::from_secs(4);

/// Time in one look for new libraries; what is left waits for the next one.
const ATTACH_TIME: Duration = Duration::from_secs(5);

/// What to watch.
#[derive(Clone, Debug)]
pub struct ProbeConfig {
    /// Calls of NCCL and libibverbs.
    pub calls: bool,
    /// TCP connections.
    pub connections: bool,
    /// The `proc` filesystem: `/proc`, or the host's as it is mounted in a container.
    pub proc: PathBuf,
    /// Size of the ring, MiB.
    pub ring_mebibytes: u32,
    /// Whether the programs log what they lose, as warnings.
    pub logs: bool,
}

/// An event of a process, or a message for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeEvent {
    /// A call of NCCL or libibverbs.
    Call(Box<Call>),
    /// A TCP connection changed its state.
    Connection(ConnectionChange),
    /// Something was missed.
    Missed {
        /// The counter.
        event: HealthEvent,
        /// Its growth since the last such event.
        count: u64,
    },
    /// Calls of a library are seen from now on.
    Watched {
        /// Its path, as seen by the process that mapped it first.
        path: String,
        /// How many watched functions it has.
        functions: usize,
    },
    /// Something that cannot be seen, in words.
    Warning(String),
}

/// Running programs. The kernel removes them when this is dropped or the process dies.
pub struct Probes {
    ebpf: aya::Ebpf,
    ring: RingBuf<MapData>,
    losses: Losses,
    /// `None` unless logging is on.
    log: Option<KernelLog>,
    records: Records,
    libraries: Option<Libraries>,
    has_connections: bool,
    costs: Costs,
}

impl Probes {
    /// Loads what is asked for.
    ///
    /// # Errors
    ///
    /// The kernel refuses: it is too old, or this process may not load programs.
    pub fn open(config: &ProbeConfig) -> Result<Self, EbpfError> {
        let host = Host::read("/proc".as_ref(), "/sys".as_ref());
        let bytes = (config.ring_mebibytes.clamp(1, 1024) << 20).next_power_of_two();
        let settings = Global(Settings { logs: config.logs.into(), ..Settings::DEFAULT });
        let mut loader = object::loader(&["ACTS", "PENDING"], &settings);
        loader.map_max_entries("ACTS", bytes);
        let mut ebpf = loader.load(OBJECT).map_err(EbpfError::load)?;
        if config.calls {
            allow_descriptors();
            attach::load(&mut ebpf)?;
        }
        if config.connections {
            connection::attach(&mut ebpf, &host)?;
        }
        let losses = Losses::take(&mut ebpf)?;
        let missing = || EbpfError::Object { part: "ACTS".to_owned() };
        let ring = ebpf.take_map("ACTS").ok_or_else(missing)?.try_into().map_err(|_| missing())?;
        Ok(Self {
            log: config.logs.then(|| KernelLog::attach(&mut ebpf)).transpose()?,
            costs: Costs::begin(&ebpf),
            ebpf,
            ring,
            losses,
            records: Records::default(),
            libraries: config.calls.then(|| Libraries::new(config)),
            has_connections: config.connections,
        })
    }

    /// Delivers the events since the last poll, in the order of the kernel's ring; now and then it looks
    /// for new processes first. Never waits. The last poll reports all losses and looks for no processes.
    ///
    /// # Errors
    ///
    /// When processes cannot be listed or the kernel's counters cannot be read.
    pub fn poll(&mut self, is_last: bool, sink: &mut dyn FnMut(ProbeEvent)) -> io::Result<()> {
        if let Some(libraries) = self.libraries.as_mut().filter(|_| !is_last) {
            libraries.look(&mut self.ebpf, sink)?;
        }
        self.records.look_at_clock();
        for _ in 0..MOST_RECORDS {
            let Some(item) = self.ring.next() else { break };
            if let Some(event) = self.records.read(&item) {
                sink(event);
            }
        }
        self.costs.look(&self.ebpf);
        for (event, count) in self.losses.news(is_last) {
            sink(ProbeEvent::Missed { event, count });
        }
        let log = self.log.as_mut().into_iter();
        log.flat_map(KernelLog::news).for_each(|line| sink(ProbeEvent::Warning(line)));
        Ok(())
    }

    /// CPU time of the programs so far.
    #[must_use]
    pub fn costs(&self) -> Vec<ProgramCost> {
        self.costs.now(&self.ebpf)
    }

    /// What is seen and what cannot be, in sentences for people.
    #[must_use]
    pub fn completeness(&self) -> Vec<String> {
        let calls = "calls to libnccl and libibverbs by all processes of this host, with the time of \
                     the call: when a collective is requested, not when it runs. Not visible: calls \
                     before the library was found, up to seconds after it was loaded, and work \
                     requests, which are posted without a call to the library";
        let connections = "TCP connections of this host, in all network namespaces, with the process \
                           for outgoing ones only";
        let said = [(self.libraries.is_some(), calls), (self.has_connections, connections)];
        let said = said.into_iter().filter(|(is_seen, _)| *is_seen);
        said.map(|(_, sentence)| sentence.to_owned()).collect()
    }
}

/// Raises the limit of descriptors to its maximum: many systems start with 1024. If that fails,
/// attaching reports it.
fn allow_descriptors() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// The watched functions that a library has, each with its offset in the file.
///
/// # Errors
///
/// When it is not a library for this architecture, or takes more to read than any real one.
#[doc(hidden)]
pub fn functions(library: impl Read + Seek) -> io::Result<Vec<(&'static str, u64)>> {
    let Contents::Functions(functions) = library::read(library)? else { return Ok(Vec::new()) };
    Ok(functions.iter().map(|(signature, offset)| (signature.symbol, *offset)).collect())
}

/// Library files found so far.
struct Libraries {
    search: Search,
    begun: Instant,
    due: Duration,
    /// Each with the user whose process had it first.
    attached: BTreeMap<FileId, (u32, Attached)>,
    reader: Guarded,
    unanswered: u64,
    /// Files with nothing to attach to, and files that the kernel refused.
    useless: BTreeSet<FileId>,
    /// Files attached to so far.
    count: u16,
    refused: usize,
}

impl Libraries {
    fn new(config: &ProbeConfig) -> Self {
        Self {
            search: Search::new(&config.proc),
            begun: now(),
            due: Duration::ZERO,
            attached: BTreeMap::new(),
            reader: Guarded::new(READ_TIME),
            unanswered: 0,
            useless: BTreeSet::new(),
            count: 0,
            refused: 0,
        }
    }

    /// Looks for processes when it is time to.
    fn look(&mut self, ebpf: &mut aya::Ebpf, sink: &mut dyn FnMut(ProbeEvent)) -> io::Result<()> {
        let now = self.begun.elapsed();
        if now < self.due {
            return Ok(());
        }
        self.due = now + LOOK_EVERY;
        self.find(ebpf, now, sink)?;
        // A program in a file that is no longer mapped would block unmounting. But a process may have
        // mapped the file since the last look, and needs the program.
        let mut used = self.search.used();
        if self.attached.keys().any(|id| !used.contains(id)) {
            self.search.hurry();
            self.find(ebpf, now, sink)?;
            used = self.search.used();
        }
        for (_, (_, library)) in self.attached.extract_if(.., |id, _| !used.contains(id)) {
            library.detach(ebpf);
        }
        self.useless.retain(|id| used.contains(id));
        let unanswered = std::mem::replace(&mut self.unanswered, self.search.unanswered);
        let news = self.unanswered - unanswered;
        if news > 0 {
            sink(ProbeEvent::Missed { event: HealthEvent::CallsLibrariesUnanswered, count: news });
        }
        let refused = std::mem::replace(&mut self.refused, self.search.refused);
        if refused == 0 && self.refused > 0 {
            let processes = match self.refused {
                1 => "1 process".to_owned(),
                several => format!("{several} processes"),
            };
            sink(ProbeEvent::Warning(format!(
                "calls: no permission to inspect {processes}: libraries that no other process uses are \
                 not watched (processes of other users need CAP_SYS_PTRACE)"
            )));
        }
        Ok(())
    }

    /// Inspects processes that are due, and attaches to the libraries they have mapped.
    fn find(
        &mut self,
        ebpf: &mut aya::Ebpf,
        now: Duration,
        sink: &mut dyn FnMut(ProbeEvent),
    ) -> io::Result<()> {
        let Self { search, attached, useless, .. } = self;
        let is_known = |id| attached.contains_key(&id) || useless.contains(&id);
        for found in search.look(now, &is_known)? {
            if self.begun.elapsed().saturating_sub(now) > ATTACH_TIME {
                self.search.hurry();
                break;
            }
            self.attach(ebpf, found, sink);
        }
        Ok(())
    }

    fn attach(&mut self, ebpf: &mut aya::Ebpf, found: Found, sink: &mut dyn FnMut(ProbeEvent)) {
        let Found { id, path, file, user } = found;
        let mut useless = |why: Option<String>| {
            self.useless.insert(id);
            if let Some(why) = why {
                sink(ProbeEvent::Warning(format!("calls in {path} are not seen: {why}")));
            }
        };
        if self.attached.len() >= LIBRARY_LIMIT {
            return useless(Some(format!("{LIBRARY_LIMIT} libraries are watched already")));
        }
        if self.attached.values().filter(|(of, _)| *of == user).count() >= USER_LIMIT {
            return useless(Some(format!(
                "{USER_LIMIT} libraries of user {user} are watched already"
            )));
        }
        let read = self.reader.run(move || (library::read(&file), file));
        let (contents, file) = match read {
            Ok(read) => read,
            Err(abandoned) => {
                sink(ProbeEvent::Missed { event: HealthEvent::CallsLibrariesUnanswered, count: 1 });
                self.useless.insert(id);
                let why = format!("calls in {path} are not seen: {abandoned}");
                return sink(ProbeEvent::Warning(why));
            }
        };
        let functions = match contents {
            Ok(Contents::Functions(functions)) => functions,
            Ok(Contents::Imports) => return useless(None),
            Ok(Contents::Nameless) => {
                return useless(Some(
                    "it names none of the watched functions. If NCCL is linked into it, its symbols \
                     were stripped: use a build that keeps them, or one that loads libnccl.so.2 \
                     (USE_SYSTEM_NCCL=1 for PyTorch)"
                        .to_owned(),
                ));
            }
            Err(error) => return useless(Some(error.to_string())),
        };
        match Attached::new(ebpf, &file, &functions, self.count) {
            Ok(attached) => {
                self.count = self.count.wrapping_add(1);
                self.attached.insert(id, (user, attached));
                sink(ProbeEvent::Watched { path, functions: functions.len() });
            }
            Err(error) => useless(Some(chain(&error))),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "processes are looked for at intervals")]
fn now() -> Instant {
    Instant::now()
}
