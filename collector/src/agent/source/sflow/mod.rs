//! Samples that switches send to this host: a UDP port. Off by default, because it opens one.

mod needs;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::contract::{Between, Context, Opened, Opening, Source};
use crate::config::SourceConfig;
use crate::ingest::capability::{Host, Verdict};
use crate::ingest::sflow_socket::SflowSocket;

/// Time between two tries to listen: the address may come, and the program that has the port may end.
const TRY_AGAIN: Duration = Duration::from_secs(10);

/// The source.
pub(super) struct Sflow;

impl Source for Sflow {
    fn key(&self) -> &'static str {
        "sources.sflow"
    }

    fn is_on(&self, on: SourceConfig) -> bool {
        on.sflow
    }

    fn needs(&self, host: &Host) -> Vec<Verdict> {
        vec![needs::needs(host)]
    }

    fn open(&self, opening: &Opening<'_>, context: &mut Context<'_>) -> Opened {
        let address = opening.config.sflow.listen;
        let mut listener = Listener { address, tried: now(), is_open: false, trouble: None };
        listener.listen(context);
        Opened::Between(Box::new(listener))
    }
}

/// Listens as soon as it can; then the session reads the socket.
struct Listener {
    address: SocketAddr,
    tried: Instant,
    is_open: bool,
    /// Why it does not listen, as the user knows.
    trouble: Option<String>,
}

impl Listener {
    fn listen(&mut self, context: &mut Context<'_>) {
        self.tried = now();
        let device = self.address.to_string();
        match SflowSocket::open(self.address) {
            Ok(socket) => {
                self.is_open = true;
                context.visibility.remove("sflow", &device);
                context.visibility.add_seeing("sflow", &device);
                (context.say)(format!("sflow: listening at {}", socket.address()));
                context.session.add(Box::new(socket));
            }
            Err(error) => {
                let problem = format!("{:#}", anyhow::Error::from(error));
                if self.trouble.is_none() {
                    context.visibility.add_blind("sflow", &device, "the port cannot be opened");
                }
                if self.trouble.as_ref() != Some(&problem) {
                    let every = TRY_AGAIN.as_secs();
                    (context.say)(format!("sflow: {problem}; trying again every {every} s"));
                    self.trouble = Some(problem);
                }
            }
        }
    }
}

impl Between for Listener {
    fn read(&mut self, context: &mut Context<'_>) {
        if !self.is_open && self.tried.elapsed() >= TRY_AGAIN {
            self.listen(context);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a port is tried now and then")]
fn now() -> Instant {
    Instant::now()
}
