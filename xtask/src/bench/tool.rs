//! The programs that are timed side by side.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::repository::{command, is_installed};

/// A way to read a whole capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Railscope,
    /// railscope without linking traffic to a job.
    Unlinked,
    /// railscope on all cores; the others are on one.
    AllCores,
    /// Another build of railscope, to see what a change costs.
    Other,
    /// Three fields, no name resolution: the least that a RoCE analysis in scripts asks for.
    Tshark,
    Tcpdump,
    /// Walks the record headers only: the speed of reading itself.
    Capinfos,
}

const PEERS: [Tool; 3] = [Tool::Tshark, Tool::Tcpdump, Tool::Capinfos];

impl Tool {
    /// railscope and the chosen peers: `all`, `none`, or names separated by commas.
    pub(super) fn choose(peers: &str) -> Result<Vec<Self>> {
        let mut tools = vec![Self::Railscope];
        match peers {
            "all" => tools.extend(PEERS),
            "none" => {}
            names => {
                for name in names.split(',') {
                    let Some(tool) = PEERS.iter().find(|tool| tool.name() == name) else {
                        bail!("`{name}` is no peer: use tshark, tcpdump, capinfos, all or none");
                    };
                    tools.push(*tool);
                }
            }
        }
        tools.retain(|tool| {
            let is_there = *tool == Self::Railscope || is_installed(tool.name());
            if !is_there {
                eprintln!("SKIP {}: not installed", tool.name());
            }
            is_there
        });
        Ok(tools)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Railscope | Self::Unlinked | Self::AllCores | Self::Other => "railscope",
            Self::Tshark => "tshark",
            Self::Tcpdump => "tcpdump",
            Self::Capinfos => "capinfos",
        }
    }

    /// What is timed, as the table shows it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Railscope => "railscope analyze",
            Self::Unlinked => "railscope analyze --no-link",
            Self::AllCores => "railscope analyze, all cores",
            Self::Other => "railscope analyze, the other build",
            Self::Tshark => "tshark -T fields",
            Self::Tcpdump => "tcpdump -nn",
            Self::Capinfos => "capinfos -c",
        }
    }

    /// Too slow for the whole capture, so it reads the first part; its start weighs little even so.
    pub(super) fn reads_prefix(self) -> bool {
        matches!(self, Self::Tshark | Self::Tcpdump)
    }

    /// Reads `capture` and throws the output away; `railscope` is the binary to measure.
    pub(super) fn command(self, railscope: &Path, capture: &Path) -> Command {
        const ONE_CORE: &str = "analyze --format text --threads 1";
        const FIELDS: &str =
            "-T fields -e infiniband.bth.opcode -e infiniband.bth.destqp -e infiniband.bth.psn";
        let (program, before, after) = match self {
            Self::Railscope | Self::Other => (railscope.as_os_str(), ONE_CORE, ""),
            Self::Unlinked => (railscope.as_os_str(), ONE_CORE, "--no-link"),
            Self::AllCores => (railscope.as_os_str(), "analyze --format text", ""),
            Self::Tshark => ("tshark".as_ref(), "-n -r", FIELDS),
            Self::Tcpdump => ("tcpdump".as_ref(), "-nn -r", ""),
            Self::Capinfos => ("capinfos".as_ref(), "-c", ""),
        };
        let mut command = command(program);
        command.args(before.split_whitespace()).arg(capture).args(after.split_whitespace());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

#[cfg(test)]
mod tests {
    use super::Tool;

    #[test]
    fn railscope_is_always_measured() {
        assert_eq!(Tool::choose("none").unwrap(), [Tool::Railscope]);
        assert!(Tool::choose("tshark,wc").is_err());
    }
}
