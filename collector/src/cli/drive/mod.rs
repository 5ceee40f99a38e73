//! `railscope drive`: generates the traffic of a training job, and records what it did.
//!
//! With `--ranks` this process is the parent of all ranks ([`local`]): it creates their places, shows the
//! table and ends them together. Each rank is a child process of this program ([`child`]).
//! Without, another launcher has started this process as one rank ([`launched`]).
//! With `--otlp`, one more child process sends what ranks did (`telemetry`).

pub(super) mod args;
mod child;
pub(super) mod environment;
mod fault;
pub(super) mod job;
mod launched;
mod layout;
pub(super) mod local;
mod outcome;
mod seat;
pub(super) mod show;
#[cfg(feature = "otlp")]
mod telemetry;
#[cfg(not(feature = "otlp"))]
#[path = "without_telemetry.rs"]
mod telemetry;

use anyhow::bail;

use args::DriveArgs;
use environment::Environment;
use seat::ChildSeat;

/// Runs a job or a rank of it; returns the exit code.
pub(super) fn run(args: &DriveArgs) -> anyhow::Result<u8> {
    let environment = Environment::of_process();
    #[cfg(feature = "otlp")]
    if let Some(parent) = telemetry::sends_for(&environment)? {
        return telemetry::sender::run(args, &environment, parent);
    }
    if let Some(seat) = ChildSeat::of_process(&environment)? {
        return child::run(args, &environment, seat);
    }
    if let Some(ranks) = args.ranks {
        return local::run(args, &environment, ranks);
    }
    if let Some(launched) = environment.launched()? {
        return launched::run(args, &environment, &launched);
    }
    bail!(
        "--ranks is missing: --ranks 4 starts four ranks on this machine; for a job on several \
         hosts, start railscope with torchrun, mpirun or srun"
    )
}
