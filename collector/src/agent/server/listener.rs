//! Where connections come from: TCP, or a Unix socket.

use std::io::{self, Write};
use std::net::IpAddr;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// The answer to clients beyond the limit. Short enough to fit any empty send buffer.
const REFUSAL: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n\
                       Content-Length: 21\r\nConnection: close\r\n\r\ntoo many connections\n";

/// What listens.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A connection.
pub(super) enum Stream {
    /// With the client's address.
    Tcp(TcpStream, IpAddr),
    Unix(UnixStream),
}

impl Listener {
    pub(super) async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                Ok(Stream::Tcp(stream, address.ip()))
            }
            Self::Unix(listener) => Ok(Stream::Unix(listener.accept().await?.0)),
        }
    }
}

impl Stream {
    /// Says that there are too many. The client may have gone.
    pub(super) fn refuse(self) {
        match self {
            Self::Tcp(stream, _) => {
                _ = stream.into_std().and_then(|mut stream| stream.write_all(REFUSAL.as_bytes()));
            }
            Self::Unix(stream) => {
                _ = stream.into_std().and_then(|mut stream| stream.write_all(REFUSAL.as_bytes()));
            }
        }
    }
}
