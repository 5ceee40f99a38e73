//! Runs a scenario from start to end: network, jobs, and output files.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::control::{ControlPlane, Ports};
use super::counters::CountersFile;
use super::epoch::local_time;
use super::job::TrainingJob;
use super::job::alarm::job_of;
use super::job::ras::{ASKED_AFTER_S, Members};
use super::network::Network;
use super::network::notice::{Notice, QueuePairId};
use super::scenario::Scenario;
use super::scenario::map::Map;
use super::tap::Taps;
use super::time::VirtualTime;
use super::{plan, truth};
use crate::truth::Record;
use crate::{DriveError, Result};

/// Token of the timer that reads counters: no job has such a high number.
const READ_COUNTERS: u64 = u64::MAX;

/// Notices between two checks of output and progress.
const STRIDE: u32 = 1 << 12;

/// The result of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Frames in all capture files.
    pub frames: u64,
    /// Duration in virtual time, ns.
    pub duration_ns: u64,
    /// Packets times links.
    pub hops: u64,
    /// Connections that gave up; what follows is missing.
    pub failures: Vec<String>,
}

/// Simulates `scenario` and writes its files into `folder`, which is created. `progress` receives
/// the share of completed collectives from time to time, 0 to 1.
///
/// # Errors
/// A file cannot be written, or the network refuses a request of the scenario.
pub fn run(scenario: &Scenario, folder: &Path, progress: &mut dyn FnMut(f64)) -> Result<Summary> {
    fs::create_dir_all(folder).map_err(DriveError::io(folder.display().to_string()))?;
    let map = Map::new(&scenario.fabric);
    let plan = plan::plan(scenario, &map);
    let network = Network::new(&plan, scenario.seed).map_err(refused)?;
    let taps = Taps::create(folder, scenario, &map, &plan)?;
    let counters = CountersFile::create(&folder.join("counters.jsonl"))?;
    let mut simulation = Simulation {
        scenario,
        folder,
        map,
        network,
        taps,
        counters,
        jobs: Vec::new(),
        owners: HashMap::new(),
        running: 0,
        members: None,
        ports: Ports::default(),
        ended: None,
    };
    let watched: BTreeSet<IpAddr> = simulation.watched();
    for number in 0..scenario.job.len() as u32 {
        simulation.introduce(number, folder, &watched, &plan)?;
    }
    simulation.work(progress)?;
    simulation.finish()
}

struct Simulation<'a> {
    scenario: &'a Scenario,
    folder: &'a Path,
    map: Map,
    network: Network,
    taps: Taps,
    counters: CountersFile,
    jobs: Vec<(TrainingJob, TruthFile)>,
    /// The job of each queue pair, by its place in `jobs`.
    owners: HashMap<QueuePairId, usize>,
    /// Jobs that are not over.
    running: usize,
    /// Of job 0.
    members: Option<Members>,
    ports: Ports,
    /// When the last job ended.
    ended: Option<VirtualTime>,
}

impl Simulation<'_> {
    /// The addresses of hosts with taps.
    fn watched(&self) -> BTreeSet<IpAddr> {
        let hosts = self.scenario.watched_hosts(&self.map);
        let nics = self.map.nics.iter().filter(|nic| hosts.contains(&nic.host));
        nics.map(|nic| nic.address).collect()
    }

    /// Creates a job: its queue pairs, its control plane, its truth.
    fn introduce(
        &mut self,
        number: u32,
        folder: &Path,
        watched: &BTreeSet<IpAddr>,
        plan: &super::network::plan::NetworkPlan,
    ) -> Result<()> {
        let Self { scenario, map, network, .. } = self;
        let mut job = TrainingJob::new(number, scenario, map, network).map_err(refused)?;
        let control =
            ControlPlane::of_job(number, scenario, map, &job, watched.clone(), &mut self.ports);
        let control = control.map_err(DriveError::Unusable)?;
        if number == 0 {
            let job = scenario.job.first().cloned().unwrap_or_default();
            let comm_hash = control.id.comm_hash(job.nccl);
            self.members = Some(Members { comm_hash, processes: control.processes.clone() });
        }
        self.taps.expect(&control.conversations, plan, network);
        let mut truth = TruthFile::create(&folder.join(match number {
            0 => "truth.jsonl".to_owned(),
            _ => format!("truth.job{number}.jsonl"),
        }))?;
        truth.write_all(truth::beginning(number, scenario, map, (&job, &control)))?;
        job.begin(&control.ready, network);
        self.running += usize::from(!job.is_over());
        self.owners.extend(job.queue_pairs().map(|one| (one, self.jobs.len())));
        self.jobs.push((job, truth));
        Ok(())
    }

    fn work(&mut self, progress: &mut dyn FnMut(f64)) -> Result<()> {
        self.counters.sample(&self.map, &self.network)?;
        self.read_counters_later();
        let mut until_look = STRIDE;
        let end = self.scenario.capture.until.map(|until| VirtualTime(until.0));
        while let Some(notice) = self.network.advance(&mut self.taps) {
            if end.is_some_and(|end| self.network.now() >= end) {
                break;
            }
            if notice == (Notice::Woken { token: READ_COUNTERS }) {
                self.counters.sample(&self.map, &self.network)?;
                self.read_counters_later();
            } else {
                self.notice(notice)?;
            }
            until_look -= 1;
            if until_look == 0 {
                until_look = STRIDE;
                self.look(progress)?;
            }
            if self.running == 0 {
                break;
            }
        }
        self.ended = Some(self.network.now());
        self.counters.sample(&self.map, &self.network)?;
        self.look(progress)
    }

    /// Tells the job that it is for.
    fn notice(&mut self, notice: Notice) -> Result<()> {
        let place = match &notice {
            Notice::Woken { token } => Some(job_of(*token) as usize),
            Notice::Started { at, .. }
            | Notice::Sent { at, .. }
            | Notice::Received { at, .. }
            | Notice::Failed { at, .. } => self.owners.get(at).copied(),
        };
        let Some((job, _)) = place.and_then(|place| self.jobs.get_mut(place)) else {
            return Ok(());
        };
        let was_over = job.is_over();
        job.notice(notice, &mut self.network).map_err(refused)?;
        self.running -= usize::from(job.is_over() && !was_over);
        Ok(())
    }

    fn read_counters_later(&mut self) {
        let next = self.network.now().after(self.scenario.capture.counters_every.0);
        self.network.wake(next, READ_COUNTERS);
    }

    fn look(&mut self, progress: &mut dyn FnMut(f64)) -> Result<()> {
        self.taps.check()?;
        for (job, truth) in &mut self.jobs {
            truth.write_all(job.take_records())?;
        }
        let done: f64 = self.jobs.iter().map(|(job, _)| job.progress()).sum();
        progress(done / self.jobs.len().max(1) as f64);
        Ok(())
    }

    /// Writes what RAS answers about job 0.
    fn ask_ras(&self) -> Result<()> {
        let (Some((job, _)), Some(members)) = (self.jobs.first(), &self.members) else {
            return Ok(());
        };
        let now = self.network.now();
        let is_up = |rank: usize| {
            let name = format!("host{}", job.seats().host(rank as u32));
            plan::port(&self.map, &name).is_some_and(|port| self.network.is_up(port))
        };
        for (number, later_s) in ASKED_AFTER_S.into_iter().enumerate() {
            let Some(answer) = job.ras(members, &is_up, now, &local_time(now, later_s)) else {
                return Ok(());
            };
            let path = self.folder.join(format!("ras_{number}.json"));
            fs::write(&path, answer)
                .map_err(DriveError::io(format!("write {}", path.display())))?;
        }
        Ok(())
    }

    fn finish(self) -> Result<Summary> {
        if self.scenario.capture.ras {
            self.ask_ras()?;
        }
        if let (true, Some((job, _))) = (self.scenario.capture.flight_recorder, self.jobs.first()) {
            let dumps = job.flight_recorder(self.network.now());
            let folder = self.folder.join("flight_recorder");
            let failed = || DriveError::io(format!("write {}", folder.display()));
            fs::create_dir_all(&folder).map_err(failed())?;
            for (rank, dump) in dumps {
                fs::write(folder.join(format!("trace_{rank}")), dump).map_err(failed())?;
            }
        }
        let mut failures = Vec::new();
        let mut ports = truth::ports(&self.map, &self.network);
        for (mut job, mut truth) in self.jobs {
            failures.extend(job.failure().map(str::to_owned));
            truth.write_all(job.take_records())?;
            truth.write_all(job.iterations())?;
            truth.write_all(std::mem::take(&mut ports))?;
            truth.finish()?;
        }
        self.counters.finish()?;
        Ok(Summary {
            frames: self.taps.finish()?,
            duration_ns: self.ended.unwrap_or_default().0,
            hops: self.network.hops(),
            failures,
        })
    }
}

/// A file of records.
struct TruthFile {
    path: PathBuf,
    out: BufWriter<File>,
}

impl TruthFile {
    fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(DriveError::io(path.display().to_string()))?;
        Ok(Self { path: path.to_owned(), out: BufWriter::new(file) })
    }

    fn write_all(&mut self, records: Vec<Record>) -> Result<()> {
        let mut write = |record: &Record| {
            serde_json::to_writer(&mut self.out, record)?;
            self.out.write_all(b"\n")
        };
        let written = records.iter().try_for_each(&mut write);
        written.map_err(DriveError::io(format!("write {}", self.path.display())))
    }

    fn finish(mut self) -> Result<()> {
        self.out.flush().map_err(DriveError::io(format!("write {}", self.path.display())))
    }
}

fn refused(error: impl std::error::Error) -> DriveError {
    DriveError::Unusable(format!("the network refuses: {error}"))
}
