//! One rank of a job that torchrun, Open MPI or Slurm started. Rank 0 shows the table; the others report
//! to it through the store.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::Context;

use super::args::DriveArgs;
use super::environment::{Environment, Launched};
use super::outcome::outcome_code;
use super::show::{JsonFile, Show, TruthFile, make_folder};
use super::telemetry::Telemetry;
use super::{job, seat};
use railscope_drive::fault::Fault;
use railscope_drive::job::{Job, Seat};
use railscope_drive::launch::{
    self, Detail, Ending, Event, Message, Outlet, Ranks, Reporter, StoreOutlet, supervise,
};
use railscope_drive::table::{Document, Facts, Table};
use railscope_drive::{self, DriveError, rank};

pub(super) fn run(
    args: &DriveArgs,
    environment: &Environment,
    launched: &Launched,
) -> anyhow::Result<u8> {
    let interface = seat::interface(environment, launched)?;
    let job = job::job(args, environment, launched.ranks, interface.mtu)?;
    if job.faults.contains(&Fault::MissingRank { rank: launched.rank }) {
        return Ok(0);
    }
    args.output.log().as_deref().map(make_folder).transpose()?;
    let seat = seat::launched_seat(launched, &interface, args.output.log().as_deref())?;
    let truth = args.output.truth().as_deref().map(|path| numbered(path, seat.rank));
    let truth = truth.as_deref().map(TruthFile::create).transpose()?;
    let telemetry = Telemetry::start(&args.telemetry, environment)?;
    let detail = args.detail(environment)?;
    if seat.rank == 0 {
        return first(args, (&job, &seat), detail, truth, telemetry);
    }
    let store = StoreOutlet::new(seat.rank, seat.address, seat.store, job.patience);
    let mut report = Reporter::new(Follower { truth, telemetry, store }, detail);
    let done = rank::run(&job, &seat, &mut report).inspect_err(|error| {
        // Rank 0 may be the one that is lost, so the error is also shown here.
        let _ = report.failed(error);
    });
    let Follower { telemetry, .. } = report.into_outlet();
    if let Some(telemetry) = telemetry {
        telemetry.finish_and_tell(Some(seat.rank));
    }
    done?;
    Ok(0)
}

/// `truth.jsonl` of rank 2 is `truth.rank2.jsonl`: ranks may share a file system.
fn numbered(path: &Path, rank: u32) -> PathBuf {
    let extension = path.extension().map(|extension| extension.to_string_lossy());
    path.with_extension(match extension {
        Some(extension) => format!("rank{rank}.{extension}"),
        None => format!("rank{rank}"),
    })
}

/// Reports of a rank other than 0: the truth goes to its own file and its own spans, the rest to
/// rank 0.
struct Follower {
    truth: Option<TruthFile>,
    telemetry: Option<Telemetry>,
    store: StoreOutlet,
}

impl Outlet for Follower {
    fn send(&mut self, message: &Message) -> railscope_drive::Result<()> {
        if let (Message::Record(record), Some(truth)) = (message, &mut self.truth) {
            truth.write(record)?;
        }
        if let (Message::Record(record), Some(telemetry)) = (message, &mut self.telemetry) {
            telemetry.observe(record);
        }
        match message {
            Message::Progress { .. } => Ok(()),
            Message::Record(record) if !record.is_introduction() => Ok(()),
            message => self.store.send(message),
        }
    }

    fn finish(&mut self) -> railscope_drive::Result<()> {
        self.truth.as_mut().map_or(Ok(()), TruthFile::flush)?;
        self.store.finish()
    }
}

/// Reports of rank 0, for the thread that shows them.
struct ToSelf {
    events: Sender<Event>,
    /// Closed once all ranks have reported: until then the store must run.
    all_heard: Receiver<()>,
}

impl Outlet for ToSelf {
    fn send(&mut self, message: &Message) -> railscope_drive::Result<()> {
        let event = Event::from_message(0, message.clone());
        self.events.send(event).map_err(|_| DriveError::Unusable("the job is over".to_owned()))
    }

    fn finish(&mut self) -> railscope_drive::Result<()> {
        // Nothing is ever sent; it returns when the sender is dropped.
        let _ = self.all_heard.recv();
        Ok(())
    }
}

fn first(
    args: &DriveArgs,
    (job, seat): (&Job, &Seat),
    detail: Detail,
    truth: Option<TruthFile>,
    telemetry: Option<Telemetry>,
) -> anyhow::Result<u8> {
    let json = args.output.json.as_deref().map(JsonFile::create).transpose()?;
    let (events, heard) = channel();
    let interrupts = events.clone();
    // If the receiver is gone, the job has ended.
    ctrlc::set_handler(move || drop(interrupts.send(Event::Interrupted)))
        .context("wait for Ctrl-C")?;
    let facts = Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        place: vec!["a process per rank, started by another launcher".to_owned()],
    };
    let mut show = Show::new(Table::new(job, seat.ranks, &facts), truth, telemetry);
    show.show().context("write to standard output")?;

    let (still_listening, all_heard) = channel();
    let outlet = ToSelf { events: events.clone(), all_heard };
    work(job, seat, Reporter::new(outlet, detail), events.clone())?;
    for rank in 1..seat.ranks {
        listen(rank, seat, job, events.clone())?;
    }
    let ranks = Ranks::elsewhere(0..seat.ranks, job.patience);
    let outcome = supervise(ranks, &heard, &mut show)?;
    drop(still_listening);
    let telemetry = show.take_telemetry();
    let table = show.end(&outcome)?;
    if let Some(json) = json {
        json.write(&Document::new(job, seat.ranks, &table, &outcome))?;
    }
    if let Some(telemetry) = telemetry {
        telemetry.finish_and_tell(None);
    }
    outcome_code(outcome, table.results().wrong())
}

/// Rank 0's own work, in a thread; success and failure both end with an event.
fn work(
    job: &Job,
    seat: &Seat,
    mut report: Reporter<ToSelf>,
    events: Sender<Event>,
) -> anyhow::Result<()> {
    let (job, seat) = (job.clone(), seat.clone());
    let working = spawn(move || rank::run(&job, &seat, &mut report))?;
    spawn(move || {
        let ending = match working.join() {
            // It has reported the failure itself.
            Ok(Ok(())) => return,
            Ok(Err(error)) => Ending::Failed((&error).into()),
            Err(_) => Ending::Exit { code: 101, last_words: None },
        };
        // If the receiver is gone, the job has ended.
        let _ = events.send(Event::Ended(0, ending));
    })?;
    Ok(())
}

/// Forwards the reports of another rank. If the store is gone, rank 0's own work notices.
fn listen(rank: u32, seat: &Seat, job: &Job, events: Sender<Event>) -> anyhow::Result<()> {
    let (at, patience) = ((seat.address, seat.store), job.patience);
    spawn(move || launch::listen(rank, at, patience, &events))?;
    Ok(())
}

fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<thread::JoinHandle<T>> {
    thread::Builder::new().spawn(work).context("start a thread")
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn each_rank_has_a_truth_file() {
        assert_eq!(numbered("a/truth.jsonl".as_ref(), 2).to_str(), Some("a/truth.rank2.jsonl"));
        assert_eq!(numbered("truth".as_ref(), 0).to_str(), Some("truth.rank0"));
    }
}
