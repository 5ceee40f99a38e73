//! An agent without sources that reads its settings from a file, as a service does.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use railscope_testbed::clock::eventually;
use railscope_testbed::data_base::free_port;
use tempfile::TempDir;

use super::railscope::PROGRAM;

/// Its sources, and how soon it has metrics.
pub const QUIET: &str = "[sources]\npackets = false\ncounters = false\ncalls = false\nprocesses = false\n\
                         ras = false\n[otlp]\ninterval = \"500ms\"\n";

/// A running agent, its folder with `collector.toml` and its log.
pub struct Service {
    child: Child,
    pub address: SocketAddr,
    pub folder: TempDir,
}

impl Service {
    /// Starts it in this folder with these lines of `[prometheus]`, and waits until it listens.
    pub fn start(folder: TempDir, prometheus: &str) -> Self {
        Self::start_with(folder, QUIET, prometheus, &[])
    }

    /// The same with other sections, and variables.
    pub fn start_with(
        folder: TempDir,
        sections: &str,
        prometheus: &str,
        variables: &[(&str, &str)],
    ) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let settings = folder.path().join("collector.toml");
        fs::write(&settings, text(address, sections, prometheus)).unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new(PROGRAM);
        command.arg("agent").arg("--config").arg(&settings).envs(variables.iter().copied());
        let child = command.stderr(log).stdout(Stdio::null()).spawn().unwrap();
        let service = Self { child, address, folder };
        eventually("the agent listens", || {
            TcpStream::connect(address).is_ok() || service.log().contains("error")
        });
        service
    }

    /// Writes other settings, and asks for them.
    pub fn reload(&self, sections: &str, prometheus: &str) {
        let text = text(self.address, sections, prometheus);
        fs::write(self.file("collector.toml"), text).unwrap();
        self.signal(Signal::SIGHUP);
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.file("log")).unwrap()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.pid()).unwrap()), signal).unwrap();
    }

    /// Stops it; returns its log.
    pub fn stop(&mut self) -> String {
        self.signal(Signal::SIGTERM);
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{}", self.log());
        self.log()
    }

    /// Seconds of CPU time that it has taken.
    pub fn cpu_time(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let ticks = fields.split_whitespace().skip(11).take(2);
        ticks.map(|field| field.parse::<f64>().unwrap()).sum::<f64>() / 100.0
    }
}

fn text(address: SocketAddr, sections: &str, prometheus: &str) -> String {
    format!("{sections}[prometheus]\nlisten = \"{address}\"\n{prometheus}")
}

impl Drop for Service {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Status and body of curl's answer; status "000" if there is none.
pub fn curl(arguments: &[&str], url: &str) -> (String, String) {
    let mut command = Command::new("curl");
    command.args(["--silent", "--max-time", "20", "--write-out", "\n%{http_code}"]);
    let output = command.args(arguments).arg(url).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').unwrap();
    (status.to_owned(), body.to_owned())
}

/// Makes a certificate for this host, `NAME.pem` and `NAME.key`; `issuer` is another of these.
pub fn certificate(folder: &Path, name: &str, issuer: Option<&str>) {
    let mut command = Command::new("openssl");
    command.current_dir(folder).args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"]);
    command.args(["-pkeyopt", "ec_paramgen_curve:P-256", "-subj", &format!("/CN={name}")]);
    command.args(["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]);
    command.args(["-out", &format!("{name}.pem"), "-keyout", &format!("{name}.key")]);
    if let Some(issuer) = issuer {
        command.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
        command.args(["-CA", &format!("{issuer}.pem"), "-CAkey", &format!("{issuer}.key")]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
