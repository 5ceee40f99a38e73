//! PyTorch's TCPStore (`torch/csrc/distributed/c10d/TCPStore.cpp`, `TCPStoreBackend.cpp`,
//! `TCPStoreLibUvBackend.cpp`): its queries, and the items of requests and replies.
//!
//! A request is a byte that names the query, and its items. Integers are little-endian as on the
//! host; keys and values are a 64-bit length and their bytes.

/// Opening of a client of PyTorch 2.2 or later: the query VALIDATE and this number.
pub const VALIDATION: [u8; 5] = [0x00, 0xce, 0xf7, 0x85, 0x3c];

/// A query to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Query {
    /// Validates the client (2.2 and later).
    Validate,
    /// Sets a value.
    Set,
    /// Sets a value if it was the expected one.
    CompareSet,
    /// Gets a value.
    Get,
    /// Adds to a number.
    Add,
    /// Asks whether keys exist.
    Check,
    /// Waits until keys exist.
    Wait,
    /// Asks how many keys there are.
    GetNumKeys,
    /// Deletes a key.
    DeleteKey,
    /// Appends to a value (2.1 and later).
    Append,
    /// Gets several values (2.1 and later).
    MultiGet,
    /// Sets several values (2.1 and later).
    MultiSet,
    /// Cancels a [`Query::Wait`] (2.1 and later).
    CancelWait,
    /// Asks for an echo (2.5 and later).
    Ping,
    /// Puts a value into a queue (2.8 and later, like all that follow).
    QueuePush,
    /// Takes a value out of a queue.
    QueuePop,
    /// Asks how long a queue is.
    QueueLen,
    /// Asks for all keys.
    ListKeys,
    /// Waits until this many clients wait.
    Barrier,
}

/// Numbering of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// PyTorch 2.2 and later, which start with [`VALIDATION`].
    Validated,
    /// PyTorch 2.1 and before. Number 8 is ambiguous and left out: APPEND in 2.1, DELETE_KEY in 1.9
    /// to 2.0, where 7 was WATCH_KEY, which clients sent on a separate connection.
    Unvalidated,
}

impl Numbering {
    /// The query with this number.
    #[must_use]
    pub const fn query(self, code: u8) -> Option<Query> {
        let code = match (self, code) {
            (Self::Validated, code) => code,
            (Self::Unvalidated, 0..=7) => code.saturating_add(1),
            (Self::Unvalidated, 9..=11) => code.saturating_add(1),
            (Self::Unvalidated, _) => return None,
        };
        Some(match code {
            0 => Query::Validate,
            1 => Query::Set,
            2 => Query::CompareSet,
            3 => Query::Get,
            4 => Query::Add,
            5 => Query::Check,
            6 => Query::Wait,
            7 => Query::GetNumKeys,
            8 => Query::DeleteKey,
            9 => Query::Append,
            10 => Query::MultiGet,
            11 => Query::MultiSet,
            12 => Query::CancelWait,
            13 => Query::Ping,
            14 => Query::QueuePush,
            15 => Query::QueuePop,
            16 => Query::QueueLen,
            17 => Query::ListKeys,
            18 => Query::Barrier,
            _ => return None,
        })
    }
}

/// A part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// Length, then bytes of a key.
    Key,
    /// Length, then bytes of a value.
    Value,
    /// A number of 8 bytes.
    Number,
    /// A number of 4 bytes.
    Nonce,
}

/// The items of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// These.
    Once(&'static [Item]),
    /// A 64-bit count, and that many repetitions.
    Counted(&'static [Item]),
}

/// The server's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing.
    None,
    /// The number that was sent, 4 bytes.
    Nonce,
    /// One byte, 0 or 1: yes or no.
    Byte,
    /// A number of 8 bytes.
    Number,
    /// Length, then bytes of a value.
    Value,
    /// A value for each requested key.
    ValuePerKey,
    /// A number of 8 bytes, and a value if it is not 0.
    ValueIfAny,
    /// A 64-bit count, and that many keys.
    CountedKeys,
}

impl Query {
    /// The items after the query's number.
    #[must_use]
    pub const fn items(self) -> Items {
        use Item::{Key, Nonce, Number, Value};
        match self {
            Self::Validate | Self::Ping => Items::Once(&[Nonce]),
            Self::Set | Self::Append | Self::QueuePush => Items::Once(&[Key, Value]),
            Self::CompareSet => Items::Once(&[Key, Value, Value]),
            Self::Get | Self::DeleteKey | Self::QueuePop | Self::QueueLen => Items::Once(&[Key]),
            Self::Add | Self::Barrier => Items::Once(&[Key, Number]),
            Self::Check | Self::Wait | Self::MultiGet => Items::Counted(&[Key]),
            Self::MultiSet => Items::Counted(&[Key, Value]),
            Self::GetNumKeys | Self::CancelWait | Self::ListKeys => Items::Once(&[]),
        }
    }

    /// What the server answers to it.
    #[must_use]
    pub const fn reply(self) -> Reply {
        match self {
            Self::Validate | Self::Set | Self::Append | Self::MultiSet | Self::QueuePush => {
                Reply::None
            }
            Self::Ping => Reply::Nonce,
            Self::Check | Self::Wait | Self::CancelWait | Self::Barrier => Reply::Byte,
            Self::Add | Self::GetNumKeys | Self::DeleteKey | Self::QueueLen => Reply::Number,
            Self::Get | Self::CompareSet => Reply::Value,
            Self::MultiGet => Reply::ValuePerKey,
            Self::QueuePop => Reply::ValueIfAny,
            Self::ListKeys => Reply::CountedKeys,
        }
    }
}
