//! After the rounds: each host gives its row to all others, and passes on what they lack, as two
//! hosts that do not reach each other still reach a third.

use std::time::Instant;

use super::clock::now;
use super::matrix::Row;
use super::protocol::Message;
use super::session::{Session, bit};

/// Gives and takes rows until all hosts that can be asked have all rows, or until the deadline.
pub(super) fn exchange(session: &mut Session, own: Row, deadline: Instant) {
    let me = session.me;
    for host in session.linked() {
        give(session, host, me, &own);
    }
    if let Some(place) = session.rows.get_mut(me) {
        *place = Some(own);
    }
    wait(session, deadline, |session, host| session.rows.get(host).is_some_and(Option::is_some));

    let rows = session.rows.iter().enumerate();
    let have = rows.filter(|(_, row)| row.is_some()).fold(0, |all, (host, _)| all | bit(host));
    for host in session.linked() {
        // Who is gone needs nothing.
        _ = session.send(host, &Message::Have(have));
    }
    wait(session, deadline, |session, host| {
        session.peers.get(host).is_some_and(|peer| peer.have.is_some())
    });
    for host in session.linked() {
        let lacks = session.peers.get(host).and_then(|peer| peer.have);
        let Some(has) = lacks else { continue };
        let missing =
            (0..session.names.len()).filter(|&of| has & bit(of) == 0 && have & bit(of) != 0);
        for of in missing {
            if let Some(row) = session.rows.get(of).cloned().flatten() {
                give(session, host, of, &row);
            }
        }
        _ = session.send(host, &Message::Bye);
    }
    wait(session, deadline, |session, host| {
        session.peers.get(host).is_some_and(|peer| peer.is_done)
    });
}

fn give(session: &mut Session, host: usize, of: usize, row: &Row) {
    let (devices, rdma_note) = (row.devices.clone(), row.rdma_note.clone());
    let head = Message::Row { host: of, devices, rdma_note, cells: row.cells.len() };
    if session.send(host, &head).is_err() {
        return;
    }
    for cell in &row.cells {
        let cell = Message::Cell { host: of, cell: cell.clone() };
        if session.send(host, &cell).is_err() {
            return;
        }
        // Others send, too: who only sends makes them wait.
        while session.poll(now()).is_some() {}
    }
}

/// Waits until something holds of all hosts with a connection.
fn wait(session: &mut Session, deadline: Instant, holds: impl Fn(&Session, usize) -> bool) {
    while now() < deadline {
        let all = session.linked().into_iter().all(|host| holds(session, host));
        if all {
            return;
        }
        session.poll(deadline);
    }
}
