//! `--flight-recorder` and `--ras`: reads what processes recorded of their own calls into a pipeline, and
//! prints problems to standard error.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;

use super::given::Names;
use super::input::warn;
use super::profile_input as profile;
use super::progress::InputProgress;
use crate::ingest::log::{TextFile, expand};
use crate::ingest::whole_file;
use railscope_core::analysis::roll_call::RankDump;
use railscope_core::decode::flight_recorder::Dump;
use railscope_core::decode::ras::RasStatus;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::Pipeline;

/// The options, as typed.
#[derive(Args)]
pub(super) struct CallRecordArgs {
    /// Dumps of PyTorch's flight recorder (TORCH_FR_BUFFER_SIZE), one a rank, pickle or JSON; the name ends
    /// in the rank, as PyTorch writes it; a quoted pattern matches several files; may be repeated
    #[arg(long, value_name = "FILE")]
    flight_recorder: Vec<String>,
    /// Status of NCCL's RAS (`ncclras -f json -v`), JSON or text; two of them, at least 10 s apart, show
    /// what no longer moves; may be repeated, text with the oldest first
    #[arg(long, value_name = "FILE")]
    ras: Vec<String>,
    /// Files of NCCL's profiler plugin: files of a command line are recognised.
    #[arg(skip)]
    profiles: Vec<PathBuf>,
}

/// Files that exist.
pub(super) struct CallRecords {
    dumps: Vec<(u32, PathBuf)>,
    statuses: Vec<PathBuf>,
    profiles: Vec<PathBuf>,
    names: Names,
}

impl CallRecordArgs {
    /// Adds a dump.
    pub(super) fn add_dump(&mut self, file: &str) {
        self.flight_recorder.push(file.to_owned());
    }

    /// Adds an answer of RAS.
    pub(super) fn add_status(&mut self, file: &str) {
        self.ras.push(file.to_owned());
    }

    /// Adds a file of NCCL's profiler plugin.
    pub(super) fn add_profile(&mut self, file: PathBuf) {
        self.profiles.push(file);
    }

    pub(super) fn is_given(&self) -> bool {
        !self.flight_recorder.is_empty() || !self.ras.is_empty() || !self.profiles.is_empty()
    }

    /// Finds every file.
    ///
    /// # Errors
    ///
    /// When a file does not exist, a pattern matches none, or the name of a dump has no rank.
    pub(super) fn open(&self, names: &Names) -> anyhow::Result<CallRecords> {
        let mut dumps: Vec<(u32, PathBuf)> = Vec::new();
        for path in existing(TextFile::Dump, &self.flight_recorder)? {
            let rank = rank(Path::new(&*names.of(&path))).with_context(|| {
                format!("dump {}: its name does not end in a rank, as in trace_3", names.of(&path))
            })?;
            if let Some((_, other)) = dumps.iter().find(|(known, _)| *known == rank) {
                anyhow::bail!(
                    "{} and {} are both dumps of rank {rank}: name one",
                    other.display(),
                    path.display()
                );
            }
            dumps.push((rank, path));
        }
        dumps.sort();
        let statuses = existing(TextFile::RasStatus, &self.ras)?;
        let profiles = self.profiles.clone();
        Ok(CallRecords { dumps, statuses, profiles, names: names.clone() })
    }

    /// Dumps and answers of RAS, as typed.
    pub(super) fn patterns(&self) -> [&[String]; 2] {
        [&self.flight_recorder, &self.ras]
    }

    /// Files of NCCL's profiler plugin.
    pub(super) fn profiles(&self) -> &[PathBuf] {
        &self.profiles
    }
}

fn existing(kind: TextFile, patterns: &[String]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for pattern in patterns {
        for path in expand(kind, pattern)? {
            ensure!(path.is_file(), "open {kind} {}: there is no such file", path.display());
            files.push(path);
        }
    }
    Ok(files)
}

/// The number at the end of a file's name, before extensions.
fn rank(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let stem = name.split('.').next()?;
    let digits = stem.len() - stem.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    stem[stem.len() - digits..].parse().ok()
}

impl CallRecords {
    /// Reads every file.
    pub(super) fn read(self, pipeline: &mut Pipeline) {
        for (rank, path) in self.dumps {
            let read = whole_file::read(&path);
            let written = whole_file::written_ns(&path).map(Timestamp::from_nanos);
            let file = self.names.of(&path).into_owned();
            let dump = read.map_err(text).and_then(|bytes| Dump::parse(&bytes).map_err(text));
            match dump {
                Ok(dump) => pipeline.add_dump(RankDump { file, rank, written, dump }),
                Err(why) => refuse(file, Some(rank), why, pipeline),
            }
        }
        for path in self.profiles {
            let file = self.names.of(&path).into_owned();
            match profile::read(&path, file.clone()) {
                Ok(records) => {
                    if let Err(known) = pipeline.add_proxy_records(records) {
                        let why = format!("it holds the same records as {known}, which count once");
                        refuse_profile(file, why, pipeline);
                    }
                }
                Err(why) => refuse_profile(file, why, pipeline),
            }
        }
        let mut statuses = Vec::new();
        for path in self.statuses {
            let file = self.names.of(&path).into_owned();
            let read = whole_file::read(&path).map_err(text);
            match read.and_then(|bytes| RasStatus::parse(&bytes).map_err(text)) {
                Ok(status) => statuses.push((file, status)),
                Err(why) => refuse(file, None, why, pipeline),
            }
        }
        // Only JSON says when it was taken, as `2026-11-25 10:00:15`; the rest is in the order given.
        if statuses.iter().all(|(_, status)| status.taken.is_some()) {
            statuses.sort_by(|(_, one), (_, other)| one.taken.cmp(&other.taken));
        }
        for (file, status) in statuses {
            pipeline.add_ras_status(file, status);
        }
    }
}

fn text(problem: impl Display) -> String {
    problem.to_string()
}

fn refuse_profile(file: String, why: String, pipeline: &mut Pipeline) {
    warn(&InputProgress::hidden(), &format!("{file}: {why}"));
    pipeline.add_unread_profile(file, why);
}

fn refuse(file: String, rank: Option<u32>, why: String, pipeline: &mut Pipeline) {
    warn(&InputProgress::hidden(), &format!("{file}: {why}"));
    pipeline.add_unread_record(file, rank, why);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_in_names() {
        for (name, expected) in [
            ("trace_3", Some(3)),
            ("/tmp/nccl_trace_rank_12", Some(12)),
            ("trace_7.json", Some(7)),
            ("trace_0.pickle.gz", Some(0)),
            ("trace", None),
        ] {
            assert_eq!(rank(Path::new(name)), expected, "{name}");
        }
    }
}
