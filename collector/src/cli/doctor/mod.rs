//! `railscope doctor`: checks hosts before a job.

mod ping;

use clap::{Args, Subcommand};

/// Options of `railscope doctor`, as typed.
#[derive(Args)]
pub(super) struct DoctorArgs {
    #[command(subcommand)]
    check: Check,
}

#[derive(Subcommand)]
enum Check {
    /// Measure which hosts of a job reach each other, and how fast, over TCP and RDMA
    Ping(ping::PingArgs),
}

/// The exit code.
pub(super) fn run(args: &DoctorArgs) -> anyhow::Result<u8> {
    match &args.check {
        Check::Ping(args) => ping::run(args),
    }
}
