//! A kubelet's read-only port: it answers each request with the same bytes.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// What it answers.
pub enum Answer {
    /// These bytes, and the end of the connection.
    Bytes(Vec<u8>),
    /// Nothing, ever.
    Silence,
}

/// A kubelet that answers until the test ends.
pub struct FakeKubelet {
    pub address: SocketAddr,
    /// First lines of requests.
    pub asked: Receiver<String>,
}

/// The list of pods of a node: `tests/fixtures/kubelet/pods.json`.
pub const PODS: &str = include_str!("../fixtures/kubelet/pods.json");

impl FakeKubelet {
    pub fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, asked) = channel();
        thread::spawn(move || {
            let mut open = Vec::new();
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                _ = sender.send(head.lines().next().unwrap_or_default().to_owned());
                match &answer {
                    // The client may have had enough.
                    Answer::Bytes(bytes) => _ = stream.write_all(bytes),
                    Answer::Silence => open.push(stream),
                }
            }
        });
        Self { address, asked }
    }

    /// One with this list of pods.
    pub fn listing(pods: &str) -> Self {
        Self::start(Answer::Bytes(page("200 OK", pods)))
    }

    pub fn authority(&self) -> String {
        self.address.to_string()
    }

    /// The setting that makes an agent ask it.
    pub fn setting(&self) -> String {
        format!("host.kubelet=\"http://{}\"", self.address)
    }
}

/// An answer with this body.
pub fn page(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}");
    format!("{head}\r\n\r\n{body}").into_bytes()
}

/// The same as Go writes long bodies, in chunks.
pub fn chunked(body: &str) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for part in body.as_bytes().chunks(2048) {
        bytes.extend(format!("{:x}\r\n", part.len()).into_bytes());
        bytes.extend(part);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}
