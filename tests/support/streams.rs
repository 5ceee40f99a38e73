//! Records what the TCP streams deliver.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::decode::frame;
use railscope_core::decode::packet::{Body, Ports, TcpFlags, TcpSegment};
use railscope_core::flow::tcp_stream::sink::{
    Chunk, ConnectionId, Ending, Interest, Side, StreamSink, StreamTotals, TcpConnection,
};
use railscope_core::flow::tcp_stream::streams::{TcpConfig, TcpStreams};
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

/// A range of bytes in one direction; adjacent ranges of one kind are merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stretch {
    Bytes(Vec<u8>),
    Gap(u64),
}

/// One connection.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub connection: TcpConnection,
    pub client: Vec<Stretch>,
    pub server: Vec<Stretch>,
    pub ending: Option<Ending>,
    pub totals: Option<StreamTotals>,
}

impl Recorded {
    /// The bytes that a side sent.
    pub fn sent(&mut self, side: Side) -> &mut Vec<Stretch> {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

/// Records everything, and checks the order of events.
#[derive(Debug, Default)]
pub struct Recorder {
    pub connections: Vec<Recorded>,
    /// Answers `Enough` after this many bytes of a direction; `None`: never.
    pub enough_after: Option<usize>,
}

impl Recorder {
    fn open(&mut self, id: ConnectionId) -> &mut Recorded {
        let recorded = &mut self.connections[id.0 as usize];
        assert_eq!(recorded.ending, None, "no event after the end");
        recorded
    }

    fn interest(&mut self, id: ConnectionId, from: Side) -> Interest {
        let limit = self.enough_after.unwrap_or(usize::MAX);
        let delivered: usize = self.connections[id.0 as usize]
            .sent(from)
            .iter()
            .map(|stretch| match stretch {
                Stretch::Bytes(bytes) => bytes.len(),
                Stretch::Gap(_) => 0,
            })
            .sum();
        if delivered >= limit { Interest::Enough } else { Interest::More }
    }
}

impl StreamSink for Recorder {
    fn opened(&mut self, id: ConnectionId, connection: &TcpConnection) {
        assert_eq!(id.0 as usize, self.connections.len(), "ids are consecutive");
        self.connections.push(Recorded {
            connection: *connection,
            client: Vec::new(),
            server: Vec::new(),
            ending: None,
            totals: None,
        });
    }

    fn bytes(&mut self, id: ConnectionId, from: Side, chunk: Chunk<'_>) -> Interest {
        assert!(!chunk.bytes.is_empty());
        let sent = self.open(id).sent(from);
        match sent.last_mut() {
            Some(Stretch::Bytes(bytes)) => bytes.extend(chunk.bytes),
            _ => sent.push(Stretch::Bytes(chunk.bytes.to_vec())),
        }
        self.interest(id, from)
    }

    fn gap(&mut self, id: ConnectionId, from: Side, bytes: u64) -> Interest {
        assert!(bytes > 0);
        let sent = self.open(id).sent(from);
        match sent.last_mut() {
            Some(Stretch::Gap(gap)) => *gap += bytes,
            _ => sent.push(Stretch::Gap(bytes)),
        }
        self.interest(id, from)
    }

    fn totals(&mut self, id: ConnectionId, totals: &StreamTotals) {
        self.open(id).totals = Some(*totals);
    }

    fn closed(&mut self, id: ConnectionId, ending: Ending, _: Timestamp) {
        self.open(id).ending = Some(ending);
    }
}

/// The streams of a capture file.
pub fn of_file(path: &Path) -> Vec<Recorded> {
    let mut streams = TcpStreams::new(TcpConfig::default());
    let mut recorder = Recorder::default();
    let mut captures = CaptureSet::open(&[path]).unwrap();
    while let Some(event) = captures.next_event() {
        let SourceEvent::Frame(frame) = event else { continue };
        let packet = frame::decode(&frame);
        if let (Body::Tcp(segment), Some(ip)) = (&packet.body, &packet.ip) {
            streams.observe(&frame, ip.source, ip.destination, segment, &mut recorder);
        }
    }
    streams.finish(&mut recorder);
    recorder.connections
}

/// Streams fed segment by segment.
pub struct Feed {
    pub streams: TcpStreams,
    pub recorder: Recorder,
    pub time: Timestamp,
    frames: u64,
}

/// A segment to feed: no flags except ACK if it acknowledges something.
#[derive(Clone, Debug)]
pub struct Sent {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub sequence: u32,
    pub acknowledgment: Option<u32>,
    pub flags: u8,
    pub payload: Vec<u8>,
    /// Bytes on the wire that the snap length cut off.
    pub cut: u32,
}

impl Feed {
    pub fn new(config: TcpConfig) -> Self {
        Self {
            streams: TcpStreams::new(config),
            recorder: Recorder::default(),
            time: Timestamp::from_nanos(1_700_000_000_000_000_000),
            frames: 0,
        }
    }

    /// Feeds a segment, a microsecond after the previous one.
    pub fn send(&mut self, sent: &Sent) {
        self.frames += 1;
        self.time = self.time.plus_nanos(1_000);
        let frame = Frame {
            tap: TapId(0),
            number: self.frames,
            time: self.time,
            wire_len: 0,
            bytes: &[],
            link_type: LinkType::Ethernet,
            direction: None,
        };
        let ack = if sent.acknowledgment.is_some() { TcpFlags::ACK.0 } else { 0 };
        let segment = TcpSegment {
            ports: Ports { source: sent.source.port(), destination: sent.destination.port() },
            sequence: sent.sequence,
            acknowledgment: sent.acknowledgment.unwrap_or_default(),
            flags: TcpFlags(sent.flags | ack),
            window: u16::MAX,
            payload: &sent.payload,
            payload_len: sent.payload.len() as u32 + sent.cut,
        };
        let [source, destination]: [IpAddr; 2] = [sent.source.ip(), sent.destination.ip()];
        self.streams.observe(&frame, source, destination, &segment, &mut self.recorder);
    }

    /// Ends the capture.
    pub fn finish(mut self) -> Vec<Recorded> {
        self.streams.finish(&mut self.recorder);
        self.recorder.connections
    }
}
