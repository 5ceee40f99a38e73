//! A client's connection: TLS, if there is a certificate, and one request.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::answer::respond;
use super::listener::Stream;
use super::places::{Place, Places};
use super::running::Site;
use super::web_config::WebConfig;

/// Bytes of a request head.
const REQUEST_LIMIT: usize = 8 * 1024;
/// Headers of a request.
const HEADER_LIMIT: usize = 64;
/// Time for the handshake, and for a whole request head to arrive.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Time for a whole connection, from the handshake to the last byte of the answer.
const CONNECTION_TIME: Duration = Duration::from_secs(15);
/// Time for the client to close after its answer.
const LINGER_TIME: Duration = Duration::from_secs(1);

/// First byte of a client that speaks TLS: a record of the handshake.
const HANDSHAKE: u8 = 22;
/// The answer to one that does not.
const NO_TLS: &str = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
                      Content-Length: 37\r\nConnection: close\r\n\r\nthis port speaks TLS: write https://\n";

/// Clients of a Unix socket have no address.
pub(super) const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A client.
pub(super) struct Client {
    pub(super) number: u64,
    pub(super) site: Arc<Site>,
    pub(super) places: Places,
}

impl Client {
    /// Answers its request.
    pub(super) async fn serve(self, stream: Stream, web: Arc<WebConfig>) {
        let (stream, address) = match stream {
            Stream::Tcp(stream, address) => (stream, address),
            // The web configuration is for TCP.
            Stream::Unix(stream) => return self.converse(stream, LOCAL).await,
        };
        let Some(acceptor) = &web.tls else { return self.converse(stream, address).await };
        let secured = time::timeout(REQUEST_TIME, secure(stream, acceptor)).await;
        if let Ok(Some(stream)) = secured {
            self.converse(stream, address).await;
        }
    }

    pub(super) async fn converse(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        address: IpAddr,
    ) {
        let mut io = TokioIo::new(stream);
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .keep_alive(false)
            .half_close(true)
            .title_case_headers(true)
            .auto_date_header(false)
            .max_buf_size(REQUEST_LIMIT)
            .max_headers(HEADER_LIMIT)
            .header_read_timeout(REQUEST_TIME);
        let service = service_fn(|request| {
            Place::note_request(&self.places, self.number);
            let site = Arc::clone(&self.site);
            async move { Ok::<_, Infallible>(respond(&request, address, &site).await) }
        });
        let served = http.serve_connection(&mut io, service);
        let outcome = time::timeout(CONNECTION_TIME, served).await;
        // hyper has answered a malformed request before it reports the error.
        let is_answered =
            outcome.is_ok_and(|served| served.map_or_else(|e| e.is_parse(), |()| true));
        if is_answered {
            _ = time::timeout(LINGER_TIME, wait_for_close(io.inner_mut())).await;
        }
    }
}

/// The handshake; `None` if it fails.
async fn secure(mut stream: TcpStream, acceptor: &TlsAcceptor) -> Option<TlsStream<TcpStream>> {
    let mut first = [0];
    if stream.peek(&mut first).await.is_ok_and(|count| count > 0 && first != [HANDSHAKE]) {
        stream.write_all(NO_TLS.as_bytes()).await.ok()?;
        stream.shutdown().await.ok()?;
        _ = time::timeout(LINGER_TIME, wait_for_close(&mut stream)).await;
        return None;
    }
    acceptor.accept(stream).await.ok()
}

/// Reads until the client closes: a socket closed with unread data is reset, which may destroy the
/// answer on its way.
async fn wait_for_close(stream: &mut (impl AsyncRead + Unpin)) {
    let mut unread = [0; 4096];
    while stream.read(&mut unread).await.is_ok_and(|count| count > 0) {}
}
