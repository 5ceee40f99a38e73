//! The uncompressed bytes of a file: gzip (several members) and zstd (several frames) or as they are.

use std::fmt;
use std::io::{self, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::compression::Compression;
use super::input::Input;
use super::problem::ProblemKind;

/// Bytes read at once from a compressed file.
const COMPRESSED_BUFFER_BYTES: usize = 128 * 1024;

/// The uncompressed bytes of an input.
pub(in crate::ingest) enum Stream {
    Plain(Input),
    Gzip(Box<MultiGzDecoder<BufReader<Input>>>),
    Zstd(zstd::stream::read::Decoder<'static, BufReader<Input>>),
}

impl Stream {
    pub(in crate::ingest) fn open(mut input: Input) -> io::Result<Self> {
        let compression = Compression::recognise(input.peek_start()?);
        if compression == Compression::None {
            return Ok(Self::Plain(input));
        }
        let buffered = BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, input);
        match compression {
            Compression::Zstd => zstd::stream::read::Decoder::with_buffer(buffered).map(Self::Zstd),
            _ => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(buffered)))),
        }
    }

    pub(in crate::ingest) fn input(&self) -> &Input {
        match self {
            Self::Plain(input) => input,
            Self::Gzip(decoder) => decoder.get_ref().get_ref(),
            Self::Zstd(decoder) => decoder.get_ref().get_ref(),
        }
    }

    pub(super) fn compression(&self) -> Compression {
        match self {
            Self::Plain(_) => Compression::None,
            Self::Gzip(_) => Compression::Gzip,
            Self::Zstd(_) => Compression::Zstd,
        }
    }

    /// Reads once, and again if a signal interrupted it; 0 at the end.
    pub(in crate::ingest) fn read(&mut self, into: &mut [u8]) -> Result<usize, ProblemKind> {
        let compression = self.compression();
        let reader: &mut dyn Read = match self {
            Self::Plain(input) => input,
            Self::Gzip(decoder) => decoder,
            Self::Zstd(decoder) => decoder,
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
        write!(f, "{} {:?}", self.compression(), self.input())
    }
}
