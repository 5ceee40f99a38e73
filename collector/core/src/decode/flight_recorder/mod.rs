//! Dumps of PyTorch's flight recorder (`torch/csrc/distributed/c10d/FlightRecorder.hpp`, versions 2.0
//! to 2.10 of the format): pickles, or JSON.
//!
//! A pickle is a program. Only the instructions that build plain containers are known (`pickle.rs`);
//! any other ends the reading.

mod dump;
mod pickle;

pub use self::dump::{Call, Dump, Group, Progress};
pub use self::pickle::PickleError;

/// First byte of a pickle: the instruction PROTO.
const PICKLE: u8 = 0x80;

/// Why bytes are no dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DumpError {
    /// A pickle that cannot be read.
    Pickle(PickleError),
    /// It is neither a pickle nor JSON.
    Json(String),
    /// It has neither `entries` nor `pg_config`.
    NoDump,
}

impl std::fmt::Display for DumpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pickle(error) => write!(f, "not read as a pickle: {error}"),
            Self::Json(error) => write!(f, "neither a pickle nor JSON: {error}"),
            Self::NoDump => f.write_str(
                "no dump of the flight recorder: it has neither `entries` nor `pg_config`",
            ),
        }
    }
}

impl std::error::Error for DumpError {}

impl Dump {
    /// Reads a dump.
    ///
    /// # Errors
    ///
    /// When it is no dump.
    pub fn parse(bytes: &[u8]) -> Result<Self, DumpError> {
        let value = if bytes.first() == Some(&PICKLE) {
            pickle::read(bytes).map_err(DumpError::Pickle)?
        } else {
            serde_json::from_slice(bytes).map_err(|error| DumpError::Json(error.to_string()))?
        };
        Self::from_value(&value).ok_or(DumpError::NoDump)
    }
}
