//! A job of the driver that is broken from outside while it runs.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::clock::eventually;

/// Programs that break jobs, root aside.
pub const PROGRAMS: [&str; 3] = ["ip", "nsenter", "nft"];

/// What breaks.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The process of a rank is killed.
    Killed {
        /// The rank.
        rank: u32,
    },
    /// The process of a rank is stopped.
    Stopped {
        /// The rank.
        rank: u32,
    },
    /// The port of a rank leaves the fabric: nothing gets in or out.
    Unplugged {
        /// The rank.
        rank: u32,
    },
    /// Packets from one rank to another are dropped.
    Dropped {
        /// The rank that sends them.
        from: u32,
        /// The rank that they do not reach.
        to: u32,
    },
}

/// A job whose ranks are in network namespaces of their own, with its captures in a folder.
pub struct BrokenJob {
    driver: Child,
    folder: PathBuf,
}

impl BrokenJob {
    /// Starts `railscope drive` with these options.
    ///
    /// # Panics
    ///
    /// The program does not start.
    pub fn start(railscope: &Path, options: &[String], folder: &Path) -> Self {
        let mut drive = Command::new(railscope);
        drive.args(["drive", "--place", "netns"]).args(options).arg("--record").arg(folder);
        let driver = drive.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { driver, folder: folder.to_owned() }
    }

    /// Waits until every rank has sent and received data, then breaks the job.
    ///
    /// # Panics
    ///
    /// Needs root and [`PROGRAMS`]; the job does not get so far.
    pub fn break_it(&self, ranks: u32, data_bytes: u64, fault: Fault) {
        for rank in 0..ranks {
            let capture = self.folder.join(format!("rank{rank}.pcap"));
            let has_data = || capture.metadata().is_ok_and(|file| file.len() > data_bytes);
            eventually("data is captured", has_data);
        }
        match fault {
            Fault::Killed { rank } => self.signal(rank, Signal::SIGKILL),
            Fault::Stopped { rank } => self.signal(rank, Signal::SIGSTOP),
            Fault::Unplugged { rank } => {
                self.in_fabric(&format!("ip link set rank{rank} nomaster"));
            }
            Fault::Dropped { from, to } => {
                let address = Ipv4Addr::new(10, 0, 0, u8::try_from(to + 1).unwrap());
                self.in_fabric("nft add table bridge broken");
                self.in_fabric(
                    "nft add chain bridge broken path { type filter hook forward priority 0 ; }",
                );
                self.in_fabric(&format!(
                    "nft add rule bridge broken path iifname rank{from} ip daddr {address} drop"
                ));
            }
        }
    }

    /// Waits until the ranks give up; returns whether the job succeeded all the same.
    ///
    /// # Panics
    ///
    /// The driver cannot be waited for.
    #[must_use]
    pub fn wait(mut self) -> bool {
        self.driver.wait().unwrap().success()
    }

    fn signal(&self, rank: u32, signal: Signal) {
        let pid = i32::try_from(self.process(rank)).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
    }

    /// The process of a rank, by the variable that the driver sets.
    fn process(&self, rank: u32) -> u32 {
        let variable = format!("RANK={rank}");
        let is_it = |pid: &str| {
            let own = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            own.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
        };
        let find = || {
            let threads = fs::read_dir(format!("/proc/{}/task", self.driver.id())).ok()?;
            let children: Vec<String> = threads
                .flatten()
                .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
                .collect();
            let mut pids = children.iter().flat_map(|one| one.split_whitespace());
            pids.find(|pid| is_it(pid))?.parse().ok()
        };
        let mut pid = None;
        eventually("the rank runs", || {
            pid = find();
            pid.is_some()
        });
        pid.unwrap()
    }

    /// Runs a program where the ports of the ranks are.
    fn in_fabric(&self, line: &str) {
        let driver = self.driver.id().to_string();
        let mut command = Command::new("nsenter");
        command.args(["--target", &driver, "--net"]).args(line.split_whitespace());
        assert!(command.status().unwrap().success(), "{line}");
    }
}

impl Drop for BrokenJob {
    fn drop(&mut self) {
        _ = self.driver.kill();
        _ = self.driver.wait();
    }
}
