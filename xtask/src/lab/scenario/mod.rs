//! Scenarios: a script that runs in the guest, `tests/lab/NAME.sh`, and what railscope must find in its
//! captures.

mod definition;
mod doctor;
mod drive;
mod faults;
mod filters;
mod perftest;
mod ping;
mod queue_pairs;
mod ranks;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

pub(super) use self::definition::Scenario;
use super::build::Built;
use super::console;
use super::facts::Facts;
use super::kernel::Kernel;
use super::machine::{Machine, Terminal};
use super::probe;
use super::share::Share;
use crate::clock::timed;
use crate::repository::{command, root};
use crate::verbs;

/// Seconds for a boot on a machine that is busy.
const BOOT: u64 = 120;

pub(super) const ALL: &[Scenario] = &[
    perftest::SCENARIO,
    faults::SCENARIO,
    drive::SCENARIO,
    queue_pairs::SCENARIO,
    ranks::SCENARIO,
    filters::SCENARIO,
    ping::SCENARIO,
    doctor::SCENARIO,
];

/// The scenarios with these names; without names, all that can be built here.
pub(super) fn named(names: &[String]) -> Result<Vec<&'static Scenario>> {
    if names.is_empty() {
        return Ok(ALL.iter().filter(|scenario| scenario.can_be_built()).collect());
    }
    let find = |name: &String| {
        let known = ALL.iter().map(|scenario| scenario.name).collect::<Vec<_>>().join(", ");
        let found = ALL.iter().find(|scenario| scenario.name == name);
        found.with_context(|| format!("no scenario {name}; there are {known}"))
    };
    names.iter().map(find).collect()
}

/// Runs `scenarios`, with one boot per kernel, and checks their results with `railscope`.
pub(super) fn run(built: &Built, scenarios: &[&Scenario], railscope: &Path) -> Result<()> {
    let (older, newest): (Vec<&Scenario>, Vec<&Scenario>) =
        scenarios.iter().copied().partition(|scenario| scenario.has_older_kernel);
    for (kernel, scenarios) in [(&built.kernel, newest), (&built.older_kernel, older)] {
        if !scenarios.is_empty() {
            run_on(built, kernel, &scenarios, railscope)?;
        }
    }
    Ok(())
}

fn run_on(built: &Built, kernel: &Kernel, scenarios: &[&Scenario], railscope: &Path) -> Result<()> {
    let accelerator = probe::accelerator(built)?;
    let share = Share::create(&built.folder, &script(scenarios), &Terminal::None.settings())?;
    if scenarios.iter().any(|scenario| scenario.needs_verbs) {
        let programs = verbs::build()?;
        share.lend("railscope", &programs.railscope)?;
        share.lend("verbs", &programs.tests)?;
        share.lend("libnccl.so.2", &nccl_stand_in(&built.folder)?)?;
    }
    let machine = Machine { built, kernel, accelerator, share: &share, terminal: Terminal::None };
    let limit = BOOT + scenarios.iter().map(|scenario| scenario.limit).sum::<u64>();
    let (status, seconds) = timed(|| machine.boot(Duration::from_secs(limit)));
    let status = status.with_context(|| failure(scenarios, &share.folder))?;
    ensure!(status == 0, "{}\nstatus {status}", failure(scenarios, &share.folder));
    eprintln!("lab: the guest ran for {seconds:.0} s");

    let mut broken = Vec::new();
    for scenario in scenarios {
        let mut facts = Facts::default();
        (scenario.check)(&share.folder.join(scenario.name), railscope, &mut facts)
            .with_context(|| format!("scenario {}", scenario.name))?;
        eprintln!("lab: {}: {} facts hold", scenario.name, facts.held());
        broken.extend(facts.broken().iter().map(|fact| format!("{}: {fact}", scenario.name)));
    }
    if !broken.is_empty() {
        bail!("{} facts do not hold:\n{}", broken.len(), broken.join("\n"));
    }
    Ok(())
}

/// A library with NCCL's functions, which do nothing: NCCL's own need a GPU.
fn nccl_stand_in(folder: &Path) -> Result<PathBuf> {
    let library = folder.join("libnccl.so.2");
    let mut compile = command("cc");
    compile.args(["-shared", "-fPIC", "-O1", "-Wl,-soname,libnccl.so.2", "-o"]).arg(&library);
    let source = root().join("tests/calls/library.c");
    let status = compile.arg(&source).status().context("start cc")?;
    ensure!(status.success(), "{} does not build", source.display());
    Ok(library)
}

/// The guest's script. The first failure ends it: its leftovers could break other scenarios.
fn script(scenarios: &[&Scenario]) -> String {
    let mut script = String::from("set -e\n");
    for Scenario { name, limit, .. } in scenarios {
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            script,
            "echo 'lab: {name}'\nmkdir /host/{name}\ncd /host/{name}\n\
             timeout --kill-after=5 {limit} bash /lab/{name}.sh < /dev/null > log 2>&1"
        );
    }
    script
}

/// Which scenario failed, and the last lines of its log.
fn failure(scenarios: &[&Scenario], share: &Path) -> String {
    let mut started = scenarios.iter().filter(|scenario| share.join(scenario.name).exists());
    let Some(last) = started.next_back() else { return "no scenario started".to_owned() };
    let log = share.join(last.name).join("log");
    format!(
        "scenario {} failed in the guest; {}:\n{}",
        last.name,
        log.display(),
        console::tail(&log)
    )
}

#[cfg(test)]
mod tests {
    use super::{ALL, named, root, script};

    #[test]
    fn every_scenario_has_its_script() {
        for scenario in ALL {
            assert!(root().join(format!("tests/lab/{}.sh", scenario.name)).exists());
        }
        assert_eq!(named(&["faults".into()]).unwrap()[0].name, "faults");
        assert!(named(&["none".into()]).is_err());
    }

    #[test]
    fn scenarios_run_in_the_order_asked_for() {
        let script = script(&named(&["faults".into(), "perftest".into()]).unwrap());
        assert!(script.find("/host/faults") < script.find("/host/perftest"));
    }
}
