//! The uncompressed bytes of a file: gzip (several members) and zstd (several frames) or as they are.

use std::fmt;
use std::io::{self, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::ahead::Ahead;
use super::compression::Compression;
use super::event::Progress;
use super::input::Input;
use super::problem::ProblemKind;

/// Bytes read at once from a compressed file.
const COMPRESSED_BUFFER_BYTES: usize = 128 * 1024;

/// The uncompressed bytes of an input.
pub(in crate::ingest) struct Stream {
    name: String,
    compression: Compression,
    bytes: Bytes,
}

enum Bytes {
    Plain(Input),
    Gzip(Box<MultiGzDecoder<BufReader<Input>>>),
    Zstd(zstd::stream::read::Decoder<'static, BufReader<Input>>),
    Ahead(Ahead),
}

impl Stream {
    pub(in crate::ingest) fn open(mut input: Input) -> io::Result<Self> {
        let name = input.name.clone();
        let compression = Compression::recognise(input.peek_start()?);
        let buffered = |input| BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, input);
        let bytes = match compression {
            Compression::None => Bytes::Plain(input),
            Compression::Gzip => Bytes::Gzip(Box::new(MultiGzDecoder::new(buffered(input)))),
            Compression::Zstd => {
                Bytes::Zstd(zstd::stream::read::Decoder::with_buffer(buffered(input))?)
            }
        };
        Ok(Self { name, compression, bytes })
    }

    /// Decompresses on another thread from now on. What is not compressed stays here: moving it to another core
    /// takes longer than reading it.
    pub(super) fn decompress_ahead(self) -> Self {
        let Self { name, compression, bytes } = self;
        if compression == Compression::None {
            return Self { name, compression, bytes };
        }
        match Ahead::start(Box::new(Self { name: name.clone(), compression, bytes })) {
            Ok(ahead) => Self { name, compression, bytes: Bytes::Ahead(ahead) },
            Err(here) => *here,
        }
    }

    /// Its input from the start on; `None` if it is compressed or can be read only once.
    pub(super) fn again(&self) -> Option<Input> {
        match &self.bytes {
            Bytes::Plain(input) => input.again(),
            Bytes::Gzip(_) | Bytes::Zstd(_) | Bytes::Ahead(_) => None,
        }
    }

    /// The file, as the user named it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn compression(&self) -> Compression {
        self.compression
    }

    pub(in crate::ingest) fn progress(&self) -> Progress {
        match &self.bytes {
            Bytes::Plain(input) => input.progress(),
            Bytes::Gzip(decoder) => decoder.get_ref().get_ref().progress(),
            Bytes::Zstd(decoder) => decoder.get_ref().get_ref().progress(),
            Bytes::Ahead(ahead) => ahead.progress(),
        }
    }

    /// Reads once, and again if a signal interrupted it; 0 at the end.
    pub(in crate::ingest) fn read(&mut self, into: &mut [u8]) -> Result<usize, ProblemKind> {
        let compression = self.compression;
        let reader: &mut dyn Read = match &mut self.bytes {
            Bytes::Plain(input) => input,
            Bytes::Gzip(decoder) => decoder,
            Bytes::Zstd(decoder) => decoder,
            Bytes::Ahead(ahead) => return ahead.read(into),
        };
        loop {
            match reader.read(into) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(problem_of(compression, &error)),
            }
        }
    }
}

fn problem_of(compression: Compression, error: &io::Error) -> ProblemKind {
    // An error with an errno comes from below the decoder: from the disk, not from the content.
    if compression == Compression::None || error.raw_os_error().is_some() {
        ProblemKind::Unreadable(error.to_string())
    } else if error.kind() == io::ErrorKind::UnexpectedEof {
        ProblemKind::CompressedCut(compression)
    } else {
        ProblemKind::CompressedDamaged(compression, error.to_string())
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.compression, self.name)
    }
}
