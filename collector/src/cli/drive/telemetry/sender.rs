//! The sending process: reads records, and gives them to the SDK.

use std::io::{self, BufRead as _};

use anyhow::Context as _;

use super::conversation::{Answer, answer};
use super::{PATIENCE, TelemetryArgs};
use crate::cli::drive::args::DriveArgs;
use crate::cli::drive::environment::Environment;
use crate::cli::drive::job;
use railscope_drive::job::Job;
use railscope_drive::place;
use railscope_drive::telemetry::Telemetry;

/// Sends for the process `parent` until it closes standard input, or is gone.
pub(in crate::cli::drive) fn run(
    args: &DriveArgs,
    environment: &Environment,
    parent: u32,
) -> anyhow::Result<u8> {
    place::die_with_parent(parent)?;
    let job = planned(args, environment)?;
    let mut telemetry = match start(&args.telemetry, environment, &job) {
        Ok(telemetry) => telemetry,
        Err(error) => {
            answer(&Answer::Unable(format!("{error:#}")))?;
            return Ok(0);
        }
    };
    answer(&Answer::Ready)?;
    for line in io::stdin().lock().lines() {
        telemetry.observe(&serde_json::from_str(&line?)?);
    }
    answer(&Answer::Delivered(telemetry.finish(PATIENCE)))?;
    Ok(0)
}

fn start<'a>(
    args: &TelemetryArgs,
    environment: &Environment,
    job: &'a Job,
) -> anyhow::Result<Telemetry<'a>> {
    let settings = args.settings(environment)?.context("no receiver is named")?;
    Ok(Telemetry::start(&settings, job)?)
}

/// The job of the parent process; the size of packets does not matter here.
fn planned(args: &DriveArgs, environment: &Environment) -> anyhow::Result<Job> {
    let ranks = match args.ranks {
        Some(ranks) => ranks,
        None => environment.launched()?.context("the number of ranks is not known")?.ranks,
    };
    job::job(args, environment, ranks, u32::MAX)
}
