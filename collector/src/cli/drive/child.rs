//! One rank that `railscope drive --ranks` started.

use std::io;

use anyhow::Context;

use super::args::DriveArgs;
use super::environment::Environment;
use super::job;
use super::seat::ChildSeat;
use crate::cli::exit_code::EXIT_UNUSABLE;
use railscope_drive::launch::{PipeOutlet, Reporter};
use railscope_drive::{place, rank};

pub(super) fn run(
    args: &DriveArgs,
    environment: &Environment,
    seat: ChildSeat,
) -> anyhow::Result<u8> {
    place::die_with_parent(seat.parent)?;
    let launched = environment.launched()?.context("RANK and WORLD_SIZE are not set")?;
    let job = job::job(args, environment, launched.ranks, seat.mtu)?;
    let seat = seat.seat(&launched, args.output.log().as_deref())?;
    let mut report = Reporter::new(PipeOutlet::new(io::stdout()), args.detail(environment)?);
    match rank::run(&job, &seat, &mut report) {
        Ok(()) => Ok(0),
        Err(error) => {
            report.failed(&error)?;
            Ok(EXIT_UNUSABLE)
        }
    }
}
