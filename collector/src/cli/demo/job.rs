//! The job that the demo shows: short, with one straggler and one congested link.

use std::ffi::OsString;
use std::path::Path;

use clap::Parser;

use crate::cli::drive::args::DriveArgs;
use crate::cli::drive::environment::Environment;
use crate::cli::drive::job;
use railscope_drive::job::Job;
use railscope_drive::place::Kind;

/// Ranks of the job.
pub(super) const RANKS: u32 = 4;

/// Training steps.
pub(super) const ITERATIONS: u32 = 24;

/// The rank that computes longer, by how much, and in which training steps.
pub(super) const LATE_RANK: u32 = 2;
const LATE_BY: &str = "80ms";
pub(super) const LATE_FIRST: u32 = 8;
const LATE_LAST: u32 = 10;

/// The ranks between which packets are marked, the share, and the training steps.
const MARKED_FROM: u32 = 0;
const MARKED_TO: u32 = 1;
const MARKED_SHARE: &str = "10%";
const MARKED_FIRST: u32 = 15;
const MARKED_LAST: u32 = 17;

/// `drive` and its options.
pub(super) fn words(folder: &Path) -> Vec<OsString> {
    let options = format!(
        "drive --ranks {RANKS} --iterations {ITERATIONS} --warmup_iters 0 --check 0 \
         --buckets 2MiB,1MiB --compute 60ms --jitter 5ms \
         --straggler rank={LATE_RANK},delay={LATE_BY},iterations={LATE_FIRST}..{LATE_LAST} \
         --mark-ce edge={MARKED_FROM}-{MARKED_TO},share={MARKED_SHARE},\
         iterations={MARKED_FIRST}..{MARKED_LAST} --record"
    );
    let mut words: Vec<OsString> = options.split_whitespace().map(OsString::from).collect();
    words.push(folder.into());
    words
}

/// The parsed options, and their job on interfaces with this MTU.
///
/// # Errors
///
/// The folder already holds a job.
pub(super) fn plan(
    words: &[OsString],
    environment: &Environment,
    mtu: u32,
) -> anyhow::Result<(DriveArgs, Job)> {
    /// `drive` is the name of the program here.
    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        drive: DriveArgs,
    }
    let Line { drive } = Line::try_parse_from(words)?;
    drive.output.check_record()?;
    let job = job::job(&drive, environment, RANKS, mtu)?;
    Ok((drive, job))
}

/// What the job does, and which faults it injects: a paragraph each.
pub(super) fn introduction(kind: Kind) -> [String; 2] {
    let who = match kind {
        Kind::UserNamespaces => " of a user namespace",
        Kind::Namespaces | Kind::Loopback | Kind::Host => "",
    };
    [
        format!(
            "{RANKS} ranks train for {ITERATIONS} steps on this machine, in network \
             namespaces{who}: NCCL's packets, no GPU."
        ),
        format!(
            "Two faults for railscope to find: rank {LATE_RANK} computes {LATE_BY} longer in \
             training steps {LATE_FIRST} to {LATE_LAST}, and {MARKED_SHARE} of the packets from \
             rank {MARKED_FROM} to rank {MARKED_TO} are CE-marked, as by a congested switch, in \
             steps {MARKED_FIRST} to {MARKED_LAST}."
        ),
    ]
}
