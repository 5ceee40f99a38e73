//! Why a part cannot be used.

use std::io;

use thiserror::Error;

/// Why a part cannot be written, read or judged.
#[derive(Debug, Error)]
pub enum PartError {
    /// It is none.
    #[error("{file} is no part: `railscope analyze --partial FILE` writes one")]
    NoPart {
        /// The file.
        file: String,
    },
    /// Another version of the program wrote it.
    #[error(
        "{file} was written by railscope {theirs}, and this is {ours}: reduce the captures with the version \
         that judges the parts"
    )]
    OtherVersion {
        /// The file.
        file: String,
        /// What wrote it.
        theirs: String,
        /// What reads it.
        ours: String,
    },
    /// Its format is another one.
    #[error(
        "{file} has the format of another version of railscope: reduce its captures with this one"
    )]
    OtherFormat {
        /// The file.
        file: String,
    },
    /// It ends too early, or holds what was never written.
    #[error("{file} is truncated or damaged ({why}): reduce its captures again")]
    Damaged {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// Two parts were made with different options.
    #[error(
        "{file} was made with --{option} {theirs}, and {other} with {ours}: reduce all captures with the same \
         options"
    )]
    OtherOptions {
        /// The file.
        file: String,
        /// The name of the option.
        option: String,
        /// Its value there.
        theirs: String,
        /// The part before.
        other: String,
        /// The value there.
        ours: String,
    },
    /// A capture is in two parts.
    #[error("{file}:{capture} is the same capture as {other}: judge each capture once")]
    Twice {
        /// The capture.
        capture: String,
        /// A part.
        file: String,
        /// The part before.
        other: String,
    },
    /// It cannot be read or written.
    #[error("{file}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}
