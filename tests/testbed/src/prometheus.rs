//! Debian's Prometheus, which scrapes agents and evaluates rules.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::data_base::{DataBase, free_port};

/// What it does.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Pages to scrape.
    pub targets: &'a [SocketAddr],
    /// Files of rules, as texts with their names.
    pub rules: &'a [(&'a str, String)],
    /// Where alerts go.
    pub alertmanager: Option<SocketAddr>,
    /// Interval of scrapes and of rules, as Prometheus spells it.
    pub interval: &'a str,
    /// Other lines of the scrape job: scheme, password, certificates.
    pub access: &'a str,
}

impl<'a> Setup<'a> {
    /// Only scrapes `targets`, every `interval`.
    #[must_use]
    pub const fn of(interval: &'a str, targets: &'a [SocketAddr]) -> Self {
        Self { targets, rules: &[], alertmanager: None, interval, access: "" }
    }
}

/// Starts Prometheus with its files in `folder`, which is empty.
///
/// # Panics
///
/// A file cannot be written, or Prometheus does not start.
#[must_use]
pub fn start(folder: &Path, setup: Setup<'_>) -> DataBase {
    let Setup { targets, rules, alertmanager, interval, access } = setup;
    let mut config = format!(
        "global:\n  scrape_interval: {interval}\n  scrape_timeout: {interval}\n  \
         evaluation_interval: {interval}\nrule_files:\n"
    );
    for (name, text) in rules {
        std::fs::write(folder.join(name), text).unwrap();
        writeln!(config, "- {name}").unwrap();
    }
    config += "scrape_configs:\n- job_name: railscope\n";
    for line in access.lines() {
        writeln!(config, "  {line}").unwrap();
    }
    config += "  static_configs:\n  - targets:\n";
    for target in targets {
        writeln!(config, "    - '{target}'").unwrap();
    }
    if let Some(address) = alertmanager {
        write!(
            config,
            "alerting:\n  alertmanagers:\n  - static_configs:\n    - targets: ['{address}']\n"
        )
        .unwrap();
    }
    let file = folder.join("prometheus.yml");
    std::fs::write(&file, config).unwrap();
    let port = free_port();
    let mut prometheus = Command::new("prometheus");
    prometheus
        .arg(format!("--config.file={}", file.display()))
        .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"));
    DataBase::start(&mut prometheus, port, "/-/ready")
}
