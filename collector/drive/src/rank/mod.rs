//! One rank of a job, from start to end.
//!
//! `network` carries its data, `work` runs its collectives, `memory` holds their buffers, `trouble`
//! injects faults, `records` makes the records of the truth file.

mod memory;
mod network;
mod records;
mod trouble;
mod work;

use std::path::Path;
use std::rc::Rc;

use crate::Result;
use crate::bootstrap::{Communicator, Joining, Root};
use crate::clock::Deadline;
use crate::fault::Fault;
use crate::job::{Job, Seat};
use crate::nccl_log::Log;
use crate::place;
use crate::profiler::Profiler;
use crate::report::RankReport;
use crate::store::{Client, Server, rendezvous};
use crate::tcp::Lookout;
use crate::wire::UniqueId;
use network::Network;
use work::{Member, Worker};

/// Runs `job` at `seat`, from the rendezvous to the last barrier.
///
/// # Errors
/// Anything that ends the job: a port in use, a missing rank, a peer that goes away or stops
/// responding.
pub fn run(job: &Job, seat: &Seat, report: &mut dyn RankReport) -> Result<()> {
    if job.faults.contains(&Fault::MissingRank { rank: seat.rank }) {
        return Ok(());
    }
    let deadline = Deadline::after(job.patience);
    let mut log = match &seat.log {
        Some(path) => Log::create(path, seat, job.release)?,
        None => Log::off(job.release),
    };
    let mut network = Network::open(job, seat)?;
    log.start(seat, &network::settings(job, seat), network.logged());

    let server = if seat.rank == 0 { Some(Server::bind(seat.store)?) } else { None };
    let store = Client::connect(seat.address, seat.store, deadline)?;
    rendezvous::arrive(&store, seat.ranks, server.is_some(), deadline)?;
    if job.layout.ranks_per_node.is_some() {
        place::take_host_name(&seat.host)?;
    }
    let mut joiner = Joiner { job, store: &store, network: &mut network, log: &mut log, deadline };
    let (root, id, world) = joiner.join(rendezvous::UNIQUE_ID_KEY, seat)?;
    let mut roots = vec![root];
    let mut members = Vec::new();
    for (group, ranks) in (1..).zip(&job.layout.communicators) {
        let Some(at) = ranks.iter().position(|rank| *rank == seat.rank) else { continue };
        let seat = seat_in(seat, at, ranks.len());
        let (root, _, communicator) = joiner.join(&rendezvous::group_key(group), &seat)?;
        roots.push(root);
        let profiler = profiler(job, &communicator, &seat, ranks.iter().copied())?;
        members.push(Member::new(job, seat, Some(communicator), profiler));
    }

    records::beginning(job, seat, &id, &network, report)?;
    if job.layout.communicators.is_empty() {
        let profiler = profiler(job, &world, seat, 0..seat.ranks)?;
        members.push(Member::new(job, seat.clone(), None, profiler));
    }
    let mut worker = Worker::new((job, seat), network, world, members, store, log, report);
    if let Err(error) = worker.work() {
        // Report what happened so far; a failure to do so is not the error that matters.
        let _ = worker.report_records();
        return Err(error);
    }
    worker.leave()?;
    report.finish()?;
    if let Some(server) = server {
        server.finish(Deadline::after(job.patience));
    }
    Ok(())
}

/// What a rank needs to join communicators.
struct Joiner<'a> {
    job: &'a Job,
    store: &'a Client,
    network: &'a mut Network,
    log: &'a mut Log,
    deadline: Deadline,
}

impl Joiner<'_> {
    /// Joins the communicator whose unique id is under `key`; its rank 0 makes the id.
    fn join(&mut self, key: &str, seat: &Seat) -> Result<(Option<Root>, UniqueId, Communicator)> {
        let Self { job, store, deadline, .. } = *self;
        let (release, channels) = (job.release, job.channels);
        let (root, id) = if seat.rank == 0 {
            let root = Root::start(release, seat.address, deadline)?;
            let id = root.id();
            rendezvous::publish(store, key, &id, deadline)?;
            (Some(root), id)
        } else {
            (None, rendezvous::look_up(store, key, deadline)?)
        };
        let mut lookout = Lookout::default();
        let (stream, peer) = store.stream();
        lookout.watch(stream, peer)?;
        let joining = Joining { release, id: &id, seat, channels, root: root.as_ref() };
        let net = self.network.net();
        let mut communicator = Communicator::init(&joining, net, lookout, self.log, deadline)?;
        if job.keeps_waiting {
            communicator.look_away();
        }
        Ok((root, id, communicator))
    }
}

/// The seat of rank `at` in a communicator of so many ranks.
fn seat_in(seat: &Seat, at: usize, ranks: usize) -> Seat {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Seat { rank: number(at), ranks: number(ranks), ..seat.clone() }
}

/// Reports a communicator of these ranks of the job to the plugin, if there is one.
fn profiler(
    job: &Job,
    communicator: &Communicator,
    seat: &Seat,
    ranks: impl IntoIterator<Item = u32>,
) -> Result<Option<Rc<Profiler>>> {
    let begin = |path: &Path| {
        let hash = communicator.facts().logged_id;
        Profiler::begin(path, hash, seat.rank, job.layout.nodes(ranks)).map(Rc::new)
    };
    job.profiler.as_deref().map(begin).transpose()
}
