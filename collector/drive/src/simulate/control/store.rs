//! How the ranks meet in PyTorch's TCPStore, in the order of `store::rendezvous`: the same
//! requests, answered by the same store.

use super::cast::Cast;
use super::transcript::{LATENCY_NS, Line, Speaker, Transcript};
use crate::simulate::time::VirtualTime;
use crate::store::contents::Contents;
use crate::store::rendezvous::{ARRIVALS_KEY, UNIQUE_ID_KEY};
use crate::store::request::{Request, STOP_WAITING, VALIDATE};
use crate::wire::UniqueId;

/// Time the store takes to answer, ns.
const ANSWER_NS: u64 = 20_000;

/// Time until rank 0 notices the last arrival and creates the unique id, ns.
const COUNT_NS: u64 = 10_000_000;

struct Session<'a, 'p> {
    transcript: &'a mut Transcript<'p>,
    contents: Contents,
    lines: Vec<Line>,
    /// When each rank can continue.
    times: Vec<VirtualTime>,
}

/// Lets all ranks meet; `times` are their arrivals, and afterwards when they know the unique id.
///
/// # Errors
/// The store refuses a request.
pub(super) fn meet(
    cast: &Cast,
    id: &UniqueId,
    transcript: &mut Transcript<'_>,
    times: Vec<VirtualTime>,
) -> Result<Vec<VirtualTime>, String> {
    let ranks = cast.actors.len();
    let mut session =
        Session { transcript, contents: Contents::default(), lines: Vec::new(), times };
    for (actor, at) in cast.actors.iter().zip(session.times.clone()) {
        let line = session.transcript.open(actor.address, cast.store, at);
        session.lines.push(line);
        session.transcript.say(line, Speaker::Client, at, VALIDATE);
    }
    let mut in_order: Vec<usize> = (0..ranks).collect();
    in_order.sort_by_key(|rank| session.times.get(*rank).copied());
    for rank in &in_order {
        let nonce = cast.actors.get(*rank).map_or(0, |actor| actor.pid);
        session.ask(*rank, Request::Ping(nonce))?;
        session.ask(*rank, Request::Add { key: ARRIVALS_KEY.into(), amount: 1 })?;
    }
    let all_here = session.times.iter().copied().max().unwrap_or_default().after(COUNT_NS);
    for rank in in_order.into_iter().filter(|rank| *rank != 0) {
        session.ask(rank, Request::Wait(vec![UNIQUE_ID_KEY.into()]))?;
    }
    session.wait_until(0, all_here);
    session.ask(0, Request::Wait(vec![ARRIVALS_KEY.into()]))?;
    session.ask(0, Request::Get(ARRIVALS_KEY.into()))?;
    session.ask(0, Request::Set { key: UNIQUE_ID_KEY.into(), value: id.0.to_vec() })?;
    for rank in 1..ranks {
        session.ask(rank, Request::Get(UNIQUE_ID_KEY.into()))?;
    }
    Ok(session.times)
}

impl Session<'_, '_> {
    /// A rank sends a request and continues after the answer, if there is one.
    fn ask(&mut self, rank: usize, request: Request) -> Result<(), String> {
        let (Some(&line), Some(&at)) = (self.lines.get(rank), self.times.get(rank)) else {
            return Ok(());
        };
        let heard = self.transcript.say(line, Speaker::Client, at, request.encode());
        let answered = heard.after(ANSWER_NS);
        let answer = self.contents.serve(rank as u64, request)?;
        if !answer.bytes.is_empty() {
            let heard = self.transcript.say(line, Speaker::Server, answered, answer.bytes);
            self.wait_until(rank, heard);
        } else {
            self.wait_until(rank, heard.after(LATENCY_NS));
        }
        for woken in answer.woken {
            let Some(&line) = self.lines.get(woken as usize) else { continue };
            let heard = self.transcript.say(line, Speaker::Server, answered, [STOP_WAITING]);
            self.wait_until(woken as usize, heard);
        }
        Ok(())
    }

    fn wait_until(&mut self, rank: usize, time: VirtualTime) {
        if let Some(at) = self.times.get_mut(rank) {
            *at = (*at).max(time);
        }
    }
}
