//! The thread of a server: it accepts connections until the server is dropped.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::{runtime, task, time};

use super::Route;
use super::connection::Client;
use super::host::Names;
use super::listener::Listener;
use super::login::Login;
use super::pace::Pace;
use super::places::Places;
use super::web_config::LiveWebConfig;

/// Connections accepted in a second, and answers made in a second: scrapers need a few.
const ACCEPTS_PER_SECOND: u32 = 500;
const ANSWERS_PER_SECOND: u32 = 100;
/// Connections with TLS: a handshake with an RSA key takes about 1 ms.
const HANDSHAKES_PER_SECOND: u32 = 100;
/// Threads that make pages and verify passwords. They end when idle.
const PAGE_THREADS: usize = 4;
/// Time for open connections to finish when the server stops.
const STOP_TIME: Duration = Duration::from_secs(1);
/// Pause after a failed accept, such as when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A running server.
#[derive(Debug)]
pub(super) struct Running {
    refused: Arc<AtomicUsize>,
    /// Stops the thread when it is dropped.
    running: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

/// What is served, and to whom.
pub(super) struct Site {
    pub(super) routes: Vec<Route>,
    /// Names of this server; `None` if clients may call it as they like.
    pub(super) names: Option<Names>,
    pub(super) answers: Mutex<Pace>,
    /// Answers to probes that need no password.
    pub(super) probes: Mutex<Pace>,
    pub(super) web: Arc<LiveWebConfig>,
    pub(super) login: Arc<Login>,
}

impl Running {
    pub(super) fn start(
        listen: impl AsyncFnOnce() -> io::Result<Listener>,
        site: Site,
    ) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(PAGE_THREADS)
            .thread_name("http page")
            .build()?;
        let listener = runtime.block_on(listen())?;
        let refused = Arc::new(AtomicUsize::new(0));
        let (running, stopped) = oneshot::channel();
        let server = accept_all(listener, Arc::new(site), Arc::clone(&refused), stopped);
        let thread = thread::Builder::new().name("http".to_owned()).spawn(move || {
            runtime.block_on(server);
            // Stopping the server must not wait for a page that is still being made.
            runtime.shutdown_background();
        })?;
        Ok(Self { refused, running: Some(running), thread: Some(thread) })
    }

    /// Connections refused because too many were open.
    pub(super) fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Running {
    /// Stops listening; open connections have a moment to finish.
    fn drop(&mut self) {
        drop(self.running.take());
        // A panic of the thread has been printed already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Site {
    pub(super) fn new(routes: Vec<Route>, names: Option<Names>, web: Arc<LiveWebConfig>) -> Self {
        let pace = || Mutex::new(Pace::new(ANSWERS_PER_SECOND));
        let login = Arc::new(Login::new());
        Self { routes, names, answers: pace(), probes: pace(), web, login }
    }
}

async fn accept_all(
    listener: Listener,
    site: Arc<Site>,
    refused: Arc<AtomicUsize>,
    mut stopped: oneshot::Receiver<Infallible>,
) {
    let places = Places::default();
    let mut accepts = Pace::new(ACCEPTS_PER_SECOND);
    let mut handshakes = Pace::new(HANDSHAKES_PER_SECOND);
    for number in 0.. {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut stopped => break,
        };
        let Ok(stream) = accepted else {
            time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let web = site.web.get();
        let pace = if web.tls.is_some() { &mut handshakes } else { &mut accepts };
        if let Some(wait) = pace.wait() {
            // Meanwhile the kernel keeps others waiting, and at last refuses them.
            time::sleep(wait).await;
        }
        let Some(mut place) = places.take(number) else {
            refused.fetch_add(1, Ordering::Relaxed);
            stream.refuse();
            continue;
        };
        let client = Client { number, site: Arc::clone(&site), places: places.clone() };
        let connection = client.serve(stream, web);
        task::spawn(async move {
            tokio::select! {
                () = connection => {}
                _ = &mut place.left => {}
            }
        });
    }
    drop(listener);
    let is_over = async {
        while !places.is_empty() {
            time::sleep(STOP_TIME / 20).await;
        }
    };
    let _ = time::timeout(STOP_TIME, is_over).await;
}
