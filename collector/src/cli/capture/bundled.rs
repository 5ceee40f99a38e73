//! `capture --bundle`: what was recorded is analysed, and put into one file with all that belongs to it.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Parser;
use tempfile::{NamedTempFile, TempPath};

use super::args::CaptureArgs;
use super::plan;
use crate::cli::analyze::{self, AnalyzeArgs};
use crate::cli::bundle::check_place;
use crate::cli::notice::notice;
use crate::ingest::log::{TextFile, expand};
use crate::record::beside::{Beside, Kept};

/// A recording that becomes a bundle.
pub(super) struct Bundling {
    out: PathBuf,
    recording: Recording,
    beside: Beside,
}

/// The file of frames.
enum Recording {
    /// The user wants it, too.
    Kept(PathBuf),
    /// It is removed once the bundle has it.
    Temporary(TempPath),
}

/// `railscope analyze`, for its options.
#[derive(Parser)]
struct Analyze {
    #[command(flatten)]
    args: AnalyzeArgs,
}

impl Bundling {
    /// Starts to read what belongs into the bundle beside the frames; `None` without `--bundle`.
    ///
    /// # Errors
    ///
    /// The options contradict each other, or the bundle's folder cannot be written.
    pub(super) fn start(args: &CaptureArgs) -> anyhow::Result<Option<Self>> {
        let Some(out) = args.bundle.bundle.clone() else { return Ok(None) };
        ensure!(
            !args.is_ring(),
            "--bundle is for a whole recording; of a ring, bundle what was saved:\n  \
             railscope analyze --bundle {} SAVED.pcapng",
            out.display()
        );
        check_place(&out)?;
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let recording = match &args.output {
            Some(output) if output == Path::new("-") => {
                bail!("--bundle reads the recording again: name a file with -o, or leave -o out")
            }
            Some(output) => Recording::Kept(output.clone()),
            None => {
                let mut name = tempfile::Builder::new();
                let file = name.prefix(".railscope-").suffix(".pcapng").tempfile_in(folder);
                let file =
                    file.with_context(|| format!("create a file in {}", folder.display()))?;
                Recording::Temporary(file.into_temp_path())
            }
        };
        let beside = Beside::start(folder, &plan::host())?;
        Ok(Some(Self { out, recording, beside }))
    }

    /// Where frames are recorded.
    pub(super) fn recording(&self) -> &Path {
        self.recording.path()
    }

    /// Analyses what was recorded, prints the report, and writes the bundle. Returns the exit code.
    ///
    /// # Errors
    ///
    /// When something cannot be read or written; the frames are kept then.
    pub(super) fn finish(self, args: &CaptureArgs) -> anyhow::Result<u8> {
        let Self { out, recording, beside } = self;
        let done = beside.finish().and_then(|kept| bundle(args, &out, recording.path(), &kept));
        if done.is_err() {
            recording.rescue();
        }
        done
    }

    /// Keeps the frames, as there will be no bundle.
    pub(super) fn rescue(self) {
        // Its file is removed.
        drop(self.beside.finish());
        self.recording.rescue();
    }
}

impl Recording {
    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(path) => path,
        }
    }

    /// Says where the frames are, if there are any.
    fn rescue(self) {
        let Self::Temporary(path) = self else { return };
        let has_frames = path.metadata().is_ok_and(|file| file.len() > 0);
        if let Some(path) = has_frames.then(|| path.keep().ok()).flatten() {
            notice(format!("the frames are in {}", path.display()));
        }
    }
}

fn bundle(args: &CaptureArgs, out: &Path, recording: &Path, kept: &Kept) -> anyhow::Result<u8> {
    kept.problems.iter().for_each(|problem| notice(format!("not in the bundle: {problem}")));
    let host = plan::host();
    let mut words: Vec<OsString> = ["analyze".into(), "--bundle".into(), out.into()].into();
    let logs = [
        ("--nccl-log", TextFile::Log, &args.bundle.nccl_log),
        ("--train-log", TextFile::TrainingLog, &args.bundle.train_log),
    ];
    for (option, kind, files) in logs {
        for file in files {
            // The recording counts for more than a log that is missing.
            match expand(kind, file) {
                Ok(found) if found.iter().all(|path| path.is_file()) => {
                    words.extend([option.into(), file.into()]);
                }
                Ok(_) => notice(format!("not in the bundle: {file}: there is no such file")),
                Err(error) => notice(format!("not in the bundle: {error:#}")),
            }
        }
    }
    let mut names = vec![(recording.to_owned(), format!("{host}.pcapng"))];
    if let Some(path) = &kept.counters {
        words.extend(["--counters".into(), path.as_os_str().to_owned()]);
        names.push((path.to_path_buf(), format!("{host}.counters.jsonl")));
    }
    let mut list = NamedTempFile::new().context("create a file for queue pairs")?;
    if !kept.queue_pairs.is_empty() {
        list.write_all(kept.queue_pairs.as_bytes()).context("write queue pairs")?;
        words.extend(["--nccl-log".into(), list.path().as_os_str().to_owned()]);
        names.push((list.path().to_owned(), format!("{host}.queue-pairs.txt")));
    }
    words.extend(["--".into(), recording.as_os_str().to_owned()]);
    let Analyze { mut args } = Analyze::try_parse_from(words)?;
    names.into_iter().for_each(|(path, name)| args.name(path, name));
    args.recognise()?;
    analyze::run(&args)
}
