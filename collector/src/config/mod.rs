//! The settings: one TOML file for the agent and for the commands that read captures. Every key is
//! optional. `collector.example.toml` has each key with its default and its purpose.
//!
//! Variables override the file, flags override both. Every command refuses a file with a mistake as a
//! whole and lists all mistakes: an agent with other settings than configured is worse than none.

pub mod environment;
pub mod reader;
pub mod setting;

mod counters;
mod findings;
mod header;
mod kubelet;
mod packets;
mod profiles;
mod prometheus;
mod ras;
mod record;
mod sflow;
mod sources;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use toml::de::DeValue;

pub use self::counters::CounterConfig;
pub use self::header::HeaderSource;
pub use self::kubelet::KubeletUrl;
pub use self::packets::TapConfig;
pub use self::profiles::ProfileConfig;
pub use self::prometheus::{PageName, PrometheusConfig};
pub use self::ras::RasConfig;
pub use self::record::RecordConfig;
pub use self::sflow::SflowConfig;
pub use self::sources::SourceConfig;
pub use self::values::{Settled, Values};

use self::reader::{Override, Problem, Reader};
use self::setting::Setting;
use railscope_core::analysis::finding::settings::Settings as FindingSettings;

/// All settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The host itself.
    pub host: HostConfig,
    /// Interfaces to capture.
    pub taps: TapConfig,
    /// Which sources run.
    pub sources: SourceConfig,
    /// NIC counters.
    pub counters: CounterConfig,
    /// NCCL's RAS.
    pub ras: RasConfig,
    /// Samples of switches.
    pub sflow: SflowConfig,
    /// Rings of NCCL's profiler plugin.
    pub profiles: ProfileConfig,
    /// How much history is kept.
    pub window: WindowConfig,
    /// The endpoint for Prometheus.
    pub prometheus: PrometheusConfig,
    /// Export by OTLP.
    pub otlp: OtlpConfig,
    /// The agent's own ring of frames.
    pub record: RecordConfig,
    /// Optional labels of metrics.
    pub labels: LabelConfig,
    /// Findings and expected properties of the job: `[findings]` and `[expect]`.
    pub findings: FindingSettings,
    /// Whether kernel programs log their losses. Not a key of the file: it is for finding the cause of
    /// losses, not for everyday use.
    pub logs_kernel_programs: bool,
}

/// The host itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Its name in reports and metrics; `None` for the kernel's host name.
    pub name: Option<String>,
    /// Its `/proc`, which a container mounts elsewhere.
    pub proc: PathBuf,
    /// Its `/sys`.
    pub sysfs: PathBuf,
    /// Its `/var/log`, where the kubelet keeps the logs of pods.
    pub logs: PathBuf,
    /// URL of the kubelet's read-only port; `None` if it is not to be asked.
    pub kubelet: Option<KubeletUrl>,
}

/// How much history is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowConfig {
    /// How far back findings and training steps look.
    pub length: Duration,
    /// NCCL messages kept for linking.
    pub messages: usize,
}

/// Export by OTLP.
#[derive(Clone, Debug, PartialEq)]
pub struct OtlpConfig {
    /// Whether to export, if there is an endpoint.
    pub enabled: bool,
    /// URL of the receiver; without one nothing is exported.
    pub endpoint: Option<String>,
    /// gRPC or HTTP with protobuf.
    pub protocol: OtlpProtocol,
    /// Headers of each request.
    pub headers: BTreeMap<String, HeaderSource>,
    /// Interval between exports of metrics.
    pub interval: Duration,
    /// Limit of the queue for a receiver that does not answer; beyond it the oldest items are dropped.
    pub queue: ByteSize,
    /// Share of collectives that are exported as traces.
    pub sampling: f64,
}

/// Protocol of the receiver; values as in OpenTelemetry's `OTEL_EXPORTER_OTLP_PROTOCOL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtlpProtocol {
    /// gRPC.
    Grpc,
    /// Protocol buffers over HTTP.
    HttpProtobuf,
}

/// Optional labels of metrics. Each multiplies the number of series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelConfig {
    /// Adds `nccl.rank` and `nccl.communicator.id` to metrics.
    pub rank: bool,
    /// The rank at the other end.
    pub peer: bool,
    /// NCCL's channel.
    pub channel: bool,
}

/// All mistakes in a file, flags and variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

/// Most mistakes shown: a file of another program has nothing but mistakes.
const MOST_SHOWN: usize = 100;

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> =
            self.0.iter().take(MOST_SHOWN).map(ToString::to_string).collect();
        if let Some(more) = self.0.len().checked_sub(MOST_SHOWN).filter(|more| *more > 0) {
            lines.push(format!("and {more} more"));
        }
        f.write_str(&lines.join("\n"))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            host: HostConfig {
                name: None,
                proc: "/proc".into(),
                sysfs: "/sys".into(),
                logs: "/var/log".into(),
                kubelet: None,
            },
            taps: TapConfig::default(),
            sources: SourceConfig::default(),
            counters: CounterConfig::default(),
            ras: RasConfig::default(),
            sflow: SflowConfig::default(),
            profiles: ProfileConfig::default(),
            window: WindowConfig { length: Duration::from_secs(300), messages: 1 << 17 },
            prometheus: PrometheusConfig::default(),
            otlp: OtlpConfig {
                enabled: true,
                endpoint: None,
                protocol: OtlpProtocol::Grpc,
                headers: BTreeMap::new(),
                interval: Duration::from_secs(10),
                queue: ByteSize(16 << 20),
                sampling: 1.0,
            },
            record: RecordConfig::default(),
            labels: LabelConfig::default(),
            findings: FindingSettings::default(),
            logs_kernel_programs: false,
        }
    }
}

/// Sections, in the order of the example.
const SECTIONS: [&str; 14] = [
    "host",
    "taps",
    "sources",
    "counters",
    "ras",
    "sflow",
    "profiles",
    "window",
    "prometheus",
    "otlp",
    "record",
    "labels",
    "findings",
    "expect",
];

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

impl Config {
    /// The settings of a file and of `overrides`, of which later ones win; `findings` are the names of
    /// all findings.
    ///
    /// # Errors
    ///
    /// All mistakes.
    pub fn read<'n>(
        text: &str,
        overrides: &[Override],
        findings: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<Self, Problems> {
        Self::settle(text, overrides, findings).map(|settled| settled.config)
    }

    /// The same, with the value of each key.
    ///
    /// # Errors
    ///
    /// All mistakes.
    pub fn settle<'n>(
        text: &str,
        overrides: &[Override],
        findings: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<Settled, Problems> {
        let mut all = Self::default();
        let mut reader = Reader::new(text, overrides);
        reader.section("host", |section| {
            section.key("name", &mut all.host.name);
            section.key("proc", &mut all.host.proc);
            section.key("sysfs", &mut all.host.sysfs);
            section.key("logs", &mut all.host.logs);
            section.key("kubelet", &mut all.host.kubelet);
        });
        all.taps.read(&mut reader);
        all.sources.read(&mut reader);
        all.counters.read(&mut reader);
        all.ras.read(&mut reader);
        all.sflow.read(&mut reader);
        all.profiles.read(&mut reader);
        reader.section("window", |section| {
            section.within("length", &mut all.window.length, SECOND..=24 * HOUR);
            section.within("messages", &mut all.window.messages, 1_000..=100_000_000);
        });
        all.prometheus.read(&mut reader);
        reader.section("otlp", |section| {
            section.key("enabled", &mut all.otlp.enabled);
            let wanted = "a URL, such as \"http://127.0.0.1:4317\"";
            let is_url = |url: &Option<String>| {
                let rest = url.as_deref().and_then(|url| {
                    url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))
                });
                rest.is_some_and(|rest| !rest.is_empty())
            };
            if cfg!(feature = "otlp") || !all.otlp.enabled {
                section.checked("endpoint", &mut all.otlp.endpoint, wanted, is_url);
            } else {
                section.not_built("endpoint", "otlp");
            }
            section.key("protocol", &mut all.otlp.protocol);
            section.key("headers", &mut all.otlp.headers);
            section.within("interval", &mut all.otlp.interval, 100 * MILLISECOND..=HOUR);
            let sizes = ByteSize(64 << 10)..=ByteSize(16 << 30);
            section.within("queue", &mut all.otlp.queue, sizes);
            section.within("sampling", &mut all.otlp.sampling, 0.0..=1.0);
        });
        all.record.read(&mut reader);
        reader.section("labels", |section| {
            section.key("rank", &mut all.labels.rank);
            section.key("peer", &mut all.labels.peer);
            section.key("channel", &mut all.labels.channel);
        });
        findings::read(&mut reader, &mut all.findings, findings);
        reader.note("findings".to_owned(), &all.findings.findings);
        reader.note("expect".to_owned(), &all.findings.expect);
        let values = reader.take_values();
        let problems = reader.finish(&SECTIONS);
        if problems.is_empty() {
            Ok(Settled { config: all, values })
        } else {
            Err(Problems(problems))
        }
    }
}

impl Setting for OtlpProtocol {
    const WANTED: &'static str = "\"grpc\" or \"http/protobuf\"";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        match value.as_str()? {
            "grpc" => Some(Self::Grpc),
            "http/protobuf" => Some(Self::HttpProtobuf),
            _ => None,
        }
    }
}
