//! A fabric on this machine: a network namespace with a bridge, and hosts on it, each in its own
//! network and UTS namespace. The namespaces have no names and disappear with the test.

use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, unshare};

use super::clock::eventually;
use super::require;

/// A bridge and its hosts: host N is `gpu-node-N`, has 10.0.0.(N + 1) on its `eth0` and is attached
/// to port `portN` of the bridge.
pub struct Fabric {
    hosts: Vec<Child>,
}

impl Fabric {
    /// Runs `test` on a thread in the fabric's namespace; its child processes run there too.
    pub fn run_in(name: &str, hosts: usize, test: impl FnOnce(&Self) + Send + 'static) {
        let needed = ["ip", "nsenter", "unshare", "sysctl", "hostname"];
        if !require::root(name) || !needed.iter().all(|program| require::has(name, program)) {
            return;
        }
        let enter = move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            test(&Self::new(hosts));
        };
        if let Err(panic) = std::thread::spawn(enter).join() {
            std::panic::resume_unwind(panic);
        }
    }

    fn new(hosts: usize) -> Self {
        run("ip link set dev lo up");
        run("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1");
        run("ip link add name bridge0 type bridge");
        run("ip link set dev bridge0 up");
        let mut fabric = Self { hosts: Vec::new() };
        for number in 0..hosts {
            let host = Command::new("unshare")
                .args(["--net", "--uts", "sleep", "600"])
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

    /// A program on a host.
    pub fn on(&self, number: usize, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--uts", "--target", &self.hosts[number].id().to_string()]);
        command.args(["--", program]);
        command
    }

    /// Starts a rank of the driver on each host.
    pub fn drive(&self, options: &str) -> Vec<Child> {
        let start = |number: usize| {
            let mut command = self.on(number, env!("CARGO_BIN_EXE_railscope"));
            command.arg("drive").args(options.split_whitespace());
            command.envs([
                ("RANK", number.to_string()),
                ("WORLD_SIZE", self.hosts.len().to_string()),
                ("LOCAL_RANK", "0".to_owned()),
                ("MASTER_ADDR", "10.0.0.1".to_owned()),
            ]);
            command.stdout(Stdio::null()).spawn().unwrap()
        };
        (0..self.hosts.len()).map(start).collect()
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
