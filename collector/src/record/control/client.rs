//! Asks a running capture.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::message::{Answer, Request};

/// Bytes of an answer at most.
const ANSWER_LIMIT: u64 = 64 << 10;

/// Sends a request, and waits for the answer for at most `patience`.
///
/// # Errors
///
/// Nobody listens there, or no answer came.
pub fn ask(path: &Path, request: &Request, patience: Duration) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = String::new();
    BufReader::new(stream.take(ANSWER_LIMIT)).read_line(&mut answer)?;
    serde_json::from_str(&answer).map_err(io::Error::from)
}
