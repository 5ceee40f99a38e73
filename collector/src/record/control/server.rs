//! Listens. It never blocks: the capture looks at it between packets.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use super::message::{Answer, LINE_LIMIT, Request, SaveRequest};
use crate::socket_file::SocketFile;
use railscope_core::model::time::Timestamp;

/// Clients at once; more are refused.
const CLIENTS: usize = 8;

/// A client must have said what it wants by then.
const DEADLINE_NS: u64 = 5_000_000_000;

/// A listening socket and its clients. The socket is removed when it is dropped.
#[derive(Debug)]
pub struct ControlServer {
    listener: UnixListener,
    clients: Vec<Client>,
    /// After the listener.
    _file: SocketFile,
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    since: Timestamp,
    line: Vec<u8>,
    /// It was told that it will be answered.
    is_waiting: bool,
}

impl ControlServer {
    /// Listens at `path`. Replaces the socket of a capture that is gone.
    ///
    /// # Errors
    ///
    /// Another process listens there, something else is there, or the folder cannot be written.
    pub fn listen(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let (file, listener) = SocketFile::listen(path, 0o600)?;
        Ok(Self { _file: file, listener, clients: Vec::new() })
    }

    /// What clients have newly asked for.
    pub fn requests(&mut self) -> Vec<SaveRequest> {
        let now = crate::record::now();
        while let Ok((stream, _)) = self.listener.accept() {
            let mut client = Client { stream, since: now, line: Vec::new(), is_waiting: false };
            if self.clients.len() >= CLIENTS {
                client.answer(&Answer::Error("too many clients; try again".to_owned()));
            } else if client.stream.set_nonblocking(true).is_ok() {
                self.clients.push(client);
            }
        }
        let mut requests = Vec::new();
        self.clients.retain_mut(|client| {
            if client.is_waiting {
                return true;
            }
            match client.read(now) {
                Ok(None) => true,
                Ok(Some(Request::Save(request))) => {
                    requests.push(request);
                    client.is_waiting = true;
                    true
                }
                Err(problem) => {
                    client.answer(&Answer::Error(problem));
                    false
                }
            }
        });
        requests
    }

    /// Answers all clients that wait.
    pub fn answer(&mut self, answer: &Answer) {
        self.clients.retain_mut(|client| {
            if client.is_waiting {
                client.answer(answer);
            }
            !client.is_waiting
        });
    }
}

impl Client {
    /// The request, once its line is complete.
    fn read(&mut self, now: Timestamp) -> Result<Option<Request>, String> {
        let mut bytes = [0; LINE_LIMIT];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err("the request has no end: finish it with a line break".to_owned()),
            Ok(count) => self.line.extend_from_slice(bytes.get(..count).unwrap_or_default()),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                let is_late = now.nanos_since(self.since) > DEADLINE_NS;
                return if is_late { Err("no request in 5 s".to_owned()) } else { Ok(None) };
            }
            Err(error) => return Err(error.to_string()),
        }
        if self.line.len() > LINE_LIMIT {
            return Err(format!("a request has at most {LINE_LIMIT} bytes"));
        }
        let Some(end) = self.line.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        let line = self.line.get(..end).unwrap_or_default();
        let request = serde_json::from_slice(line);
        request
            .map(Some)
            .map_err(|error| format!("not a request: {error}; write {{\"save\":{{}}}}"))
    }

    /// Says something; a client that does not listen misses it.
    fn answer(&mut self, answer: &Answer) {
        let Ok(mut line) = serde_json::to_vec(answer) else { return };
        line.push(b'\n');
        _ = self.stream.write_all(&line);
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.answer(&Answer::Error("the capture has ended".to_owned()));
    }
}
