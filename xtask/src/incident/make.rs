//! Makes the captures of a job: in virtual time, or by the driver in network namespaces.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use railscope_testbed::broken::BrokenJob;

use super::draw::{Drawn, Source};
use super::pcapng;
use crate::repository::command;

/// What `railscope analyze` reads of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) captures: Vec<PathBuf>,
    pub(crate) logs: Vec<PathBuf>,
    pub(crate) counters: Option<PathBuf>,
}

/// Makes the job in `folder`, unless an earlier run left it there.
pub(crate) fn make(railscope: &Path, drawn: &Drawn, folder: &Path) -> Result<Inputs> {
    let note = if drawn.is_cut { "\ncut" } else { "" };
    let recipe = drawn.source.recipe() + note;
    let known = folder.join("recipe");
    if !fs::read_to_string(&known).is_ok_and(|known| known == recipe) {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("empty {}", folder.display()))?;
        }
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        match &drawn.source {
            Source::Simulated { scenario } => simulate(railscope, scenario, folder)?,
            Source::Driven { options, runs } => drive(railscope, options, *runs, folder)?,
            Source::Broken { options, ranks, data_bytes, fault } => {
                let job = BrokenJob::start(railscope, options, &folder.join("job"));
                job.break_it(*ranks, *data_bytes, *fault);
                ensure!(!job.wait(), "a broken job came to its end");
            }
        }
        if drawn.is_cut {
            cut(&folder.join("job"))?;
        }
        fs::write(&known, recipe).with_context(|| format!("write {}", known.display()))?;
    }
    let job = folder.join("job");
    let counters = job.join("counters.jsonl");
    Ok(Inputs {
        captures: files(&job, &["pcap", "pcapng"])?,
        logs: files(&job.join("logs"), &["log"])?,
        counters: counters.exists().then_some(counters),
    })
}

pub(crate) fn simulate(railscope: &Path, scenario: &str, folder: &Path) -> Result<()> {
    let path = folder.join("scenario.toml");
    fs::write(&path, scenario).with_context(|| format!("write {}", path.display()))?;
    let mut simulate = command(railscope);
    simulate.arg("simulate").arg(&path).arg("--out").arg(folder.join("job"));
    output_of(simulate).map(drop)
}

/// Runs a job `runs` times on the same hosts, with the same queue pair numbers, and joins the
/// captures of each port.
fn drive(railscope: &Path, options: &[String], runs: u32, folder: &Path) -> Result<()> {
    let run = |at: u32| folder.join(format!("run{at}"));
    for at in 0..runs {
        let mut drive = command(railscope);
        drive.arg("drive").args(options).arg("--record").arg(run(at));
        // Without a rank, the job gives up: its captures are what is wanted.
        if options.iter().any(|option| option == "--missing-rank") {
            let output = drive.output().context("start railscope drive")?;
            ensure!(!output.status.success(), "a job without a rank came up");
        } else {
            output_of(drive)?;
        }
    }
    let job = folder.join("job");
    if runs == 1 {
        return fs::rename(run(0), &job).with_context(|| format!("create {}", job.display()));
    }
    fs::create_dir_all(&job).with_context(|| format!("create {}", job.display()))?;
    for capture in files(&run(0), &["pcap"])? {
        let name = capture.file_name().context("a capture has a name")?;
        let mut merge = command("mergecap");
        merge.arg("-a").arg("-w").arg(job.join(name));
        merge.args((0..runs).map(|at| run(at).join(name)));
        output_of(merge)?;
    }
    Ok(())
}

/// Frames are cut at so many bytes: too short for the bootstrap to be read.
const CUT: u32 = 144;

/// Cuts all frames.
fn cut(job: &Path) -> Result<()> {
    for capture in files(job, &["pcapng"])? {
        pcapng::cut(&capture, CUT)?;
    }
    for capture in files(job, &["pcap"])? {
        let cut = capture.with_extension("cut");
        let mut editcap = command("editcap");
        editcap.args(["-s", &CUT.to_string()]).arg(&capture).arg(&cut);
        output_of(editcap)?;
        fs::rename(&cut, &capture).with_context(|| format!("replace {}", capture.display()))?;
    }
    Ok(())
}

/// Files with one of these extensions, in order of their names; none if there is no folder.
pub(crate) fn files(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry.context("list a folder")?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| extensions.contains(&extension)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Standard output of a command that must succeed.
pub(crate) fn output_of(mut command: Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}: {}", output.status, said.trim());
    Ok(output.stdout)
}
