//! A rank's connection to the store.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use super::argument::VALUE_LIMIT;
use super::request::{READY, Request, STOP_WAITING, VALIDATE, WAIT_CANCELED};
use crate::clock::Deadline;
use crate::tcp::{self, Lookout};
use crate::{DriveError, Result};

/// Longest wait before other connections are checked.
const GLANCE: Duration = Duration::from_millis(200);

/// A client that speaks the protocol of PyTorch 2.5 to 2.8. Keys are those on the wire, where
/// PyTorch prefixes most with `/`.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    peer: String,
    lookout: Lookout,
}

impl Client {
    /// Connects from `from`, an address of this host, and greets. Retries until `deadline`, because
    /// the server may start later.
    ///
    /// # Errors
    /// No store answers in time.
    pub fn connect(from: IpAddr, store: SocketAddr, deadline: Deadline) -> Result<Self> {
        let peer = format!("the store at {store}");
        let lookout = Lookout::default();
        let stream = tcp::connect(from, store, &lookout, deadline, || "the store".to_owned())?;
        let client = Self { stream, peer, lookout };
        tcp::send(&client.stream, &VALIDATE, &client.peer, &client.lookout, deadline)?;
        let nonce = std::process::id();
        client.send(&Request::Ping(nonce), deadline)?;
        let echoed = u32::from_le_bytes(client.receive(deadline, "the answer to a ping")?);
        if echoed != nonce {
            return Err(client.refused(format!("ping {echoed} instead of {nonce}")));
        }
        Ok(client)
    }

    /// The connection, so that others can watch it while they wait.
    #[must_use]
    pub fn stream(&self) -> (&TcpStream, &str) {
        (&self.stream, &self.peer)
    }

    /// # Errors
    /// As for all requests: the store goes away, times out or sends a wrong answer.
    pub fn set(&self, key: &str, value: &[u8], deadline: Deadline) -> Result<()> {
        self.send(&Request::Set { key: bytes(key), value: value.to_vec() }, deadline)
    }

    /// The value of a key, once it exists.
    ///
    /// # Errors
    /// As [`Client::set`].
    pub fn get(&self, key: &str, deadline: Deadline) -> Result<Vec<u8>> {
        self.wait(&[key], deadline, || Ok(()))?;
        self.send(&Request::Get(bytes(key)), deadline)?;
        self.receive_value(deadline, &format!("key {key}"))
    }

    /// Adds `amount` to a key's number and returns the sum.
    ///
    /// # Errors
    /// As [`Client::set`].
    pub fn add(&self, key: &str, amount: i64, deadline: Deadline) -> Result<i64> {
        self.send(&Request::Add { key: bytes(key), amount }, deadline)?;
        self.receive(deadline, "a sum").map(i64::from_le_bytes)
    }

    /// Whether all keys exist.
    ///
    /// # Errors
    /// As [`Client::set`].
    pub fn check(&self, keys: &[&str], deadline: Deadline) -> Result<bool> {
        self.send(&Request::Check(keys.iter().map(|key| bytes(key)).collect()), deadline)?;
        let [answer] = self.receive(deadline, "whether keys are there")?;
        Ok(answer == READY)
    }

    /// Sets a key to `desired` if its value is `expected`; returns its value afterwards.
    ///
    /// # Errors
    /// As [`Client::set`].
    pub fn compare_set(
        &self,
        key: &str,
        expected: &[u8],
        desired: &[u8],
        deadline: Deadline,
    ) -> Result<Vec<u8>> {
        let (expected, desired) = (expected.to_vec(), desired.to_vec());
        self.send(&Request::CompareSet { key: bytes(key), expected, desired }, deadline)?;
        self.receive_value(deadline, &format!("key {key}"))
    }

    /// Waits until all keys exist. Calls `alive` from time to time, whose error ends the wait.
    ///
    /// # Errors
    /// As [`Client::set`], or the error of `alive`.
    pub fn wait(
        &self,
        keys: &[&str],
        deadline: Deadline,
        alive: impl Fn() -> Result<()>,
    ) -> Result<()> {
        self.send(&Request::Wait(keys.iter().map(|key| bytes(key)).collect()), deadline)?;
        loop {
            let glance = Deadline::after(GLANCE.min(deadline.left()));
            match self.receive::<1>(glance, "keys") {
                Ok([STOP_WAITING]) => return Ok(()),
                Ok([answer]) => return Err(self.refused(format!("answer {answer} to a wait"))),
                Err(DriveError::Late { .. }) => {
                    let missing = || format!("key {} in {}", keys.join(", "), self.peer);
                    if let Err(error) = alive().and_then(|()| deadline.check(missing)) {
                        return if self.cancel_wait()? { Ok(()) } else { Err(error) };
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Cancels a wait; returns whether the keys arrived after all.
    fn cancel_wait(&self) -> Result<bool> {
        let deadline = Deadline::after(Duration::from_secs(1));
        self.send(&Request::CancelWait, deadline)?;
        let mut have_come = false;
        while self.receive(deadline, "the end of a wait")? != [WAIT_CANCELED] {
            have_come = true;
        }
        Ok(have_come)
    }

    fn send(&self, request: &Request, deadline: Deadline) -> Result<()> {
        tcp::send(&self.stream, &request.encode(), &self.peer, &self.lookout, deadline)
    }

    fn receive<const N: usize>(&self, deadline: Deadline, what: &str) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.receive_into(&mut bytes, deadline, what)?;
        Ok(bytes)
    }

    fn receive_value(&self, deadline: Deadline, what: &str) -> Result<Vec<u8>> {
        let len = u64::from_le_bytes(self.receive(deadline, what)?);
        let len = usize::try_from(len).ok().filter(|len| *len <= VALUE_LIMIT);
        let len = len.ok_or_else(|| self.refused("a value beyond all limits".to_owned()))?;
        let mut value = vec![0; len];
        self.receive_into(&mut value, deadline, what)?;
        Ok(value)
    }

    fn receive_into(&self, bytes: &mut [u8], deadline: Deadline, what: &str) -> Result<()> {
        let what = || format!("{what} in {}", self.peer);
        tcp::receive(&self.stream, bytes, &self.peer, &self.lookout, deadline, what)
    }

    fn refused(&self, what: String) -> DriveError {
        DriveError::Protocol { peer: self.peer.clone(), what }
    }
}

fn bytes(key: &str) -> Vec<u8> {
    key.as_bytes().to_vec()
}
