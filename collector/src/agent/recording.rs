//! The agent's own ring of frames, beside its sources: it keeps what the analysis only counts.

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use nix::unistd::{AccessFlags, access};

use super::own::BUILD;
use super::source::packets::interfaces;
use crate::config::{Config, RecordConfig, TapConfig};
use crate::ingest::af_packet::{AfPacket, AfPacketConfig};
use crate::ingest::capability::{Capability, Host, Verdict};
use crate::ingest::line_rate;
use crate::record::control::ControlServer;
use crate::record::description;
use crate::record::file_names::FileNames;
use crate::record::recorder::{Place, RecordPlan, Recorder};
use crate::record::saver::{Limit, SaveCounts, SavePolicy, Saver};
use crate::record::snap::SnapLen;
use railscope_core::metrics::own::RecordFigures;
use railscope_core::model::tap::Tap;
use railscope_core::pipeline::Analysed;

/// Room for frames in the kernel: of all interfaces, and of one at most.
const RINGS_MEBIBYTES: usize = 64;
const RING_MEBIBYTES: usize = 16;

/// Time between two attempts to record.
const TRY_AGAIN: Duration = Duration::from_secs(30);

/// The ring, if it is wanted, also while it cannot be had.
pub(super) struct Recording {
    settings: RecordConfig,
    taps: TapConfig,
    host: String,
    running: Option<Saver>,
    /// What was counted by those that have ended.
    before: RecordFigures,
    /// Why it does not run, as the user knows.
    problem: Option<String>,
    tried: Instant,
}

impl Recording {
    /// Starts it; `None` if it is not wanted. What is missing is said, and tried again.
    pub(super) fn open(config: &Config, host: &str, say: &mut dyn FnMut(String)) -> Option<Self> {
        if !config.record.enabled {
            return None;
        }
        let mut taps = config.taps.clone();
        if !config.sources.packets {
            taps.mirrors.clear();
        }
        let mut recording = Self {
            settings: config.record.clone(),
            taps,
            host: host.to_owned(),
            running: None,
            before: RecordFigures::default(),
            problem: None,
            tried: now(),
        };
        recording.start(say);
        Some(recording)
    }

    fn start(&mut self, say: &mut dyn FnMut(String)) {
        self.tried = now();
        match self.record() {
            Ok((saver, names)) => {
                self.running = Some(saver);
                self.problem = None;
                let (keep, folder) = (self.settings.keep, self.settings.folder.display());
                let keep = humantime::format_duration(keep);
                say(format!("record: {names}, the last {keep}; saved to {folder}"));
            }
            Err(error) => {
                let problem = format!("{error:#}");
                if self.problem.as_ref() != Some(&problem) {
                    let every = TRY_AGAIN.as_secs();
                    say(format!("record: {problem}; trying again every {every} s"));
                }
                self.problem = Some(problem);
            }
        }
    }

    /// The recording, and the interfaces in words.
    fn record(&self) -> anyhow::Result<(Saver, String)> {
        let (interfaces, mirrors) = interfaces(&self.taps)?;
        let mut names = interfaces.join(", ");
        if !mirrors.is_empty() {
            names += &format!(", without {} (taps.mirrors)", mirrors.join(", "));
        }
        let settings = &self.settings;
        for folder in [&settings.ring, &settings.folder] {
            let mut builder = DirBuilder::new();
            let created = builder.recursive(true).mode(0o700).create(folder);
            created.with_context(|| format!("create {}", folder.display()))?;
        }
        let snap = SnapLen::Auto;
        let [roce_bytes, other_bytes] = snap.in_kernel();
        let ring_mebibytes = (RINGS_MEBIBYTES / interfaces.len().max(1)).clamp(1, RING_MEBIBYTES);
        let source = AfPacket::open(&AfPacketConfig {
            interfaces,
            namespace: None,
            promiscuous: false,
            roce_bytes,
            other_bytes,
            ring_mebibytes,
        })?;
        let described = |tap: Tap| {
            let line_rate_bps = tap.interface.as_deref().and_then(line_rate::of);
            description::tap(tap, &self.host, line_rate_bps)
        };
        let plan = RecordPlan {
            taps: source.taps().into_iter().map(described).collect(),
            source: Box::new(source),
            snap,
            filter: None,
            place: Place::Ring {
                folder: settings.ring.clone(),
                keep: settings.keep,
                bytes: settings.size.0,
            },
            section: description::section(&self.host, format!("railscope {}", BUILD.version)),
            // The agent analyses anyway.
            is_analysed: false,
        };
        let server = ControlServer::listen(&settings.socket);
        let server = server.with_context(|| format!("listen at {}", settings.socket.display()))?;
        let policy = SavePolicy {
            triggers: settings.on.clone(),
            after: settings.after,
            names: FileNames {
                output: settings.folder.clone(),
                host: self.host.clone(),
                is_compressed: true,
            },
            limit: Limit::Files { most: settings.files, pause: settings.keep },
        };
        let (recorder, _) = Recorder::start(plan)?;
        Ok((Saver::new(recorder, policy, Some(server)), names))
    }

    /// One round of the agent.
    pub(super) fn look(&mut self, say: &mut dyn FnMut(String)) {
        let Some(saver) = &mut self.running else {
            if self.tried.elapsed() >= TRY_AGAIN {
                self.start(say);
            }
            return;
        };
        saver.look();
        notice(saver.news(), say);
        if saver.has_ended() {
            self.end(say);
            self.tried = now();
        }
    }

    /// Saves if the analysis has what a trigger waits for.
    pub(super) fn judge(&mut self, analysed: &Analysed, say: &mut dyn FnMut(String)) {
        if let Some(saver) = &mut self.running {
            saver.judge(analysed);
            notice(saver.news(), say);
        }
    }

    /// What was counted since the agent started.
    pub(super) fn figures(&self) -> RecordFigures {
        match &self.running {
            None => self.before,
            Some(saver) => {
                let tally = saver.tally();
                let mut all = sum(self.before, saver);
                all.ring_bytes = tally.disk_bytes.get();
                all.ring_ns = tally.span_ns();
                all
            }
        }
    }

    /// Ends it: a save that has begun is written.
    pub(super) fn end(&mut self, say: &mut dyn FnMut(String)) {
        let Some(saver) = self.running.take() else { return };
        self.before = sum(self.before, &saver);
        let ended = saver.finish(Vec::new());
        notice(ended.news, say);
        if let Err(error) = ended.result {
            say(format!("record: {error:#}"));
        }
    }
}

/// The same counts, and those of a recording.
fn sum(before: RecordFigures, saver: &Saver) -> RecordFigures {
    let (tally, SaveCounts { saved, failed, refused, .. }) = (saver.tally(), saver.counts());
    RecordFigures {
        frames: before.frames + tally.frames.get(),
        kernel_lost: before.kernel_lost + tally.kernel_lost.get(),
        disk_lost: before.disk_lost + tally.queue_lost.get(),
        crowded_out: before.crowded_out + tally.crowded_out.get(),
        saved: before.saved + u64::from(saved),
        failed: before.failed + u64::from(failed),
        refused: before.refused + u64::from(refused),
        ..RecordFigures::default()
    }
}

fn notice(news: Vec<String>, say: &mut dyn FnMut(String)) {
    news.into_iter().for_each(|text| say(format!("record: {text}")));
}

/// Whether it can run on this host; `None` if it is not wanted.
#[must_use]
pub fn verdict(config: &Config, host: &Host) -> Option<Verdict> {
    let mut verdict = Verdict::new("frames to record");
    verdict.needs(host, Capability::NetRaw, "to see others' packets");
    config.record.enabled.then_some(verdict)
}

/// Why the settings cannot work here. Creates nothing.
#[must_use]
pub fn problems(config: &Config, host: &Host) -> Vec<String> {
    let Some(verdict) = verdict(config, host) else { return Vec::new() };
    let RecordConfig { ring, folder, socket, .. } = &config.record;
    let parent = socket.parent().unwrap_or(socket);
    let folders = [("ring", ring.as_path()), ("folder", folder), ("socket", parent)];
    let unusable = folders.into_iter().filter_map(|(key, folder)| {
        let why = unusable(folder)?;
        Some(format!("record.{key}: {why}"))
    });
    let blind = (!verdict.runs()).then(|| format!("record.enabled: {verdict}"));
    unusable.chain(blind).collect()
}

/// Why a folder can neither be written nor created.
fn unusable(folder: &Path) -> Option<String> {
    let there = folder.ancestors().find(|path| path.exists())?;
    let name = there.display();
    if !there.is_dir() {
        return Some(format!("{name} is no folder"));
    }
    let error = access(there, AccessFlags::W_OK | AccessFlags::X_OK).err()?;
    Some(format!("{name} cannot be written: {}", error.desc()))
}

/// The interfaces that the settings name, and mirror ports among them, which cannot be recorded.
fn interfaces(taps: &TapConfig) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let there = interfaces::ethernet().context("list interfaces")?;
    let matching = |pattern| interfaces::matching(pattern, &taps.exclude, &there);
    let names: BTreeSet<String> = taps.interfaces.iter().flat_map(matching).collect();
    ensure!(!names.is_empty(), "no interface matches taps.interfaces");
    // Packet sockets see no copy where the driver drops them.
    let is_mirror = |name: &String| taps.mirrors.iter().any(|pattern| pattern.matches(name));
    let (mirrors, names): (Vec<_>, Vec<_>) = names.into_iter().partition(is_mirror);
    let why = "is a mirror port, where the driver drops what would be recorded (taps.mirrors)";
    ensure!(!names.is_empty(), "{} {why}", mirrors.join(", "));
    Ok((names, mirrors))
}

#[expect(clippy::disallowed_methods, reason = "a recording that ended is started again")]
fn now() -> Instant {
    Instant::now()
}
