//! Options of `railscope watch`, as typed, and the source they select.

use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use glob::Pattern;

use crate::ingest::follow::Follow;
use crate::ingest::live::LiveSource;
use crate::ingest::sflow_socket::SflowSocket;
use crate::live::analyst::SHARE_FOR_SCREEN;
use crate::live::packets::{self, Choice, PacketsConfig};
use crate::live::runner::Pace;
use crate::units;

/// Options of `railscope watch`, as typed.
#[derive(Args)]
#[command(override_usage = "\
railscope watch [OPTIONS] --interface <NAMES>
       railscope watch [OPTIONS] --sflow[=<ADDRESS>]
       railscope watch [OPTIONS] <FILE>")]
#[command(after_help = "\
Examples:
  railscope watch -i eth0,eth1                        interfaces of this machine
  railscope watch -i rank0 --netns /proc/4711/ns/net  of another network namespace
  railscope watch port.pcapng                         a capture still being written
  railscope watch --sflow                             what switches send to UDP port 6343
  ssh host3 tcpdump -i mirror0 -s 256 -U -w - | railscope watch -

RoCE of an RDMA NIC bypasses the kernel, so no interface shows it: watch a mirror port, or
soft-RoCE. TCP of the control plane and of NET/Socket is visible everywhere.

Exit codes: 0 done; 2 wrong usage, or the source could not be opened.")]
pub(in crate::cli) struct WatchArgs {
    /// A growing capture, pcap or pcapng; - reads standard input
    #[arg(value_name = "FILE", conflicts_with = "interface")]
    file: Option<PathBuf>,
    /// Interfaces to watch, separated by commas; needs root or CAP_NET_RAW
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    interface: Vec<String>,
    /// Network namespace of the interfaces: /run/netns/NAME, /proc/PID/ns/net
    #[arg(long, value_name = "PATH", requires = "interface")]
    netns: Option<PathBuf>,
    /// Listen for sFlow of switches at a UDP port [default: port 6343 at all addresses]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true,
          default_missing_value = "[::]:6343", value_parser = listen, conflicts_with = "file")]
    sflow: Option<SocketAddr>,
    /// How to capture their packets
    #[arg(long, value_name = "SOURCE", default_value = "auto", requires = "interface")]
    source: SourceChoice,
    /// Print lines instead of the interactive view; default if standard output is not a terminal
    #[arg(long)]
    #[cfg(feature = "tui")]
    pub(super) plain: bool,
    /// How far to look back; older messages are discarded
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    window: Duration,
    /// Shortest interval between reports
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    every: Duration,
    /// A job hangs if nothing has moved for so long in the middle of a collective [default: 5s; 1s at the
    /// end of a file]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) hang_after: Option<Duration>,
    /// Line rate of every port (400G, 25Gb/s), needed for bursts
    #[arg(long, value_name = "RATE", value_parser = units::line_rate)]
    pub(super) line_rate: Option<u64>,
}

/// How to capture packets of interfaces, as typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum SourceChoice {
    /// Kernel programs if permitted, else packet sockets
    Auto,
    /// Kernel programs: packets in the middle of a message are only counted (CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON)
    Ebpf,
    /// The same in the driver of mirror ports, for two to three times the rate, where the driver allows it: received
    /// frames only; copies are dropped there, so tcpdump sees none
    Xdp,
    /// Packet sockets: copy every frame (CAP_NET_RAW)
    AfPacket,
}

impl WatchArgs {
    /// How often reports are made, and how far they look back.
    pub(super) fn pace(&self, patience: Duration) -> Pace {
        let window = Some(self.window);
        Pace { every: self.every, share: SHARE_FOR_SCREEN, window, patience }
    }

    /// Whether only samples of switches are watched: the interactive view has nothing of them.
    pub(super) fn is_sflow_only(&self) -> bool {
        self.sflow.is_some() && self.interface.is_empty()
    }

    /// Begins to watch.
    pub(super) fn open(&self) -> anyhow::Result<Vec<Box<dyn LiveSource>>> {
        let mut sources: Vec<Box<dyn LiveSource>> = Vec::new();
        if let Some(address) = self.sflow {
            sources.push(Box::new(SflowSocket::open(address)?));
        }
        if let Some(file) = &self.file {
            let name = file.display();
            let follow = Follow::open(file).with_context(|| format!("open capture {name}"))?;
            sources.push(Box::new(follow));
        } else if !self.is_sflow_only() {
            sources.push(self.open_interfaces()?);
        }
        Ok(sources)
    }

    fn open_interfaces(&self) -> anyhow::Result<Box<dyn LiveSource>> {
        if self.interface.is_empty() {
            bail!(
                "nothing to watch: name interfaces or a capture\n  \
                 railscope watch -i INTERFACE   as `ip link` lists them; needs root or CAP_NET_RAW\n  \
                 railscope watch --sflow        samples that switches send to UDP port 6343\n  \
                 railscope watch FILE           a growing pcap or pcapng; - reads standard input"
            );
        }
        for (at, name) in self.interface.iter().enumerate() {
            if self.interface.iter().take(at).any(|other| other == name) {
                bail!("--interface {name} was given twice: name each interface once");
            }
        }
        let choice = match self.source {
            SourceChoice::Auto => Choice::Auto,
            SourceChoice::Ebpf | SourceChoice::Xdp => Choice::Ebpf,
            SourceChoice::AfPacket => Choice::AfPacket,
        };
        let is_xdp = matches!(self.source, SourceChoice::Xdp);
        if is_xdp && self.netns.is_some() {
            bail!(
                "--source xdp reads interfaces of this network namespace only: leave out --netns"
            );
        }
        let mirrors = self.interface.iter().filter(|_| is_xdp);
        let config = PacketsConfig {
            interfaces: self.interface.clone(),
            namespace: self.netns.clone(),
            promiscuous: true,
            mirrors: mirrors.filter_map(|name| Pattern::new(&Pattern::escape(name)).ok()).collect(),
            logs_losses: false,
        };
        Ok(packets::open(choice, config)?.source)
    }
}

/// An address and a port, or a port alone: of all addresses then.
fn listen(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    let any = || Some(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port.parse().ok()?)));
    let wanted =
        || format!("`{text}` is no address and port; write 6343, 10.0.0.9:6343 or [::]:6343");
    text.parse().ok().or_else(any).ok_or_else(wanted)
}

/// A time that is not zero.
fn duration(text: &str) -> Result<Duration, String> {
    match units::duration(text)? {
        Duration::ZERO => Err(format!("`{text}` is too short; write 10m, 1h or 500ms")),
        time => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_people_write_them() {
        for (text, meant) in [
            ("6343", "[::]:6343"),
            (":7000", "[::]:7000"),
            ("10.0.0.9:6343", "10.0.0.9:6343"),
            ("[fd00::1]:6343", "[fd00::1]:6343"),
        ] {
            assert_eq!(listen(text), Ok(meant.parse().unwrap()), "{text}");
        }
        for wrong in ["", "switch", "10.0.0.9", "65536", "host:6343"] {
            assert!(listen(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_as_people_write_them() {
        assert_eq!(duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        for wrong in ["", "10", "-1s", "0s", "soon"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
