//! Debian's Alertmanager, which takes the alerts of Prometheus and passes none on.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::data_base::{DataBase, free_port};

const CONFIG: &str = "\
route:
  receiver: nobody
  group_wait: 0s
receivers:
- name: nobody
";

/// A running Alertmanager.
pub struct Alertmanager(DataBase);

impl Alertmanager {
    /// Starts it with its files in `folder`.
    ///
    /// # Panics
    ///
    /// A file cannot be written, or it does not start.
    #[must_use]
    pub fn start(folder: &Path) -> Self {
        let file = folder.join("alertmanager.yml");
        std::fs::write(&file, CONFIG).unwrap();
        let port = free_port();
        let mut program = Command::new("prometheus-alertmanager");
        program
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.path={}", folder.join("alertmanager").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            // Without it, it looks for others of its kind on the network.
            .arg("--cluster.listen-address=");
        Self(DataBase::start(&mut program, port, "/-/ready"))
    }

    /// Where Prometheus sends alerts.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), self.0.port)
    }

    /// Names of the alerts that fire.
    ///
    /// # Panics
    ///
    /// It does not answer.
    #[must_use]
    pub fn firing(&self) -> BTreeSet<String> {
        let answer = self.0.get("/api/v2/alerts?active=true").unwrap();
        let alerts: Value = serde_json::from_str(&answer).unwrap();
        let names = alerts.as_array().unwrap().iter().map(|one| &one["labels"]["alertname"]);
        names.map(|name| name.as_str().unwrap().to_owned()).collect()
    }
}
