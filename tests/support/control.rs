//! The control plane, read from captures and from bytes that a test makes up.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::decode::frame;
use railscope_core::decode::packet::Body;
use railscope_core::flow::tcp_stream::sink::{
    Chunk, ConnectionId, Ending, Side, StreamSink, TcpConnection,
};
use railscope_core::flow::tcp_stream::streams::{TcpConfig, TcpStreams};
use railscope_core::link::control::facts::ControlFacts;
use railscope_core::link::control::plane::{ControlConfig, ControlPlane};
use railscope_core::model::tap::TapId;
use railscope_core::model::time::Timestamp;

use super::fixture;

/// The control plane in capture files.
pub fn plane_of(paths: &[PathBuf]) -> ControlPlane {
    let mut captures = CaptureSet::open(paths).unwrap();
    let mut streams = TcpStreams::new(TcpConfig::default());
    let mut plane = ControlPlane::new(ControlConfig::default());
    while let Some(event) = captures.next_event() {
        let SourceEvent::Frame(frame) = event else { continue };
        frame::decode_with(&frame, |packet| {
            if let (Body::Tcp(segment), Some(ip)) = (&packet.body, &packet.ip) {
                streams.observe(&frame, ip.source, ip.destination, segment, &mut plane);
            }
        });
    }
    streams.finish(&mut plane);
    plane
}

/// The captures of a run, and its truth.
pub fn run(name: &str) -> (Vec<PathBuf>, serde_json::Value) {
    let folder = fixture::path("nccl").join(name);
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut captures: Vec<_> =
        entries.filter(|path| path.extension() == Some("gz".as_ref())).collect();
    captures.sort();
    (captures, truth(&folder))
}

fn truth(folder: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(folder.join("truth.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A control plane that reads made-up connections.
#[derive(Debug)]
pub struct MadeUp {
    pub plane: ControlPlane,
    next: u32,
    time: u64,
}

impl MadeUp {
    pub fn new(config: ControlConfig) -> Self {
        Self { plane: ControlPlane::new(config), next: 0, time: 0 }
    }

    pub fn open(&mut self, client: SocketAddr, server: SocketAddr) -> ConnectionId {
        let id = ConnectionId(self.next);
        self.next += 1;
        let connection = TcpConnection { tap: TapId(0), client, server, is_from_start: true };
        self.plane.opened(id, &connection);
        id
    }

    pub fn send(&mut self, id: ConnectionId, from: Side, bytes: &[u8]) {
        self.time += 1;
        let (time, number) = (Timestamp::from_nanos(self.time), self.time);
        let _ = self.plane.bytes(id, from, Chunk { bytes, time, number });
    }

    pub fn lose(&mut self, id: ConnectionId, from: Side) {
        self.lose_bytes(id, from, 1);
    }

    pub fn lose_bytes(&mut self, id: ConnectionId, from: Side, bytes: u64) {
        let _ = self.plane.gap(id, from, bytes);
    }

    pub fn close(&mut self, id: ConnectionId) {
        self.plane.closed(id, Ending::Finished, Timestamp::from_nanos(self.time));
    }
}

/// What one connection's bytes yield.
pub fn facts_of(client: &[u8], server: &[u8]) -> ControlFacts {
    let mut made_up = MadeUp::new(ControlConfig::default());
    let id = made_up.open(([10, 0, 0, 1], 40_000).into(), ([10, 0, 0, 2], 50_000).into());
    made_up.send(id, Side::Client, client);
    if !server.is_empty() {
        made_up.send(id, Side::Server, server);
    }
    made_up.close(id);
    made_up.plane.facts()
}
