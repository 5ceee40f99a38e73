//! A client for pages of programs on this machine.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::clock::PATIENCE;

/// Body of the answer to a GET; `None` without an answer, or on an error.
#[must_use]
pub fn get(address: SocketAddr, path: &str) -> Option<String> {
    answer(address, path).filter(|(status, _)| status == "200").map(|(_, body)| body)
}

/// Status and body of the answer to a GET; `None` without an answer.
///
/// # Panics
///
/// The system refuses a timeout for a socket.
#[must_use]
pub fn answer(address: SocketAddr, path: &str) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.to_owned(), body.to_owned()))
}
