//! `--config` and `--rails`: TOML files, read whole and refused where they make no sense.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use serde::de::DeserializeOwned;

use railscope_core::analysis::finding::catalog;
use railscope_core::analysis::finding::settings;
use railscope_core::link::rail::RailMap;
use railscope_core::pipeline::Settings;
use railscope_core::report::Report;

/// The options, as typed.
#[derive(Args)]
pub(super) struct ConfigArgs {
    /// TOML file: findings to suppress, thresholds, what is expected of the job; see `railscope
    /// findings --config-example`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// TOML file that says which rail a port is on: `[rails] 0 = ["mlx5_0", "10.0.0.0/24"]`; else rails
    /// are taken from device names or subnets where all hosts agree
    #[arg(long, value_name = "FILE")]
    rails: Option<PathBuf>,
}

/// How bad a finding must be for exit code 1.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    Info,
    Warning,
    Critical,
}

impl FailOn {
    /// 1 where the report has a finding that is this bad, or worse; else 0.
    pub(super) fn exit_code(wanted: Option<Self>, report: &Report) -> u8 {
        let severities: &[&str] = match wanted {
            None => &[],
            Some(Self::Info) => &["info", "warning", "critical"],
            Some(Self::Warning) => &["warning", "critical"],
            Some(Self::Critical) => &["critical"],
        };
        u8::from(report.findings.iter().any(|finding| severities.contains(&finding.severity)))
    }
}

impl ConfigArgs {
    /// The settings.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or makes no sense.
    pub(super) fn read(&self) -> anyhow::Result<Settings> {
        let mut settings = Settings::default();
        if let Some(path) = &self.config {
            let findings: settings::Settings = read(path)?;
            findings.check(catalog::names()).map_err(|problem| wrong(path, &problem))?;
            settings.findings = findings;
        }
        if let Some(path) = &self.rails {
            let map: RailMap = read(path)?;
            map.check().map_err(|problem| wrong(path, &problem))?;
            settings.rails = Some(map);
        }
        Ok(settings)
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    toml::from_str(&text).map_err(|problem| wrong(path, problem.to_string().trim_end()))
}

fn wrong(path: &Path, problem: &str) -> anyhow::Error {
    anyhow!("{}: {problem}", path.display())
}
