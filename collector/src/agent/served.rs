//! Where the agent's pages are served: at an address, and at a Unix socket.

use std::sync::Arc;

use super::pages::Pages;
use super::server::Server;
use super::server::host::Names;
use super::server::socket::SocketServer;
use super::web_config::WebConfigFile;
use crate::config::{PageName, PrometheusConfig};
use crate::ingest::process::Processes;

/// The servers; none if pages are switched off. They end when this is dropped.
#[derive(Default)]
pub(super) struct Served {
    server: Option<Server>,
    _socket: Option<SocketServer>,
}

impl Served {
    /// Serves `pages`; `own_name` is this host's.
    pub(super) fn start(
        settings: &PrometheusConfig,
        own_name: String,
        pages: &Arc<Pages>,
        processes: Processes,
        web: &WebConfigFile,
        say: &mut dyn FnMut(String),
    ) -> anyhow::Result<Self> {
        if !settings.enabled {
            return Ok(Self::default());
        }
        let names = Names {
            own: own_name,
            is_local: settings.listen.ip().is_loopback(),
            others: settings.hosts.clone(),
        };
        let mut routes = Pages::routes(pages, processes.clone());
        let hidden = PageName::ALL.into_iter().filter(|page| !settings.pages.contains(page));
        let hidden: Vec<&str> = hidden.map(PageName::path).collect();
        routes.retain(|(path, _)| !hidden.contains(path));
        let server = Server::start(settings.listen, names, routes, Arc::clone(web.live()))?;
        say(format!("metrics: {}", server.metrics()));
        web.warn(say);
        let socket = match settings.socket.as_deref() {
            Some(path) => {
                let socket = SocketServer::start(path, Pages::routes(pages, processes))?;
                say(format!("metrics: all pages at the socket {}", path.display()));
                Some(socket)
            }
            None => None,
        };
        Ok(Self { server: Some(server), _socket: socket })
    }

    /// The server at an address.
    pub(super) const fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }
}
