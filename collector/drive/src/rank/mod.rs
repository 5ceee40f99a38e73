//! One rank of a job, from start to end.
//!
//! `network` carries its data, `work` runs its collectives, `memory` holds their buffers, `trouble`
//! injects faults, `records` makes the records of the truth file.

mod memory;
mod network;
mod records;
mod trouble;
mod work;

use std::rc::Rc;

use crate::Result;
use crate::bootstrap::{Communicator, Joining, Root};
use crate::clock::Deadline;
use crate::fault::Fault;
use crate::job::{Job, Seat};
use crate::nccl_log::Log;
use crate::profiler::Profiler;
use crate::report::RankReport;
use crate::store::{Client, Server, rendezvous};
use crate::tcp::Lookout;
use network::Network;
use work::Worker;

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
    let (root, id) = if server.is_some() {
        let root = Root::start(job.release, seat.address, deadline)?;
        let id = root.id();
        rendezvous::publish(&store, &id, deadline)?;
        (Some(root), id)
    } else {
        (None, rendezvous::look_up(&store, deadline)?)
    };
    let mut lookout = Lookout::default();
    let (stream, peer) = store.stream();
    lookout.watch(stream, peer)?;
    let (release, channels) = (job.release, job.channels);
    let joining = Joining { release, id: &id, seat, channels, root: root.as_ref() };
    let mut communicator =
        Communicator::init(&joining, network.net(), lookout, &mut log, deadline)?;
    if job.keeps_waiting {
        communicator.look_away();
    }

    records::beginning(job, seat, &id, &network, report)?;
    let profiler = job.profiler.as_deref().map(|path| {
        let hash = communicator.facts().logged_id;
        Profiler::begin(path, hash, seat.rank, seat.ranks).map(Rc::new)
    });
    let watched = (log, profiler.transpose()?);
    let mut worker = Worker::new(job, seat, network, communicator, store, watched, report);
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
