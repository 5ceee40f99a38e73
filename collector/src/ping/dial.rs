//! Connecting to another host: again and again until it is there, or until trying is no use.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use super::clock::now;
use super::door::{Door, GREETING};
use super::host::Host;
use super::link::{Event, Link, Way, read};
use super::protocol::{
    Answer, Data, Garbled, Hello, Until, read_frame, read_version, write_frame, write_version,
};

/// Longest wait for the answer of an address.
pub(super) const CONNECT: Duration = Duration::from_secs(2);

/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(300);

/// Connects to a host on a thread of its own, which then reads what comes.
///
/// # Errors
/// No thread can be had.
pub(super) fn dial(
    door: &Arc<Door>,
    host: usize,
    at: &Host,
    port: u16,
    events: &SyncSender<Event>,
) -> io::Result<()> {
    let (door, at, events) = (Arc::clone(door), at.clone(), events.clone());
    let work = move || {
        if let Some(stream) = try_until_there(&door, host, &at, port, &events) {
            read(stream, host, Way::Out, &events);
        }
    };
    thread::Builder::new().name(format!("dial {host}")).spawn(work).map(|_| ())
}

fn try_until_there(
    door: &Door,
    host: usize,
    at: &Host,
    port: u16,
    events: &SyncSender<Event>,
) -> Option<TcpStream> {
    while !door.has_begun.load(Ordering::SeqCst) {
        match attempt(door, host, at, port) {
            Ok((stream, event)) => {
                events.send(event).ok()?;
                return Some(stream);
            }
            Err(Failure::Again { why, is_unresolved }) => {
                events.send(Event::Failed { host, why, is_unresolved }).ok()?;
            }
            Err(Failure::Final(why)) => {
                _ = events.send(Event::Refused { host, why });
                return None;
            }
        }
        thread::sleep(PAUSE);
    }
    None
}

enum Failure {
    Again { why: String, is_unresolved: bool },
    Final(String),
}

fn attempt(door: &Door, host: usize, at: &Host, port: u16) -> Result<(TcpStream, Event), Failure> {
    let again = |why: String| Failure::Again { why, is_unresolved: false };
    let addresses = at
        .addresses(port)
        .map_err(|error| Failure::Again { why: unresolved(at, &error), is_unresolved: true })?;
    let mut why = unresolved(at, &io::Error::other("it has no address"));
    for address in addresses {
        let stream = match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => stream,
            Err(error) => {
                why = connect_words(address, &error);
                continue;
            }
        };
        let answer = greet(&stream, &Hello::Member(door.own.clone()))
            .and_then(|()| read_answer(&stream))
            .map_err(|error| match error {
                Garbled::Version(_) => Failure::Final(format!("{address}: {error}")),
                other => again(format!("{address}: {other}")),
            })?;
        let member = match answer {
            Answer::Welcome(member) if member.host == host => member,
            Answer::Welcome(member) => {
                let name = member.hosts.get(member.host).map_or("?", String::as_str);
                let own = &at.name;
                return Err(Failure::Final(format!(
                    "{own} ({address}) is {name}: check what {own} resolves to"
                )));
            }
            Answer::Refused(why) => return Err(Failure::Final(why)),
        };
        let link = Link::new(&stream).map_err(|error| again(format!("{address}: {error}")))?;
        return Ok((stream, Event::Joined { host, way: Way::Out, link, member }));
    }
    Err(again(why))
}

fn unresolved(at: &Host, error: &io::Error) -> String {
    let name = &at.target;
    format!(
        "{name} does not resolve here ({error}): add it to DNS or /etc/hosts, or give its address, \
         {name}=ADDRESS"
    )
}

fn connect_words(address: SocketAddr, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("{address} refuses the connection: not started there, or a firewall rejects it")
        }
        io::ErrorKind::TimedOut => format!(
            "{address} did not answer within {} s: dropped on the way, or the host is down",
            CONNECT.as_secs()
        ),
        _ => format!("{address}: {error}"),
    }
}

fn greet(stream: &TcpStream, hello: &Hello) -> Result<(), Garbled> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(GREETING))?;
    let mut to = stream;
    write_version(&mut to)?;
    write_frame(&mut to, hello)?;
    read_version(&mut Until { stream, deadline: now() + GREETING })
}

fn read_answer(stream: &TcpStream) -> Result<Answer, Garbled> {
    read_frame(&mut Until { stream, deadline: now() + GREETING })
}

/// Opens a connection for a measurement.
///
/// # Errors
/// It cannot be opened.
pub(super) fn data(address: SocketAddr, data: Data) -> Result<TcpStream, String> {
    let stream = TcpStream::connect_timeout(&address, CONNECT);
    let stream = stream.map_err(|error| connect_words(address, &error))?;
    greet(&stream, &Hello::Data(data)).map_err(|error| format!("{address}: {error}"))?;
    stream.set_read_timeout(None).map_err(|error| error.to_string())?;
    Ok(stream)
}
