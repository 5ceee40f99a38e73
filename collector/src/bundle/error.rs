//! Why a bundle cannot be written or read.

use std::io;

/// What is wrong; the caller names the file.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The archive cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It ends too early, or its compressed data is damaged.
    #[error("the bundle is truncated or damaged {place}: {source}; copy it again")]
    Damaged {
        /// Where it was noticed.
        place: String,
        /// What the decoder says.
        source: io::Error,
    },
    /// The first member is not the manifest.
    #[error("it is no bundle: its first member is not manifest.json")]
    NoManifest,
    /// The manifest is not valid.
    #[error("manifest.json is not valid: {0}")]
    Manifest(String),
    /// A later release wrote it.
    #[error(
        "manifest.json has the schema {0}, this release reads railscope.bundle/1: use a later release"
    )]
    Schema(String),
    /// More than the limits allow.
    #[error("{0}")]
    Limit(String),
    /// A member that the manifest does not list, or lists once and is there twice.
    #[error("member {0} is not in the manifest, or comes twice: the bundle was changed")]
    NotListed(String),
    /// A link, device or folder.
    #[error("member {0} is not a regular file: the bundle was changed")]
    NotRegular(String),
    /// Size or SHA-256 differ from the manifest.
    #[error("member {0} is not what the manifest says: it was changed or damaged")]
    Changed(String),
    /// The archive ends without it.
    #[error("member {0} is missing: the bundle is truncated; copy it again")]
    Missing(String),
    /// A file changed between two reads.
    #[error("{0} became shorter or was changed while it was read: write the bundle again")]
    Moving(String),
}
