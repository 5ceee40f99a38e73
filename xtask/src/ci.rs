//! `cargo xtask ci`: everything that a change must pass, cheapest first.
//!
//! The tests come last and nothing is printed after them on standard output or standard error, so
//! that the last lines of a run are the test runner's own summary. No phase sets `RUSTFLAGS`: that
//! would rebuild every dependency.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::clock::timed;
use crate::repository::{build_profiler, build_railscope, command, is_installed, root};
use crate::{dashboards, driven, ebpf, faults, gallery, incident};
use crate::{lab, packages, rail, score, soak, sql, verbs};

/// Programs that tests compare railscope with.
const ORACLES: &[&str] = &["tshark", "tcpdump", "capinfos", "python3"];

/// System calls that fail in CI, and a stop: all of them take five minutes.
const FAULTS: [&str; 8] =
    ["accept4", "bpf", "openat", "read", "recvmsg", "stopped", "clock", "mount"];

/// `cargo xtask ci`.
pub(crate) fn run() -> Result<ExitCode> {
    phase("format", cargo("fmt --all --check"))?;
    phase("clippy", cargo("clippy --workspace --all-targets -- -D warnings"))?;
    check_features()?;
    check_verbs()?;
    check_fuzz_targets()?;
    check_dependencies()?;
    check_kernel_programs()?;
    check_dashboards()?;
    let mut documentation = cargo("doc --workspace --no-deps --document-private-items");
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    phase("documentation", documentation)?;
    phase("documentation tests", cargo("test --workspace --doc --quiet"))?;
    check_score()?;
    check_driven()?;
    check_gallery()?;
    check_incidents()?;
    check_rail()?;
    check_sql()?;
    check_wild_logs()?;
    check_faults()?;
    check_soak()?;
    check_lab()?;
    check_packages()?;
    run_tests()
}

/// Builds with fewer features than the default: the commands on captures alone, and the smallest agent.
fn check_features() -> Result<()> {
    for features in ["", "agent"] {
        let mut clippy = cargo("clippy --package railscope --no-default-features");
        clippy.args(["--features", features, "--", "-D", "warnings"]);
        phase(&format!("clippy, features [{features}]"), clippy)?;
    }
    Ok(())
}

/// The feature that needs extra packages on the host.
fn check_verbs() -> Result<()> {
    let missing = verbs::missing_packages();
    if !missing.is_empty() {
        let reason = format!("missing packages: {}", missing.join(" "));
        ensure!(!requires_all(), "the feature verbs: {reason}");
        skip("feature verbs", &reason);
        return Ok(());
    }
    let mut clippy = verbs::cargo();
    clippy.args(["clippy", "--workspace", "--all-targets", "--features", verbs::FEATURE]);
    clippy.args(["--", "-D", "warnings"]);
    phase("clippy, feature verbs", clippy)?;
    let mut tests = verbs::cargo();
    tests.args(["test", "--quiet"]).args(verbs::DRIVER);
    phase("tests, feature verbs", tests)
}

/// Logs of jobs that others ran, which are not part of the repository: `RAILSCOPE_WILD` names their
/// folder, beside whose parent is the program that judges reports on them.
fn check_wild_logs() -> Result<()> {
    let folder = std::env::var_os("RAILSCOPE_WILD").map(PathBuf::from);
    let judge = folder.as_ref().map(|folder| folder.join("../../tools/check_logs.py"));
    let (Some(folder), Some(judge)) = (folder, judge.filter(|judge| judge.is_file())) else {
        // Their licences keep them out of the repository, so that most machines lack them.
        skip("logs from the wild", "RAILSCOPE_WILD names no folder with logs and their judge");
        return Ok(());
    };
    let mut check = Command::new("python3");
    check.arg(judge).arg(build_railscope("test")?).arg(folder);
    phase("logs from the wild", check)
}

/// The fuzz crate is outside the workspace; CI only checks that it compiles.
fn check_fuzz_targets() -> Result<()> {
    const MANIFEST: &str = "tests/fuzz/Cargo.toml";
    if !root().join(MANIFEST).exists() {
        return Ok(());
    }
    if !is_installed("c++") {
        skip("fuzz targets", "libFuzzer needs a C++ compiler");
        return Ok(());
    }
    let mut check = cargo("check --quiet --target-dir target --manifest-path");
    check.arg(MANIFEST);
    phase("fuzz targets", check)
}

fn check_dependencies() -> Result<()> {
    if !is_installed("cargo-deny") {
        let reason = "cargo-deny is not installed: collector/packaging/tools.sh deny";
        ensure!(!requires_all(), "dependencies: {reason}");
        skip("dependencies", reason);
        return Ok(());
    }
    phase("dependencies", cargo("deny --log-level error check bans licenses sources"))
}

/// Checks that the committed kernel programs were built from the sources beside them.
fn check_kernel_programs() -> Result<()> {
    eprintln!("== kernel programs");
    let (outcome, seconds) = timed(ebpf::check);
    match outcome {
        Err(reason) if !requires_all() && !ebpf::has_tools() => {
            skip("kernel programs", &format!("{reason:#}"));
        }
        outcome => outcome?,
    }
    eprintln!("== kernel programs: {seconds:.1} s");
    Ok(())
}

/// Checks that committed boards are what the code makes and fit Grafana's own types.
fn check_dashboards() -> Result<()> {
    eprintln!("== dashboards");
    dashboards::check()?;
    let missing = dashboards::missing_programs();
    if !missing.is_empty() {
        let reason = format!("not installed: {}", missing.join(" "));
        ensure!(!requires_all(), "types of dashboards: {reason}");
        skip("types of dashboards", &reason);
        return Ok(());
    }
    let (outcome, seconds) = timed(dashboards::check_types);
    outcome.context("types of dashboards")?;
    eprintln!("== dashboards: {seconds:.1} s");
    Ok(())
}

/// Scores recorded jobs, with the program that the suite also runs.
fn check_score() -> Result<()> {
    eprintln!("== score");
    let (outcome, seconds) = timed(|| score::check("test"));
    ensure!(outcome?, "railscope finds out less than SCORE.md says");
    eprintln!("== score: {seconds:.1} s");
    Ok(())
}

/// Runs jobs of railscope's own driver and checks the reports.
fn check_driven() -> Result<()> {
    if !driven::can_capture() {
        let reason = "captures need root (CAP_NET_RAW)";
        ensure!(!requires_all(), "driven jobs: {reason}");
        skip("driven jobs", reason);
        return Ok(());
    }
    eprintln!("== driven jobs");
    let (outcome, seconds) = timed(|| driven::check(&[], "test"));
    ensure!(outcome?, "railscope does not find out all that the driver did");
    eprintln!("== driven jobs: {seconds:.1} s");
    Ok(())
}

/// Has system calls of an agent fail now and then.
fn check_faults() -> Result<()> {
    let has_tools = ["strace", "bindfs", "cc"].into_iter().all(is_installed);
    if !driven::can_capture() || !has_tools {
        let reason = "they need root, strace, bindfs and cc";
        ensure!(!requires_all(), "faults: {reason}");
        skip("faults", reason);
        return Ok(());
    }
    eprintln!("== faults");
    let (outcome, seconds) = timed(|| faults::check("test", &FAULTS.map(str::to_owned)));
    ensure!(outcome?, "the agent is not as before after a fault");
    eprintln!("== faults: {seconds:.1} s");
    Ok(())
}

/// Lets an agent watch jobs that come and go for ten minutes.
fn check_soak() -> Result<()> {
    if !driven::can_capture() {
        let reason = "it needs root (CAP_NET_RAW)";
        ensure!(!requires_all(), "soak: {reason}");
        skip("soak", reason);
        return Ok(());
    }
    eprintln!("== soak");
    let (outcome, seconds) = timed(|| soak::check("test"));
    ensure!(outcome?, "an agent that watched jobs come and go is not as it should be");
    eprintln!("== soak: {seconds:.1} s");
    Ok(())
}

/// Judges the first verdict on one job of each kind of incident, and of each kind of healthy job.
fn check_incidents() -> Result<()> {
    if !driven::can_capture() {
        let reason = "captures need root (CAP_NET_RAW)";
        ensure!(!requires_all(), "incidents: {reason}");
        skip("incidents", reason);
        return Ok(());
    }
    eprintln!("== incidents");
    let (outcome, seconds) = timed(|| incident::check("test"));
    ensure!(outcome?, "the first verdict is wrong");
    eprintln!("== incidents: {seconds:.1} s");
    Ok(())
}

/// Checks that incidents of RailBench are the same bytes as ever.
fn check_rail() -> Result<()> {
    eprintln!("== railbench");
    let (outcome, seconds) = timed(|| rail::check("test"));
    ensure!(outcome?, "incidents of RailBench have changed");
    eprintln!("== railbench: {seconds:.1} s");
    Ok(())
}

/// Asks the questions about a fleet, on three engines.
fn check_sql() -> Result<()> {
    let missing = sql::missing();
    if !missing.is_empty() {
        let reason = format!("missing: {}", missing.join(" "));
        ensure!(!requires_all(), "questions in SQL: {reason}");
        skip("questions in SQL", &reason);
        return Ok(());
    }
    eprintln!("== sql");
    let (outcome, seconds) = timed(|| sql::check("test"));
    outcome.context("questions in SQL")?;
    eprintln!("== sql: {seconds:.1} s");
    Ok(())
}

/// Checks reports on simulated fabrics, with one seed per scenario.
fn check_gallery() -> Result<()> {
    eprintln!("== gallery");
    let (outcome, seconds) = timed(|| gallery::check_once("test"));
    ensure!(outcome?, "railscope does not find what scenarios are about, or more");
    eprintln!("== gallery: {seconds:.1} s");
    Ok(())
}

/// Checks reports on live traffic of real RDMA programs, with the same program.
fn check_lab() -> Result<()> {
    eprintln!("== lab");
    let built = match lab::prepare(None) {
        Ok(built) => built,
        Err(reason) if requires_all() => return Err(reason.context("the lab is required")),
        Err(reason) => {
            skip("lab", &format!("{reason:#}"));
            return Ok(());
        }
    };
    let railscope = build_railscope("test")?;
    let (outcome, seconds) = timed(|| lab::run_all(&built, &railscope));
    outcome.context("lab")?;
    eprintln!("== lab: {seconds:.1} s");
    Ok(())
}

/// Follows docs/DEPLOY.md with packages of the program that the suite runs; the build of releases takes
/// ten minutes.
fn check_packages() -> Result<()> {
    let mut missing = packages::missing_programs();
    if !driven::can_capture() {
        missing.push("root");
    }
    if !missing.is_empty() {
        let reason = format!("missing: {}", missing.join(" "));
        ensure!(!requires_all(), "packages: {reason}");
        skip("packages", &reason);
        return Ok(());
    }
    eprintln!("== packages");
    let railscope = build_railscope("test")?;
    let (outcome, seconds) = timed(|| packages::check_with(&railscope));
    outcome.context("packages")?;
    eprintln!("== packages: {seconds:.1} s");
    Ok(())
}

/// The suite. The runner reports failures; another line would hide its summary.
fn run_tests() -> Result<ExitCode> {
    for oracle in ORACLES.iter().filter(|oracle| !is_installed(oracle)) {
        skip(oracle, "not installed; the tests that need it say SKIP and pass");
    }
    // No test of cargo's depends on a library that programs load.
    build_profiler("test")?;
    let mut tests = if is_installed("cargo-nextest") {
        cargo("nextest run --workspace --no-fail-fast")
    } else {
        // Without the documentation tests, whose summary would come last.
        cargo("test --workspace --lib --bins --tests --no-fail-fast")
    };
    eprintln!("== tests");
    let status = tests.status().context("start the tests")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs one phase to its end and says how long it took.
fn phase(name: &str, mut work: Command) -> Result<()> {
    eprintln!("== {name}");
    let (status, seconds) = timed(|| work.status());
    let status = status.with_context(|| format!("start {name}"))?;
    ensure!(status.success(), "{name} failed");
    eprintln!("== {name}: {seconds:.1} s");
    Ok(())
}

/// Whether a check that this machine cannot run is a failure, as in the suite.
#[expect(clippy::disallowed_methods, reason = "the one switch of the suite")]
pub(crate) fn requires_all() -> bool {
    std::env::var("RAILSCOPE_REQUIRE_ALL").is_ok_and(|value| value == "1")
}

fn skip(name: &str, reason: &str) {
    eprintln!("SKIP {name}: {reason}");
}

/// Cargo with `arguments`, separated by spaces.
fn cargo(arguments: &str) -> Command {
    let mut cargo = command("cargo");
    cargo.args(arguments.split(' '));
    cargo
}
