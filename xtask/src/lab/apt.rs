//! apt with private state: it resolves and downloads as on an empty Debian, and neither reads nor
//! writes the host's lists, sources, pins or installed packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::packages::{Package, parse_uris};
use super::recipe::{KERNEL_SUITE, OLDER_KERNEL_SUITE, SUITE};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Pauses between attempts: mirrors fail now and then.
const PAUSES_SECONDS: &[u64] = &[5, 20];

/// A state of apt in a folder.
pub(super) struct Apt {
    folder: PathBuf,
    mirror: String,
}

impl Apt {
    /// Writes configuration and sources into `folder` and fetches the lists of packages.
    pub(super) fn new(folder: PathBuf, mirror: String) -> Result<Self> {
        for program in ["apt-get", "apt-cache", "dpkg-deb"] {
            ensure!(
                Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok(),
                "{program} is missing: the lab is made of Debian packages and needs the host's apt \
                 and dpkg to fetch them (on Debian: apt-get install apt dpkg)"
            );
        }
        ensure!(
            Path::new(KEYRING).exists(),
            "{KEYRING} is missing, which packages are verified with: \
             apt-get install debian-archive-keyring"
        );
        for name in ["lists/partial", "archives/partial", "empty/partial"] {
            let path = folder.join(name);
            fs::create_dir_all(&path).with_context(|| format!("create {}", path.display()))?;
        }
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("write {}", path.display()))
        };
        write("apt.conf", configuration(&folder))?;
        write("sources.list", sources(&mirror))?;
        write("status", String::new())?;
        let apt = Self { folder, mirror };
        apt.retried("update", &[])?;
        Ok(apt)
    }

    /// What `package` of `suite` depends on, as `apt-cache depends` prints it.
    pub(super) fn depends(&self, package: &str, suite: &str) -> Result<String> {
        let mut cache = self.command("apt-cache");
        let output = run(cache.arg("depends").arg(format!("{package}/{suite}")))?;
        ensure!(
            output.status.success(),
            "the mirror {} has no {package} in {suite}: {}",
            self.mirror,
            said(&output)
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// `names` and their dependencies.
    pub(super) fn resolve(&self, names: &[String]) -> Result<Vec<Package>> {
        let mut get = self.command("apt-get");
        // apt would leave out packages that are downloaded already.
        get.args(["install", "-qq", "--print-uris", "--option", "Dir::Cache::archives=empty"]);
        let output = run(get.args(names))?;
        ensure!(
            output.status.success(),
            "the mirror {} lacks a package of the lab: {}",
            self.mirror,
            said(&output)
        );
        parse_uris(&String::from_utf8_lossy(&output.stdout))
    }

    /// Downloads `names` and their dependencies; apt verifies them.
    pub(super) fn download(&self, names: &[String]) -> Result<()> {
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        self.retried("install", &[&["--download-only", "-y"], names.as_slice()].concat())
    }

    /// The folder of downloaded packages.
    pub(super) fn archives(&self) -> PathBuf {
        self.folder.join("archives")
    }

    fn retried(&self, verb: &str, arguments: &[&str]) -> Result<()> {
        let mut pauses = PAUSES_SECONDS.iter();
        loop {
            let mut get = self.command("apt-get");
            let output = run(get.arg("-qq").arg(verb).args(arguments))?;
            if output.status.success() {
                return Ok(());
            }
            let Some(&pause) = pauses.next() else {
                bail!("the mirror {} fails: apt-get {verb}: {}", self.mirror, said(&output));
            };
            eprintln!("lab: apt-get {verb} failed; again in {pause} s: {}", said(&output));
            std::thread::sleep(Duration::from_secs(pause));
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        // `--config-file` is read after the host's files, so it wins.
        command.arg(format!("--config-file={}", self.folder.join("apt.conf").display()));
        command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
        command
    }
}

fn run(command: &mut Command) -> Result<Output> {
    command.output().with_context(|| format!("start {command:?}"))
}

/// What a program printed on standard error.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.trim().replace('\n', "; ")
}

/// The host's own configuration is read as well, for its proxies; what names a folder or runs
/// something is replaced.
fn configuration(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        r#"Dir::Etc::SourceList "{folder}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "{folder}";
Dir::State::status "{folder}/status";
Dir::State::extended_states "{folder}/extended_states";
Dir::Cache "{folder}";
Dir::Cache::archives "archives";
Dir::Log "{folder}";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
APT::Get::Remove "false";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::ForceHash "SHA256";
#clear APT::Default-Release;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Keep-Downloaded-Packages;
#clear DPkg;
#clear Acquire::IndexTargets::deb::DEP-11;
"#
    )
}

fn sources(mirror: &str) -> String {
    let line = |suite| format!("deb [signed-by={KEYRING}] {mirror} {suite} main\n");
    [SUITE, KERNEL_SUITE, OLDER_KERNEL_SUITE].map(line).concat()
}
