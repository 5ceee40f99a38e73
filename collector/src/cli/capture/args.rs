//! Options of `railscope capture`, as typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::{Args, Subcommand};

use crate::record::snap::SnapLen;
use crate::trigger::Trigger;
use crate::units;

/// Options of `railscope capture`, as typed.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    override_usage = "\
railscope capture [OPTIONS] -i <NAMES> -o <FILE> [-- <COMMAND>...]
       railscope capture [OPTIONS] -i <NAMES> --bundle <FILE> [-- <COMMAND>...]
       railscope capture [OPTIONS] -i <NAMES> --keep <TIME> [--on <TRIGGER>]... [-o <FOLDER>]
       railscope capture save [OPTIONS] [REASON]",
    after_help = EXAMPLES,
    after_long_help = long_help()
)]
pub(in crate::cli) struct CaptureArgs {
    #[command(subcommand)]
    pub(super) action: Option<Action>,
    /// Interfaces, separated by commas; needs root or CAP_NET_RAW
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) interface: Vec<String>,
    /// Network namespace of the interfaces: /run/netns/NAME, /proc/PID/ns/net
    #[arg(long, value_name = "PATH")]
    pub(super) netns: Option<PathBuf>,
    /// The pcapng file to write, `-` for standard output; with --keep or --on the folder for saved
    /// files [default: this one]. A file that ends in .zst is compressed
    #[arg(short, long, value_name = "PATH")]
    pub(super) output: Option<PathBuf>,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub(super) duration: Option<Duration>,
    /// Bytes kept of each frame: auto keeps what railscope needs (headers, NCCL's clear-to-sends and
    /// bootstrap), a number the first bytes, 0 all
    #[arg(short, long, value_name = "BYTES", default_value = "auto")]
    pub(super) snaplen: SnapLen,
    /// Record only packets for which this holds, as `railscope packets --filter` has it
    #[arg(short = 'Y', long, value_name = "EXPR")]
    pub(super) filter: Option<String>,
    /// Line rate of every port (400G, 25Gb/s) [default: what the interface says]
    #[arg(long, value_name = "RATE", value_parser = units::line_rate)]
    pub(super) line_rate: Option<u64>,
    /// Room for frames in the kernel, for each interface
    #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = buffer)]
    pub(super) buffer: ByteSize,
    #[command(flatten)]
    pub(super) bundle: BundleArgs,
    #[command(flatten)]
    pub(super) ring: RingArgs,
    /// Record while this command runs; the exit code is its own
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
    /// Shortest interval between two analyses
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time, hide = true)]
    pub(super) every: Duration,
    /// How far the analysis looks back
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time, hide = true)]
    pub(super) window: Duration,
}

/// Options of the bundle.
#[derive(Args)]
#[command(next_help_heading = "One file for all")]
pub(super) struct BundleArgs {
    /// At the end, analyse the recording, print the report, and write one file with everything:
    /// frames, NIC counters, queue pairs with their processes, logs, report. `analyze` reads it; without
    /// -o, it alone stays
    #[arg(long, value_name = "FILE")]
    pub(super) bundle: Option<PathBuf>,
    /// NCCL logs for the bundle, as they are at the end; a quoted pattern matches several
    #[arg(long, value_name = "FILE", requires = "bundle")]
    pub(super) nccl_log: Vec<String>,
    /// Training logs for the bundle
    #[arg(long, value_name = "FILE", requires = "bundle")]
    pub(super) train_log: Vec<String>,
}

/// Options of the ring.
#[derive(Args)]
#[command(next_help_heading = "Look back")]
pub(super) struct RingArgs {
    /// Keep a ring of this time on disk, and write a file only when something asks for it
    /// [default with --on: 1m]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) keep: Option<Duration>,
    /// Most bytes of the ring on disk, or of the file without a ring [default of a ring: 2GB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(super) max_size: Option<ByteSize>,
    /// Save the ring when this happens: finding:warning, finding:NAME, step:2x, hang, pause,
    /// log:FILE:REGEX, end, fail; --help explains them. SIGUSR1 and `railscope capture save` always do
    #[arg(long, value_name = "TRIGGER")]
    pub(super) on: Vec<Trigger>,
    /// For `hang`: a job hangs if nothing has moved for so long in the middle of a collective [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) hang_after: Option<Duration>,
    /// Record this long after the trigger before saving
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::duration)]
    pub(super) after: Duration,
    /// End after this many saved files, so that triggers cannot fill the disk
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_saves: u32,
    /// Compress saved files (NAME.pcapng.zst), which Wireshark 3.2 and railscope read
    #[arg(long)]
    pub(super) compress: bool,
    /// Folder of the ring, on a local disk [default: .railscope-ring in the output's folder]
    #[arg(long, value_name = "DIR")]
    pub(super) ring: Option<PathBuf>,
    /// Socket for `railscope capture save` [default: capture-PID.sock in /run/railscope, or in
    /// $XDG_RUNTIME_DIR/railscope for other users than root]
    #[arg(long, value_name = "PATH")]
    pub(super) socket: Option<PathBuf>,
}

/// What else there is to do.
#[derive(Subcommand)]
pub(super) enum Action {
    /// Ask a running capture to save its ring, and wait for the file
    Save(SaveArgs),
}

/// Options of `railscope capture save`.
#[derive(Args)]
pub(super) struct SaveArgs {
    /// Why, for the file's comment
    #[arg(value_name = "REASON")]
    pub(super) reason: Option<String>,
    /// Record this long before saving [default: what the capture was started with]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub(super) after: Option<Duration>,
    /// Socket of the capture [default: the only one in /run/railscope or $XDG_RUNTIME_DIR/railscope]
    #[arg(long, value_name = "PATH")]
    pub(super) socket: Option<PathBuf>,
}

impl CaptureArgs {
    /// Whether it looks back.
    pub(super) fn is_ring(&self) -> bool {
        self.ring.keep.is_some() || !self.ring.on.is_empty()
    }
}

const EXAMPLES: &str = "\
Examples:
  railscope capture -i eth0 -o out.pcapng --for 30s           thirty seconds, every frame
  railscope capture -i mirror0 --keep 10min --on finding:warning -o incidents/
                                                              what led to trouble, and 10 s more
  railscope capture -i eth0 --keep 5min --on step:2x --on hang -o incidents/
  railscope capture -i eth0 --keep 5min --on 'log:train.log:NaN|CUDA error'
  railscope capture save 'users complain'                     the ring of a running capture, now
  railscope capture -i eth0 -o job.pcapng -- srun ./train.sh  while a command runs
  railscope capture -i eth0 --bundle job.railscope.tar.zst --nccl-log 'nccl.*.log' -- ./train.sh
                                                              one file to share, and the report
  railscope capture -i eth0 -o - | wireshark -k -i -

RoCE of an RDMA NIC bypasses the kernel: capture a mirror port, or soft-RoCE.

Exit codes: 0 done; 2 wrong usage, or a source or file failed; with a COMMAND its own.";

const TRIGGERS: &str = "\
Triggers (--on, several are possible); each saves the ring and what comes in --after:
  finding             a finding or verdict is new and at least a warning
  finding:critical    ... at least this bad: info, warning, critical
  finding:loss        ... of this name; `railscope findings` and docs/verdicts.md list them
  step:2x             a training step takes twice the median of those before, of which there are five
  hang                a collective stands still, or a path, port, host or process is dead
  pause               a pause storm
  log:FILE:REGEX      a line that matches is added to a file; the file may be rotated, or come later
  end                 the capture ends, by Ctrl-C, --for or the end of COMMAND
  fail                COMMAND exits with an error
  SIGUSR1, and `railscope capture save`, always do.
A trigger while a save waits for its end joins that save.

A saved file begins with the bootstraps of the jobs, however old: they show which rank is where.
Packets have comments where something happened: lost, sent again, CE, CNP, NAK, a late rank, and
the finding that cites them.";

fn long_help() -> String {
    format!("{TRIGGERS}\n\n{EXAMPLES}")
}

/// A time that is not zero.
fn time(text: &str) -> Result<Duration, String> {
    match units::duration(text)? {
        Duration::ZERO => Err(format!("`{text}` is too short; write 30s, 10m or 1h")),
        time => Ok(time),
    }
}

/// A size; `2G` is 2 GB, as a limit need not be exact.
fn size(text: &str) -> Result<ByteSize, String> {
    let size =
        units::size(text).or_else(|error| units::size(&format!("{text}B")).map_err(|_| error));
    size.and_then(|size| match size.0 {
        0..0x10_0000 => Err(format!("`{text}` is less than 1 MiB")),
        _ => Ok(size),
    })
}

/// A size that the kernel can be asked for.
fn buffer(text: &str) -> Result<ByteSize, String> {
    match size(text)? {
        size if size <= ByteSize::gib(4) => Ok(size),
        _ => Err(format!("`{text}` is more than 4 GiB of the kernel's memory for each interface")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_write_them() {
        assert_eq!(size("2G"), Ok(ByteSize::gb(2)));
        assert_eq!(size("2 GiB"), Ok(ByteSize::gib(2)));
        assert!(buffer("4GiB").is_ok() && buffer("100GB").is_err());
        for wrong in ["", "0", "100", "1KB", "many", "-1G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
