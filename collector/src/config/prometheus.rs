//! `[prometheus]`: the agent's pages.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use glob::Pattern;
use toml::de::DeValue;

use super::reader::Reader;
use super::setting::Setting;

/// The endpoint for Prometheus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrometheusConfig {
    /// Whether to serve it, with `/healthz` and `/readyz`.
    pub enabled: bool,
    /// Listening address.
    pub listen: SocketAddr,
    /// Names of this server that requests may use besides addresses and the host's own name.
    pub hosts: Vec<Pattern>,
    /// Pages at this address, besides `/healthz` and `/readyz`.
    pub pages: Vec<PageName>,
    /// A web configuration file of the Prometheus exporter toolkit; `None` for HTTP without passwords.
    pub web_config: Option<PathBuf>,
    /// A Unix socket that has all pages; `None` for none.
    pub socket: Option<PathBuf>,
}

/// A page that not everybody needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageName {
    /// `/metrics`.
    Metrics,
    /// `/report.json`.
    Report,
    /// `/queue_pairs.json`.
    QueuePairs,
}

impl PageName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Metrics, Self::Report, Self::QueuePairs];

    /// Its path in a URL.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Metrics => "/metrics",
            Self::Report => "/report.json",
            Self::QueuePairs => "/queue_pairs.json",
        }
    }
}

impl Default for PrometheusConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 9474)),
            hosts: Vec::new(),
            pages: PageName::ALL.to_vec(),
            web_config: None,
            socket: None,
        }
    }
}

impl PrometheusConfig {
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) {
        reader.section("prometheus", |section| {
            section.key("enabled", &mut self.enabled);
            section.key("listen", &mut self.listen);
            section.key("hosts", &mut self.hosts);
            section.key("pages", &mut self.pages);
            section.key("web-config", &mut self.web_config);
            section.key("socket", &mut self.socket);
        });
    }
}

impl Setting for Vec<PageName> {
    const WANTED: &'static str =
        "a list of pages: \"/metrics\", \"/report.json\", \"/queue_pairs.json\"";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let one = |value: &DeValue<'_>| {
            let path = value.as_str()?;
            PageName::ALL.into_iter().find(|page| page.path() == path)
        };
        value.as_array()?.iter().map(|value| one(value.get_ref())).collect()
    }
}
