//! Inputs of a report and how to read them, shared by `analyze` and `explain`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser};

use super::analysis::{Analysis, MessageFile};
use super::bundle;
use super::call_record_input::{CallRecordArgs, CallRecords};
use super::config::ConfigArgs;
use super::counter_input::{CounterArgs, CounterFiles};
use super::input::{Input, InputArgs};
use super::label_input::{LabelArgs, Labels};
use super::log_input::{LogArgs, Logs};
use super::partial;
use super::recognise::{self, InputKind};
use crate::bundle::manifest::Role;
use crate::bundle::read::Member;
use crate::ingest::log::{TextFile, expand};
use crate::part::Parts;
use crate::units;
use railscope_core::analysis::understanding::Understanding;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::pipeline::{Analysed, MESSAGE_CAPACITY, Pipeline, PipelineConfig, Settings};
use railscope_core::report::ReportContext;

/// Default of `--max-flows`.
const FLOW_CAPACITY: u32 = 262_144;

/// The options, as typed.
#[derive(Args)]
// Logs and counters may stand alone; `packets` needs captures.
#[command(mut_arg("files", |files| files.required(false)))]
pub(super) struct SourceArgs {
    /// Line rate of every port (400G, 25Gb/s), needed for bursts and pause times [default: the speed
    /// in the pcapng file, if it has one]
    #[arg(long, value_name = "RATE", value_parser = units::line_rate)]
    line_rate: Option<u64>,
    /// Threads that read several captures, or several interfaces of one that is not compressed; the
    /// report is the same for any number [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Flows of a capture, or of one interface read apart, tracked at once; beyond that the least
    /// recently active are evicted and counted
    #[arg(long, value_name = "N", default_value_t = FLOW_CAPACITY,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_flows: u32,
    /// NCCL messages kept to find ranks and collectives; later ones are only counted
    #[arg(long, value_name = "N", default_value_t = MESSAGE_CAPACITY)]
    max_messages: u32,
    #[command(flatten)]
    logs: LogArgs,
    #[command(flatten)]
    labels: LabelArgs,
    #[command(flatten)]
    counters: CounterArgs,
    #[command(flatten)]
    records: CallRecordArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// Files of bundles: they are gone when this is.
    #[arg(skip)]
    members: Vec<Member>,
    /// The bundles themselves.
    #[arg(skip)]
    bundles: Vec<PathBuf>,
    /// Captures that were reduced before.
    #[arg(skip)]
    parts: Vec<PathBuf>,
    // Last: its heading holds for all options that follow.
    #[command(flatten)]
    input: InputArgs,
}

/// The usual limits, with the recovery episodes of every flow.
pub(super) fn detailed() -> FlowConfig {
    FlowConfig { flow_capacity: FLOW_CAPACITY as usize, line_rate_bps: None, keeps_details: true }
}

/// A pipeline for captures, with the usual limits.
pub(super) fn capture_pipeline() -> Pipeline {
    let message_capacity = Some(MESSAGE_CAPACITY as usize);
    Pipeline::new(PipelineConfig { flow: detailed(), message_capacity })
}

/// A pipeline for live traffic, with the usual limits.
pub(super) fn live_pipeline(line_rate_bps: Option<u64>, hang_after: Option<Duration>) -> Pipeline {
    let flow =
        FlowConfig { flow_capacity: FLOW_CAPACITY as usize, line_rate_bps, keeps_details: false };
    let message_capacity = Some(MESSAGE_CAPACITY as usize);
    let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity });
    let mut settings = Settings::default();
    settings.findings.findings.hang_after_s = hang_after.map(|time| time.as_secs_f64());
    pipeline.configure(settings);
    pipeline
}

/// Sources that could be opened.
pub(super) struct Sources<'a> {
    args: &'a SourceArgs,
    settings: Settings,
    input: Input<'a>,
    parts: Option<Parts>,
    logs: Logs,
    labels: Labels,
    counters: CounterFiles,
    records: CallRecords,
}

/// Detail of a report.
#[derive(Clone, Copy)]
pub(super) struct Depth {
    /// Whether to find ranks and collectives.
    pub(super) links: bool,
    /// Whether to keep single recovery episodes and messages.
    pub(super) keeps_details: bool,
}

/// A command line of sources alone.
#[derive(clap::Parser)]
struct Only {
    #[command(flatten)]
    sources: SourceArgs,
}

impl SourceArgs {
    /// Files, without options.
    pub(super) fn of(files: &[PathBuf]) -> Self {
        let nothing = [OsString::new()];
        // The defaults are fixed and valid.
        let mut sources = Only::parse_from(nothing).sources;
        sources.input.files = files.to_vec();
        sources
    }

    /// Takes each file for what its content is; unpacks bundles.
    ///
    /// # Errors
    ///
    /// When a bundle or a part cannot be read.
    pub(super) fn recognise(&mut self) -> anyhow::Result<()> {
        for file in std::mem::take(&mut self.input.files) {
            match (recognise::kind(&file), file.to_str()) {
                (InputKind::Bundle, _) => self.unpack(&file)?,
                (InputKind::Part, _) => self.parts.push(file),
                (InputKind::Log, Some(name)) => self.logs.add(name),
                (InputKind::Counters, Some(name)) => self.counters.add(name),
                (InputKind::Dump, Some(name)) => self.records.add_dump(name),
                (InputKind::RasStatus, Some(name)) => self.records.add_status(name),
                (InputKind::Profile, _) => self.records.add_profile(file),
                _ => self.input.files.push(file),
            }
        }
        if let Some(part) = self.parts.first() {
            let options = partial::options(part)?;
            self.complete_limits(|name| options.get(name).cloned());
        }
        Ok(())
    }

    /// Calls a file otherwise in the report.
    pub(super) fn name(&mut self, path: PathBuf, name: String) {
        self.input.names.add(path, name);
    }

    /// Takes what is in a bundle, each as what it was, and its options where none are given.
    fn unpack(&mut self, path: &Path) -> anyhow::Result<()> {
        let bundle = bundle::unpack(path)?;
        self.bundles.push(path.to_owned());
        for member in bundle.members {
            let opened = member.path();
            let name = self.name_of(&member.entry.name, path);
            self.input.names.add(opened.clone(), name);
            let text = opened.to_string_lossy();
            match member.entry.role {
                Role::Capture => self.input.files.push(opened.clone()),
                Role::NcclLog => self.logs.add(&text),
                Role::TrainLog => self.labels.add(&text),
                Role::Counters => self.counters.add(&text),
                Role::FlightRecorder => self.records.add_dump(&text),
                Role::Ras => self.records.add_status(&text),
                Role::Profile => self.records.add_profile(opened.clone()),
                Role::Config => self.config.complete_config(&opened),
                Role::Rails => self.config.complete_rails(&opened),
                Role::Report | Role::Unknown => {}
            }
            self.members.push(member);
        }
        let option_of = |name: &str| bundle.manifest.options.get(name).cloned();
        self.labels.complete(option_of);
        self.config.complete_set(option_of("set"));
        self.complete_limits(option_of);
        Ok(())
    }

    /// Sets what says how captures are read, as it was before, where nothing is given.
    fn complete_limits(&mut self, option_of: impl Fn(&str) -> Option<String> + Copy) {
        self.input.time.complete(option_of);
        let number = |name: &str| option_of(name)?.parse().ok();
        self.line_rate = self.line_rate.or_else(|| option_of("line_rate_bps")?.parse().ok());
        if self.max_flows == FLOW_CAPACITY {
            self.max_flows =
                number("max_flows").filter(|flows| *flows > 0).unwrap_or(FLOW_CAPACITY);
        }
        if self.max_messages == MESSAGE_CAPACITY {
            self.max_messages = number("max_messages").unwrap_or(MESSAGE_CAPACITY);
        }
    }

    /// The name of a bundle's file; if another bundle has one of the same name, the bundle's name precedes it.
    fn name_of(&self, name: &str, bundle: &Path) -> String {
        if self.input.names.all().any(|other| other == name) {
            return format!("{}:{name}", bundle.display());
        }
        name.to_owned()
    }

    /// Every file with what it is, for a bundle.
    ///
    /// # Errors
    ///
    /// When a pattern matches no file.
    pub(super) fn given(&self) -> anyhow::Result<Vec<(Role, PathBuf, String)>> {
        let mut all = Vec::new();
        let mut add = |role: Role, path: PathBuf| {
            let name = self.input.names.of(&path).into_owned();
            all.push((role, path, name));
        };
        self.input.files.iter().for_each(|file| add(Role::Capture, file.clone()));
        self.records.profiles().iter().for_each(|file| add(Role::Profile, file.clone()));
        let [dumps, statuses] = self.records.patterns();
        for (role, kind, patterns) in [
            (Role::NcclLog, TextFile::Log, self.logs.patterns()),
            (Role::TrainLog, TextFile::TrainingLog, self.labels.patterns()),
            (Role::Counters, TextFile::Counters, self.counters.patterns()),
            (Role::FlightRecorder, TextFile::Dump, dumps),
            (Role::Ras, TextFile::RasStatus, statuses),
        ] {
            for pattern in patterns {
                expand(kind, pattern)?.into_iter().for_each(|path| add(role, path));
            }
        }
        Ok(all)
    }

    /// The bundles among the sources.
    pub(super) fn bundles(&self) -> &[PathBuf] {
        &self.bundles
    }

    /// The settings.
    pub(super) const fn config(&self) -> &ConfigArgs {
        &self.config
    }

    /// Options of a bundle that are not in the report.
    pub(super) fn label_options(&self) -> impl Iterator<Item = (String, String)> {
        self.labels.options()
    }

    /// Opens every file.
    ///
    /// # Errors
    ///
    /// When no file was given, or one cannot be opened, was given twice or is not valid.
    pub(super) fn open(&self) -> anyhow::Result<Sources<'_>> {
        anyhow::ensure!(
            !self.input.files.is_empty()
                || !self.parts.is_empty()
                || self.logs.is_given()
                || (self.labels.is_given() && !self.members.is_empty())
                || self.counters.is_given()
                || self.records.is_given(),
            "no input: name captures, logs, counters, dumps or RAS answers (FILE...)"
        );
        anyhow::ensure!(
            self.input.files.is_empty() || self.parts.is_empty(),
            "parts and captures cannot be judged together: reduce {} with --partial, too",
            self.input.files.first().map(|file| file.to_string_lossy()).unwrap_or_default()
        );
        let parts = (!self.parts.is_empty()).then(|| partial::open(&self.parts, self.options()));
        Ok(Sources {
            args: self,
            settings: self.config.read()?,
            input: Input::open(&self.input)?,
            parts: parts.transpose()?,
            logs: self.logs.open(&self.input.names)?,
            labels: self.labels.open(&self.input.names)?,
            counters: self.counters.open(&self.input.names)?,
            records: self.records.open(&self.input.names)?,
        })
    }

    /// Opens the captures, where nothing else was given.
    ///
    /// # Errors
    ///
    /// When a capture cannot be opened, there is none, or there is something else.
    pub(super) fn only_captures(&self) -> anyhow::Result<Input<'_>> {
        anyhow::ensure!(
            self.parts.is_empty() && self.bundles.is_empty(),
            "--partial reduces captures: name them, not parts or bundles"
        );
        anyhow::ensure!(
            !(self.logs.is_given()
                || self.labels.is_given()
                || self.counters.is_given()
                || self.records.is_given()),
            "--partial reduces captures only: give logs, counters and records when the parts are judged"
        );
        anyhow::ensure!(!self.input.files.is_empty(), "--partial needs captures (FILE...)");
        anyhow::ensure!(
            !self.input.time.is_relative(),
            "--partial needs --since and --until as dates: the first frame of each host is another one"
        );
        Input::open(&self.input)
    }

    /// A pipeline for the captures, which links them.
    pub(super) fn pipeline(&self) -> Pipeline {
        let message_capacity = Some(self.max_messages as usize);
        Pipeline::new(PipelineConfig { flow: self.flow_config(false), message_capacity })
    }

    /// Whether there are parts instead of captures.
    pub(super) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Threads that read captures, if that was said.
    pub(super) const fn threads(&self) -> Option<NonZeroUsize> {
        self.threads
    }

    /// The captures.
    pub(super) const fn input(&self) -> &InputArgs {
        &self.input
    }

    /// How flows are followed in them.
    pub(super) fn flow_config(&self, keeps_details: bool) -> FlowConfig {
        FlowConfig {
            flow_capacity: self.max_flows as usize,
            line_rate_bps: self.line_rate,
            keeps_details,
        }
    }

    /// Whether `path` is one of the captures.
    pub(super) fn names(&self, path: &Path) -> bool {
        self.input.names(path)
    }

    /// The options that change the report, to be listed in it.
    pub(super) fn options(&self) -> impl Iterator<Item = (String, String)> {
        let limits = [
            Some(("max_flows", u64::from(self.max_flows))),
            Some(("max_messages", u64::from(self.max_messages))),
            self.line_rate.map(|rate| ("line_rate_bps", rate)),
        ];
        let limits = limits.into_iter().flatten();
        let limits = limits.map(|(name, value)| (name.to_owned(), value.to_string()));
        limits.chain(self.input.time.options())
    }
}

impl<'a> Sources<'a> {
    /// Reads and analyses everything. Completed messages are written to the file.
    ///
    /// # Errors
    ///
    /// When the message file cannot be written.
    pub(super) fn analyse(
        self,
        depth: Depth,
        messages: Option<MessageFile>,
        context: ReportContext,
    ) -> anyhow::Result<Analysed> {
        let (analysis, input, threads) = self.begin(depth, messages);
        analysis.run(input, threads, context)
    }

    /// The same without a report: what it is to be made from.
    ///
    /// # Errors
    ///
    /// When the message file cannot be written.
    pub(super) fn understand(
        self,
        depth: Depth,
        messages: Option<MessageFile>,
        context: ReportContext,
    ) -> anyhow::Result<(Understanding, ReportContext)> {
        let (analysis, input, threads) = self.begin(depth, messages);
        analysis.understand(input, threads, context)
    }

    /// Reads all but captures.
    fn begin(
        self,
        depth: Depth,
        messages: Option<MessageFile>,
    ) -> (Analysis, (Input<'a>, Option<Parts>), Option<NonZeroUsize>) {
        let flow = self.args.flow_config(depth.keeps_details);
        let message_capacity = depth.links.then_some(self.args.max_messages as usize);
        let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity });
        pipeline.configure(self.settings);
        self.logs.read(&mut pipeline);
        self.labels.read(&mut pipeline);
        self.counters.read(&mut pipeline);
        self.records.read(&mut pipeline);
        (Analysis::new(pipeline, messages), (self.input, self.parts), self.args.threads)
    }
}
