//! `railscope doctor ping`: pairwise reachability and bandwidth between the hosts of a job.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;

use crate::cli::exit_code::EXIT_UNUSABLE;
use crate::cli::notice::notice;
use crate::ping::host::{Machine, find, parse_all};
use crate::ping::json::Document;
use crate::ping::judge::judge;
use crate::ping::rails::RailSettings;
use crate::ping::{MOST_STREAMS, Outcome, PORT, Settings, text};
use crate::printable::PrintableWriter;
use crate::units::duration;

/// Something is wrong.
const EXIT_SICK: u8 = 1;

/// Shortest and longest bandwidth measurement.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(10);

/// Options of `railscope doctor ping`, as typed.
#[derive(Args)]
#[command(after_help = "\
Run the same command on every host at once. Each listens on --port, waits for the others, and
measures with one partner at a time: TCP connect, round trip and bandwidth, and over RDMA the same
from the i-th device to the i-th device, by RDMA WRITE. The first host prints the matrix; its first
line names the host, device or pair that stands out. It changes nothing, and needs no root.

Examples:
  pdsh -w n[1-4] railscope doctor ping n1 n2 n3 n4
  srun --label railscope doctor ping $(scontrol show hostnames)
  mpirun -N 1 -H n1,n2,n3 railscope doctor ping n1,n2,n3
  railscope doctor ping n1=10.0.0.1 n2=10.0.0.2 --as n1      names that do not resolve
  railscope doctor ping n1 n2 n3 --no-bandwidth              who reaches whom, in seconds
  railscope doctor ping n1 n2 n3 --cross-rail                also between different rails

Exit codes: 0 nothing stands out; 1 a host, device or pair does; 2 it cannot be measured.
docs/doctor-ping.md has the reading of the matrix, and what the port opens.")]
pub(super) struct PingArgs {
    /// All hosts, in the same order everywhere: NAME, ADDRESS or NAME=ADDRESS, with or without :PORT
    #[arg(required = true, value_name = "HOST")]
    hosts: Vec<String>,
    /// Which of the hosts this one is [default: by host name, then by address]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// TCP port that each host listens on while the ping runs
    #[arg(long, default_value_t = PORT, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// How long to wait for the other hosts
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    wait: Duration,
    /// Length of each bandwidth measurement, 0.05 to 10
    #[arg(long, value_name = "S", default_value_t = 0.5)]
    seconds: f64,
    /// Measure round trips only
    #[arg(long)]
    no_bandwidth: bool,
    /// TCP connections of a bandwidth measurement
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=MOST_STREAMS as i64))]
    streams: u8,
    /// Measure TCP only
    #[arg(long, conflicts_with_all = ["hca", "gid_index", "cross_rail"])]
    no_rdma: bool,
    /// RDMA devices, as NCCL_IB_HCA has them: mlx5_0,mlx5_1:1, =exact, ^excluded [default: all]
    #[arg(long, value_name = "LIST")]
    hca: Option<String>,
    /// GID table index [default: the RoCE v2 GID of a routable address of this host]
    #[arg(long, value_name = "N")]
    gid_index: Option<u8>,
    /// Also connect different rails, with short timeouts and without bandwidth
    #[arg(long)]
    cross_rail: bool,
    /// Print JSON (railscope.ping/1), one line from every host
    #[arg(long)]
    json: bool,
}

impl PingArgs {
    fn settings(&self) -> anyhow::Result<Settings> {
        let hosts = parse_all(&self.hosts).map_err(|why| anyhow!(why))?;
        let me =
            find(&hosts, &Machine::this(), self.name.as_deref()).map_err(|why| anyhow!(why))?;
        let time = Duration::try_from_secs_f64(self.seconds).unwrap_or_default();
        if !(SHORTEST..=LONGEST).contains(&time) {
            bail!("--seconds {}: write 0.05 to 10", self.seconds);
        }
        Ok(Settings {
            hosts,
            me,
            port: self.port,
            wait: self.wait,
            time: Some(time).filter(|_| !self.no_bandwidth),
            streams: usize::from(self.streams),
            is_cross_rail: self.cross_rail,
            rails: RailSettings {
                is_off: self.no_rdma,
                hca: self.hca.clone(),
                gid_index: self.gid_index,
            },
        })
    }
}

/// The exit code.
pub(super) fn run(args: &PingArgs) -> anyhow::Result<u8> {
    let settings = args.settings()?;
    let is_first = settings.me == 0;
    // One host speaks for all while they wait; each names what does not resolve on it at the end.
    let mut say = |text: String| {
        if is_first {
            notice(text);
        }
    };
    let port = settings.port;
    let outcome = crate::ping::run(&settings, &mut say).with_context(|| {
        format!("listen on TCP port {port}: choose another one for all hosts with --port")
    })?;
    show(args, &settings, &outcome)
}

fn show(args: &PingArgs, settings: &Settings, outcome: &Outcome) -> anyhow::Result<u8> {
    let Outcome { matrix, is_reporter } = outcome;
    for absence in matrix.absent.iter().filter(|absence| absence.is_unresolved) {
        if !is_reporter {
            notice(format!("{}: {}", matrix.name(absence.host), absence.why));
        }
    }
    let judgement = judge(matrix);
    let is_measured = matrix.rows.iter().flatten().any(|row| !row.cells.is_empty());
    let code = match judgement.findings.len() {
        _ if !is_measured => EXIT_UNUSABLE,
        0 => 0,
        _ => EXIT_SICK,
    };
    let output = anstream::stdout();
    let written = if args.json {
        let document = Document::new(matrix, &judgement, settings.me, code);
        let mut line = serde_json::to_string(&document)?;
        line.push('\n');
        PrintableWriter::json(output).write_all(line.as_bytes())
    } else if *is_reporter {
        let text = text::write(matrix, &judgement);
        PrintableWriter::text(output).write_all(text.as_bytes())
    } else {
        Ok(())
    };
    written.context("write to standard output")?;
    Ok(code)
}
