//! How the connections of a link are opened.
//!
//! The sender opens them one by one; on each it sends a greeting and the connection's number. The
//! last number is the control connection.

use std::net::{IpAddr, TcpListener, TcpStream};

use super::super::LinkSpec;
use super::super::dialogue::Dialogue;
use super::stripe::Connections;
use crate::clock::Deadline;
use crate::tcp::{self, Lookout};
use crate::wire::greeting::SocketType;
use crate::wire::net_socket_handle::NetSocketHandle;
use crate::{DriveError, Result};

/// The connections of one end while they are opened.
#[derive(Debug)]
pub(super) struct Opening {
    /// Index of the link's end.
    at: usize,
    link: LinkSpec,
    end: End,
    /// Number of data connections.
    sockets: usize,
    is_done: bool,
}

#[derive(Debug)]
enum End {
    Sender { handle: NetSocketHandle, said: Vec<Dialogue> },
    Receiver { listener: TcpListener, heard: Vec<Option<TcpStream>>, next: Option<Next> },
}

/// A connection whose number is not known yet.
#[derive(Debug)]
struct Next {
    dialogue: Dialogue,
    is_greeted: bool,
}

impl Opening {
    pub(super) fn of_sender(at: usize, link: LinkSpec, handle: NetSocketHandle) -> Self {
        let end = End::Sender { handle, said: Vec::new() };
        Self { at, link, end, sockets: handle.sockets as usize, is_done: false }
    }

    pub(super) fn of_receiver(
        at: usize,
        link: LinkSpec,
        listener: TcpListener,
        sockets: usize,
    ) -> Self {
        let heard = (0..=sockets).map(|_| None).collect();
        let end = End::Receiver { listener, heard, next: None };
        Self { at, link, end, sockets, is_done: false }
    }

    fn peer(&self) -> String {
        match self.end {
            End::Sender { .. } => format!("rank {}", self.link.receiver),
            End::Receiver { .. } => format!("rank {}", self.link.sender),
        }
    }

    /// What the link waits for, in words to be followed by "did not come".
    pub(super) fn waits_for(&self) -> String {
        format!("{}'s connections for channel {}", self.peer(), self.link.channel)
    }

    /// Whether the connections were handed over.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// The sender connects without waiting for the receiver to accept.
    pub(super) fn start(
        &mut self,
        from: IpAddr,
        lookout: &Lookout,
        deadline: Deadline,
    ) -> Result<()> {
        let LinkSpec { receiver, channel, .. } = self.link;
        let End::Sender { handle, said } = &mut self.end else { return Ok(()) };
        let what = || format!("rank {receiver}'s NET/Socket listener of channel {channel}");
        for number in 0..=handle.sockets {
            let stream = tcp::connect(from, handle.listener, lookout, deadline, what)?;
            let mut dialogue = Dialogue::new(stream);
            dialogue.greet(SocketType::NetSocket);
            dialogue.say([number as u8]);
            said.push(dialogue);
        }
        Ok(())
    }

    /// Continues as far as the peer allows; returns the connections, and whose they are, once.
    pub(super) fn advance(&mut self) -> Result<Option<(usize, Connections)>> {
        if self.is_done {
            return Ok(None);
        }
        let lost = DriveError::PeerLost {
            peer: self.peer(),
            during: format!("opening NET/Socket connections of channel {}", self.link.channel),
        };
        let streams = match &mut self.end {
            End::Sender { said, .. } => {
                for dialogue in &mut *said {
                    match dialogue.pump() {
                        Ok(true) => {}
                        Ok(false) => return Ok(None),
                        Err(_) => return Err(lost),
                    }
                }
                said.drain(..).map(|dialogue| Some(dialogue.into_stream())).collect()
            }
            End::Receiver { listener, heard, next } => {
                while heard.iter().any(Option::is_none) {
                    if !accept(listener, heard, next)? {
                        return Ok(None);
                    }
                }
                std::mem::take(heard)
            }
        };
        self.is_done = true;
        let mut streams: Vec<TcpStream> = streams.into_iter().flatten().collect();
        let Some(control) = streams.pop() else { return Err(lost) };
        debug_assert_eq!(streams.len(), self.sockets);
        Ok(Some((self.at, Connections::new(control, streams))))
    }
}

/// Continues with the next connection; `false` if it has to wait. A client that does not greet like
/// a rank, or sends an invalid or used number, is dropped.
fn accept(
    listener: &TcpListener,
    heard: &mut [Option<TcpStream>],
    next: &mut Option<Next>,
) -> Result<bool> {
    let Some(Next { dialogue, is_greeted }) = next else {
        let accepted = Dialogue::accept(listener).map_err(DriveError::io("accept"))?;
        *next = accepted.map(|dialogue| Next { dialogue, is_greeted: false });
        return Ok(next.is_some());
    };
    if !*is_greeted {
        match dialogue.is_greeted(SocketType::NetSocket) {
            Ok(None) => return Ok(false),
            Ok(Some(true)) => *is_greeted = true,
            Ok(Some(false)) | Err(_) => *next = None,
        }
        return Ok(true);
    }
    match dialogue.hear(1) {
        Ok(None) => return Ok(false),
        Ok(Some(number)) => {
            let place = number.first().and_then(|&number| heard.get_mut(usize::from(number)));
            if let Some(place @ None) = place {
                *place = next.take().map(|next| next.dialogue.into_stream());
            }
            *next = None;
        }
        Err(_) => *next = None,
    }
    Ok(true)
}
