//! A round of two hosts: one measures towards the other, which serves it; then the other way round.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::Settings;
use super::clock::now;
use super::dial;
use super::link::Way;
use super::matrix::{Cell, Device, Probe, RailProbe};
use super::protocol::{Data, End, Kind, Message, bounded};
use super::session::Session;
use super::tcp;
use super::transport::QueuePair;

/// Longest wait for the connections of a measurement.
const STREAMS: Duration = Duration::from_secs(5);
/// Longest wait for an answer of the peer's program.
const ANSWER: Duration = Duration::from_secs(15);
/// What a measurement may take besides its time, as a rule and at most.
const TCP_OVERHEAD: Duration = Duration::from_secs(5);
const RAIL_OVERHEAD: Duration = Duration::from_secs(5);
const WORST_RAIL: Duration = Duration::from_secs(25);

/// What this host measures with.
pub(super) struct Bench<'a> {
    pub(super) settings: &'a Settings,
    pub(super) devices: &'a [Device],
}

impl Bench<'_> {
    /// Pairs of rails with a peer that has this many devices: from, to.
    fn rails(&self, of_peer: usize) -> Vec<(usize, usize)> {
        let own = self.devices.len();
        let same = (0..own.min(of_peer)).map(|rail| (rail, rail));
        let all = (0..own).flat_map(|from| (0..of_peer).map(move |to| (from, to)));
        let is_wanted = self.settings.is_cross_rail;
        same.chain(all.filter(|(from, to)| is_wanted && from != to)).collect()
    }

    fn time(&self) -> Duration {
        self.settings.time.unwrap_or_default()
    }

    /// What a round takes as a rule, both directions, with as many devices on the other side.
    pub(super) fn round(&self) -> Duration {
        let rails = u32::try_from(self.rails(self.devices.len()).len()).unwrap_or(u32::MAX);
        let one = TCP_OVERHEAD + self.time() * 2;
        (one + (self.time() + RAIL_OVERHEAD).saturating_mul(rails)).saturating_mul(2)
    }
}

/// Measures with a peer in a round, for which it must be ready before `deadline`.
pub(super) fn measure(
    session: &mut Session,
    bench: &Bench<'_>,
    peer: usize,
    round: usize,
    deadline: Instant,
) -> Cell {
    let connect = session.peers.get(peer).and_then(|peer| {
        let refused = peer.refusal.clone().filter(|_| peer.out.is_none());
        refused.or_else(|| peer.failure.clone().filter(|_| peer.out.is_none()))
    });
    let mut cell = Cell { to: peer, connect, ..Cell::default() };
    let opened = session.meet(peer, round, deadline).and_then(|()| Ok(session.link(peer)?.1));
    let way = match opened {
        Ok(way) => way,
        Err(error) => {
            cell.tcp.error = Some(error);
            return cell;
        }
    };
    for phase in [Phase::RoundTrip, Phase::Bandwidth, Phase::Rails] {
        let done = match way {
            Way::Out => {
                drive(session, bench, phase, &mut cell);
                session.send(peer, &Message::Turn).and_then(|()| serve(session, bench, peer))
            }
            Way::In => serve(session, bench, peer).and_then(|()| {
                drive(session, bench, phase, &mut cell);
                session.send(peer, &Message::Turn)
            }),
        };
        if let Err(error) = done {
            cell.tcp.error.get_or_insert(error);
            break;
        }
    }
    cell
}

/// Round trips come first, in both directions: queues that a bandwidth measurement fills would delay
/// those of the second one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    RoundTrip,
    Bandwidth,
    Rails,
}

/// Measures towards the peer.
fn drive(session: &mut Session, bench: &Bench<'_>, phase: Phase, cell: &mut Cell) {
    match (phase, bench.settings.time) {
        (Phase::RoundTrip, _) => match round_trip(session, cell.to) {
            Ok((middle, low)) => {
                cell.tcp.rtt_us = Some(middle);
                cell.tcp.rtt_p10_us = Some(low);
            }
            Err(error) => cell.tcp.error = Some(bounded(&error)),
        },
        (Phase::Bandwidth, Some(time)) if cell.tcp.error.is_none() => {
            match bandwidth(session, cell.to, bench.settings.streams, time) {
                Ok(gbps) => cell.tcp.gbps = Some(gbps),
                Err(error) => cell.tcp.error = Some(bounded(&error)),
            }
        }
        (Phase::Bandwidth, _) => {}
        (Phase::Rails, _) => drive_rails(session, bench, cell),
    }
}

fn drive_rails(session: &mut Session, bench: &Bench<'_>, cell: &mut Cell) {
    let peer = cell.to;
    let member = session.peers.get(peer).and_then(|peer| peer.member.as_ref());
    let devices = member.map_or(0, |member| member.devices.len());
    for (from, to) in bench.rails(devices) {
        if session.link(peer).is_err() {
            return;
        }
        let Some(device) = bench.devices.get(from) else { continue };
        let (Ok(from), Ok(to)) = (u8::try_from(from), u8::try_from(to)) else { continue };
        let time = bench.settings.time.filter(|_| from == to);
        let probe = drive_rail(session, peer, device, (from, to), time);
        let probe = probe
            .unwrap_or_else(|error| Probe { error: Some(bounded(&error)), ..Probe::default() });
        cell.rails.push(RailProbe { from, to, probe });
    }
}

fn round_trip(session: &mut Session, peer: usize) -> Result<(f64, f64), String> {
    let id = session.id();
    session.send(peer, &Message::Measure { id, kind: Kind::RoundTrip, streams: 1 })?;
    let streams = streams(session, peer, id, 1)?;
    let stream = streams.first().ok_or("no connection")?;
    tcp::ping(stream)
}

fn bandwidth(
    session: &mut Session,
    peer: usize,
    count: usize,
    time: Duration,
) -> Result<f64, String> {
    let id = session.id();
    session.send(peer, &Message::Measure { id, kind: Kind::Bandwidth, streams: count })?;
    let streams = streams(session, peer, id, count)?;
    tcp::send(streams, time);
    let deadline = now() + ANSWER;
    loop {
        if let Message::Rate(rate) = session.next(peer, deadline)? {
            return rate;
        }
    }
}

/// The connections of a measurement, which the side opens that has opened the link.
fn streams(
    session: &mut Session,
    peer: usize,
    id: u32,
    count: usize,
) -> Result<Vec<TcpStream>, String> {
    let (link, way) = session.link(peer)?;
    if way == Way::Out {
        let address = link.peer().map_err(|error| error.to_string())?;
        let host = session.me;
        return (0..count).map(|_| dial::data(address, Data { host, id })).collect();
    }
    let deadline = now() + STREAMS;
    let mut streams = Vec::new();
    loop {
        while let Some(stream) = session.take_stream(Data { host: peer, id }) {
            streams.push(stream);
        }
        if streams.len() >= count {
            return Ok(streams);
        }
        if now() >= deadline {
            let name = session.name(peer);
            return Err(format!("{name} opened {} of {count} connections in time", streams.len()));
        }
        let news = session.poll(deadline);
        if let Some((from, message)) = news.filter(|(from, _)| *from == peer) {
            // It has given up and gone on.
            session.give_back(from, message);
            return Err(format!("{} could not open a connection", session.name(peer)));
        }
        session.link(peer)?;
    }
}

/// Measures from a device of this host to one of the peer's.
fn drive_rail(
    session: &mut Session,
    peer: usize,
    device: &Device,
    (from, to): (u8, u8),
    time: Option<Duration>,
) -> Result<Probe, String> {
    let mut pair = QueuePair::open(device)?;
    session.send(peer, &Message::Rail { from, to, end: pair.end() })?;
    let deadline = now() + ANSWER;
    let end = loop {
        if let Message::RailReady(end) = session.next(peer, deadline)? {
            break end;
        }
    };
    let probe = end.and_then(|end| {
        pair.connect(&end, from != to)?;
        Ok(pair.measure(&end, time))
    });
    session.send(peer, &Message::RailDone)?;
    probe
}

/// Serves the peer until it is this host's turn.
fn serve(session: &mut Session, bench: &Bench<'_>, peer: usize) -> Result<(), String> {
    let member = session.peers.get(peer).and_then(|peer| peer.member.as_ref());
    let rails = bench.rails(member.map_or(0, |member| member.devices.len())).len();
    let rails = u32::try_from(rails).unwrap_or(u32::MAX);
    let most = (bench.time() + WORST_RAIL).saturating_mul(rails) + ANSWER * 2 + bench.time();
    let deadline = now() + most;
    loop {
        match session.next(peer, deadline)? {
            Message::Turn => return Ok(()),
            Message::Measure { id, kind, streams } => {
                serve_tcp(session, bench, peer, id, kind, streams)?;
            }
            Message::Rail { from, to, end } => serve_rail(session, bench, peer, (from, to), &end)?,
            // Of a measurement that is over.
            _ => {}
        }
    }
}

fn serve_tcp(
    session: &mut Session,
    bench: &Bench<'_>,
    peer: usize,
    id: u32,
    kind: Kind,
    count: usize,
) -> Result<(), String> {
    let streams = streams(session, peer, id, count.clamp(1, super::MOST_STREAMS));
    match (kind, streams) {
        (Kind::RoundTrip, Ok(streams)) => {
            if let Some(stream) = streams.first() {
                tcp::answer(stream);
            }
            Ok(())
        }
        // The peer notices by itself.
        (Kind::RoundTrip, Err(_)) => Ok(()),
        (Kind::Bandwidth, Ok(streams)) => {
            let rate = tcp::receive(streams, bench.time());
            session.send(peer, &Message::Rate(rate))
        }
        (Kind::Bandwidth, Err(error)) => session.send(peer, &Message::Rate(Err(error))),
    }
}

fn serve_rail(
    session: &mut Session,
    bench: &Bench<'_>,
    peer: usize,
    (from, to): (u8, u8),
    end: &End,
) -> Result<(), String> {
    let name = session.name(session.me).to_owned();
    let device = bench.devices.get(usize::from(to));
    let opened = device.ok_or_else(|| format!("{name} has no rail {to}")).and_then(|device| {
        let mut pair = QueuePair::open(device)?;
        pair.connect(end, from != to)?;
        Ok(pair)
    });
    let mut pair = match opened {
        Ok(pair) => pair,
        Err(error) => {
            let error = bounded(&format!("{name}: {error}"));
            return session.send(peer, &Message::RailReady(Err(error)));
        }
    };
    session.send(peer, &Message::RailReady(Ok(pair.end())))?;
    let deadline = now() + bench.time() + WORST_RAIL;
    let mut works = true;
    while now() < deadline {
        let heard = if works {
            works = pair.answer(end).is_ok();
            session.at_hand(peer)?
        } else {
            Some(session.next(peer, deadline)?)
        };
        match heard {
            Some(Message::RailDone) => return Ok(()),
            Some(message @ Message::Turn) => {
                session.give_back(peer, message);
                return Ok(());
            }
            _ => {}
        }
    }
    Ok(())
}
