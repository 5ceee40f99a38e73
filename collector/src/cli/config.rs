//! `--config` and `--rails`: TOML files, refused as a whole if anything in them is not valid.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};
use clap::{Args, ValueEnum};

use crate::config::reader::Override;
use crate::config::{Config, Settled};
use railscope_core::analysis::finding::catalog;
use railscope_core::link::rail::RailMap;
use railscope_core::pipeline::Settings;
use railscope_core::report::Report;

/// The options, as typed.
#[derive(Args)]
pub(super) struct ConfigArgs {
    /// Settings file in TOML, the same as for `railscope agent`: `[findings]` and `[expect]` apply
    /// here, the rest is only checked; see `railscope findings --config-example`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Override one setting of the section findings or expect, in TOML: findings.hang_after_s=2
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// TOML file that maps ports to rails: `[rails] 0 = ["mlx5_0", "10.0.0.0/24"]` [default: from
    /// device names or subnets, if all hosts agree]
    #[arg(long, value_name = "FILE")]
    rails: Option<PathBuf>,
}

/// Settings that go into a bundle.
pub(super) struct KeptSettings {
    /// TOML.
    pub(super) config: Option<String>,
    /// TOML.
    pub(super) rails: Option<String>,
    /// KEY=VALUE, one a line.
    pub(super) set: String,
}

/// Lowest severity of a finding for exit code 1.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    Info,
    Warning,
    Critical,
}

impl FailOn {
    /// 1 if the report has a verdict of this severity or worse, for `info` any finding; else 0.
    pub(super) fn exit_code<F, Q>(wanted: Option<Self>, report: &Report<F, Q>) -> u8 {
        let has = |severities: &[&str]| {
            report.verdicts.iter().any(|verdict| severities.contains(&verdict.severity))
        };
        let is_found = match wanted {
            None => false,
            // Findings that chance explains belong to no verdict; `info` asks for them, too.
            Some(Self::Info) => !report.findings.is_empty(),
            Some(Self::Warning) => has(&["warning", "critical"]),
            Some(Self::Critical) => has(&["critical"]),
        };
        u8::from(is_found)
    }
}

impl ConfigArgs {
    /// Takes the settings of a bundle if none were given.
    pub(super) fn complete_config(&mut self, path: &Path) {
        self.config.get_or_insert_with(|| path.to_owned());
    }

    /// Takes the rails of a bundle if none were given.
    pub(super) fn complete_rails(&mut self, path: &Path) {
        self.rails.get_or_insert_with(|| path.to_owned());
    }

    /// Takes the single settings of a bundle, one a line, if none were given.
    pub(super) fn complete_set(&mut self, lines: Option<String>) {
        if self.set.is_empty() {
            self.set = lines.iter().flat_map(|lines| lines.lines()).map(str::to_owned).collect();
        }
    }

    /// For a bundle: what the settings file says of findings, the file of rails, and single settings. The
    /// rest of an agent's settings has no effect on a report, and may have passwords.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or is not valid.
    pub(super) fn kept(&self) -> anyhow::Result<KeptSettings> {
        let own = |path: &PathBuf| {
            let mut table: toml::Table =
                toml::from_str(&read(path)?).map_err(|problem| wrong(path, problem.message()))?;
            table.retain(|key, _| USED.iter().any(|used| used.strip_suffix('.') == Some(key)));
            Ok::<_, anyhow::Error>(table.to_string())
        };
        Ok(KeptSettings {
            config: self.config.as_ref().map(own).transpose()?.filter(|text| !text.is_empty()),
            rails: self.rails.as_deref().map(read).transpose()?,
            set: self.set.join("\n"),
        })
    }

    /// The settings.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or is not valid.
    pub(super) fn read(&self) -> anyhow::Result<Settings> {
        let overrides = overrides(&self.set)?;
        let is_own = |key: &str| USED.iter().any(|section| key.starts_with(section));
        if let Some(other) = overrides.iter().find(|one| !is_own(&one.key)) {
            anyhow::bail!(
                "{}: only findings.* and expect.* have an effect here; `railscope agent` takes all",
                other.name
            );
        }
        let findings = read_settings(self.config.as_deref(), &overrides)?.config.findings;
        let mut settings = Settings { findings, ..Settings::default() };
        if let Some(path) = &self.rails {
            let map: RailMap = toml::from_str(&read(path)?)
                .map_err(|problem| wrong(path, problem.to_string().trim_end()))?;
            map.check().map_err(|problem| wrong(path, &problem))?;
            settings.rails = Some(map);
        }
        Ok(settings)
    }
}

/// Sections that commands which read captures use.
const USED: [&str; 2] = ["findings.", "expect."];

/// What `--set` says.
///
/// # Errors
///
/// When one is not KEY=VALUE.
pub(super) fn overrides(set: &[String]) -> anyhow::Result<Vec<Override>> {
    let one = |text: &String| {
        let (key, value) = text.split_once('=').with_context(|| {
            format!("--set {text}: write KEY=VALUE, as in --set findings.hang_after_s=2")
        })?;
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        Ok(Override { name: format!("--set {key}"), key, value })
    };
    set.iter().map(one).collect()
}

/// The settings of a file, if one is given, and of `overrides`.
///
/// # Errors
///
/// When the file cannot be read or has mistakes; lists all of them.
pub(super) fn read_settings(
    path: Option<&Path>,
    overrides: &[Override],
) -> anyhow::Result<Settled> {
    let text = path.map(read).transpose()?.unwrap_or_default();
    Config::settle(&text, overrides, catalog::names()).with_context(|| match path {
        Some(path) => format!("settings {}", path.display()),
        None => "settings".to_owned(),
    })
}

/// Longest file of settings.
const LONGEST: u64 = 4 << 20;

fn read(path: &Path) -> anyhow::Result<String> {
    let read = || {
        let mut text = String::new();
        fs::File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
        Ok::<_, io::Error>(text)
    };
    let text = read().with_context(|| format!("read {}", path.display()))?;
    ensure!(
        text.len() as u64 <= LONGEST,
        "{} is longer than {} MiB",
        path.display(),
        LONGEST >> 20
    );
    Ok(text)
}

fn wrong(path: &Path, problem: &str) -> anyhow::Error {
    anyhow!("{}: {problem}", path.display())
}
