//! A fabric on this machine: a network namespace with a bridge, and hosts on it, each in its own
//! network and UTS namespace. The namespaces have no names and disappear with the handle.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::agent::Agent;
use crate::clock::eventually;

/// Port of the agents' pages on hosts.
const AGENT_PORT: u16 = 9474;

/// Programs that a fabric needs, root aside.
pub const PROGRAMS: [&str; 5] = ["ip", "nsenter", "unshare", "sysctl", "hostname"];

/// A bridge and its hosts: host N is `gpu-node-N`, has 10.0.0.(N + 1) on its `eth0` and is attached
/// to port `portN` of the bridge, which is 10.0.0.254.
pub struct Fabric {
    railscope: String,
    hosts: Vec<Child>,
}

impl Fabric {
    /// Runs `work` on a thread in the fabric's namespace; its child processes run there too. Hosts
    /// run the program `railscope`.
    ///
    /// # Panics
    ///
    /// `work` panics, or the fabric cannot be made.
    pub fn run<T: Send + 'static>(
        railscope: &str,
        hosts: usize,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let railscope = railscope.to_owned();
        let enter = move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            work(&Self::new(railscope, hosts))
        };
        match std::thread::spawn(enter).join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn new(railscope: String, hosts: usize) -> Self {
        run("ip link set dev lo up");
        run("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1");
        run("ip link add name bridge0 type bridge");
        run("ip addr add 10.0.0.254/24 dev bridge0");
        run("ip link set dev bridge0 up");
        let mut fabric = Self { railscope, hosts: Vec::new() };
        for number in 0..hosts {
            let host = Command::new("unshare")
                .args(["--net", "--uts", "sleep", "86400"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            fabric.hosts.push(host);
            fabric.join(number);
        }
        fabric
    }

    /// Attaches a host to the bridge.
    fn join(&self, number: usize) {
        let pid = self.hosts[number].id();
        let own = std::fs::read_link("/proc/thread-self/ns/net").unwrap();
        let of_host = || std::fs::read_link(format!("/proc/{pid}/ns/net")).unwrap();
        eventually("the host has its namespaces", || of_host() != own);
        run(&format!("ip link add name port{number} type veth peer name eth0 netns {pid}"));
        run(&format!("ip link set dev port{number} master bridge0 up"));
        let address = number + 1;
        for line in [
            format!("hostname gpu-node-{number}"),
            "sysctl -qw net.ipv6.conf.all.disable_ipv6=1".to_owned(),
            "ip link set dev lo up".to_owned(),
            format!("ip addr add 10.0.0.{address}/24 dev eth0"),
            "ip link set dev eth0 up".to_owned(),
        ] {
            let mut words = line.split(' ');
            let program = words.next().unwrap();
            assert!(self.on(number, program).args(words).status().unwrap().success(), "{line}");
        }
    }

    /// How many hosts it has.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// A program on a host.
    #[must_use]
    pub fn on(&self, number: usize, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--uts", "--target", &self.hosts[number].id().to_string()]);
        command.args(["--", program]);
        command
    }

    /// Starts a rank of the driver on each host.
    ///
    /// # Panics
    ///
    /// A process cannot be started.
    #[must_use]
    pub fn drive(&self, options: &str) -> Vec<Child> {
        self.drive_on(0..self.hosts.len(), options)
    }

    /// The same on these hosts only.
    ///
    /// # Panics
    ///
    /// It cannot be started.
    #[must_use]
    pub fn drive_on(&self, hosts: Range<usize>, options: &str) -> Vec<Child> {
        let start = |number: usize| {
            let mut command = self.on(number, &self.railscope);
            command.arg("drive").args(options.split_whitespace());
            command.envs([
                ("RANK", (number - hosts.start).to_string()),
                ("WORLD_SIZE", hosts.len().to_string()),
                ("LOCAL_RANK", "0".to_owned()),
                ("MASTER_ADDR", format!("10.0.0.{}", hosts.start + 1)),
            ]);
            command.stdout(Stdio::null()).spawn().unwrap()
        };
        hosts.clone().map(start).collect()
    }

    /// Stops the process of a rank with SIGSTOP: it neither ends nor answers.
    ///
    /// # Panics
    ///
    /// It has ended.
    pub fn freeze(rank: &Child) {
        kill(Pid::from_raw(i32::try_from(rank.id()).unwrap()), Signal::SIGSTOP).unwrap();
    }

    /// Starts an agent on a host, where it sees that host's `eth0` only; waits until it observes.
    #[must_use]
    pub fn agent(&self, number: usize, settings: &[&str]) -> Agent {
        let address = Ipv4Addr::new(10, 0, 0, u8::try_from(number + 1).unwrap_or(u8::MAX));
        let address = SocketAddr::from((address, AGENT_PORT));
        let agent = Agent::begin_at(self.on(number, &self.railscope), address, settings);
        eventually("the agent starts", || agent.get("/readyz").is_some());
        agent
    }

    /// Starts an agent at the bridge, where it can see the ports of all hosts.
    #[must_use]
    pub fn mirror_agent(&self, settings: &[&str]) -> Agent {
        Agent::start(&self.railscope, settings)
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        for host in &mut self.hosts {
            _ = host.kill();
            _ = host.wait();
        }
    }
}

fn run(line: &str) {
    let mut words = line.split(' ');
    let status = Command::new(words.next().unwrap()).args(words).status().unwrap();
    assert!(status.success(), "{line}");
}
