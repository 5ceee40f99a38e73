//! Round trip and bandwidth over TCP connections that are already open.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::clock::{left, now};
use super::protocol::Until;
use super::statistic::round_trip;

/// Bytes of a ping.
const PING: usize = 64;
/// Pings of a round trip, at most and at least, and for how long; where they take long, the least is
/// given up after [`ANSWER`].
const PINGS: usize = 500;
const FEWEST_PINGS: usize = 10;
const PINGING: Duration = Duration::from_millis(200);
/// Longest wait for one answer.
const ANSWER: Duration = Duration::from_secs(2);
/// Bytes of a read or write.
const CHUNK: usize = 256 * 1024;
/// Share of a bandwidth measurement that is not counted: connections first find their speed.
const WARM_UP: f64 = 0.2;
/// Longest wait for the first byte.
const FIRST: Duration = Duration::from_secs(3);

/// The median round trip and its tenth percentile, in µs.
///
/// # Errors
/// No answer.
pub(super) fn ping(mut stream: &TcpStream) -> Result<(f64, f64), String> {
    let start = now();
    let mut times = Vec::new();
    let mut bytes = [0; PING];
    while times.len() < PINGS {
        let limit = if times.len() < FEWEST_PINGS { ANSWER } else { PINGING };
        if !times.is_empty() && start.elapsed() >= limit {
            break;
        }
        let began = now();
        let answered = stream
            .write_all(&bytes)
            .and_then(|()| Until { stream, deadline: began + ANSWER }.read_exact(&mut bytes));
        if let Err(error) = answered {
            // Answers that came are worth telling; loss makes the next one late.
            if times.is_empty() {
                return Err(format!("no answer to a ping of {PING} bytes: {error}"));
            }
            break;
        }
        times.push(began.elapsed().as_secs_f64() * 1e6);
    }
    // The first one warms caches.
    if times.len() > 1 {
        times.remove(0);
    }
    round_trip(&mut times).ok_or_else(|| "no answer".to_owned())
}

/// Answers pings until the peer ends.
pub(super) fn answer(mut stream: &TcpStream) {
    let deadline = now() + PINGING + ANSWER * 2;
    let mut bytes = [0; PING];
    let mut from = Until { stream, deadline };
    while from.read_exact(&mut bytes).is_ok() {
        if stream.write_all(&bytes).is_err() {
            return;
        }
    }
}

/// Sends as much as the peer takes, until it ends or a second after `time`.
pub(super) fn send(streams: Vec<TcpStream>, time: Duration) {
    let end = now() + time + FIRST;
    let senders: Vec<_> =
        streams.into_iter().map(|stream| in_thread(move || flood(&stream, end))).collect();
    for sender in senders.into_iter().flatten() {
        _ = sender.join();
    }
}

fn in_thread(work: impl FnOnce() + Send + 'static) -> Option<thread::JoinHandle<()>> {
    thread::Builder::new().spawn(work).ok()
}

fn flood(mut stream: &TcpStream, end: Instant) {
    let bytes = vec![0; CHUNK];
    while !left(end).is_zero() {
        let limit = left(end).max(Duration::from_millis(1));
        if stream.set_write_timeout(Some(limit)).is_err() || stream.write(&bytes).is_err() {
            break;
        }
    }
    _ = stream.shutdown(Shutdown::Both);
}

/// Counts what comes for `time`; returns Gb/s of the part after the warm-up.
///
/// # Errors
/// Nothing comes.
pub(super) fn receive(streams: Vec<TcpStream>, time: Duration) -> Result<f64, String> {
    let counted = Arc::new(AtomicU64::new(0));
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = streams
        .iter()
        .filter_map(|stream| stream.try_clone().ok())
        .map(|stream| {
            let (counted, is_over) = (Arc::clone(&counted), Arc::clone(&is_over));
            in_thread(move || count(&stream, &counted, &is_over))
        })
        .collect();
    let rate = rate(&counted, time);
    is_over.store(true, Ordering::Relaxed);
    for stream in &streams {
        _ = stream.shutdown(Shutdown::Both);
    }
    for reader in readers.into_iter().flatten() {
        _ = reader.join();
    }
    rate
}

fn count(mut stream: &TcpStream, counted: &AtomicU64, is_over: &AtomicBool) {
    let mut bytes = vec![0; CHUNK];
    while !is_over.load(Ordering::Relaxed) {
        match stream.read(&mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(more) => _ = counted.fetch_add(more as u64, Ordering::Relaxed),
        }
    }
}

fn rate(counted: &AtomicU64, time: Duration) -> Result<f64, String> {
    const LOOK: Duration = Duration::from_millis(1);
    let deadline = now() + FIRST;
    while counted.load(Ordering::Relaxed) == 0 {
        if left(deadline).is_zero() {
            return Err(format!("no byte of a stream came within {} s", FIRST.as_secs()));
        }
        thread::sleep(LOOK);
    }
    thread::sleep(time.mul_f64(WARM_UP));
    let (began, before) = (now(), counted.load(Ordering::Relaxed));
    thread::sleep(time.mul_f64(1.0 - WARM_UP));
    let bytes = counted.load(Ordering::Relaxed).saturating_sub(before);
    Ok(bytes as f64 * 8.0 / began.elapsed().as_secs_f64().max(1e-9) / 1e9)
}
