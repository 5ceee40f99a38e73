//! What a page holds, and how it goes to a client.

use std::convert::Infallible;
use std::io::{self, BufWriter, Cursor, IntoInnerError, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};

/// Bytes that are packed or unpacked at a time.
const PART: usize = 64 << 10;

/// The text of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// As it is.
    Plain(Bytes),
    /// In gzip, which takes a tenth of the memory: a report may have megabytes.
    Packed {
        /// The stream.
        gzip: Bytes,
        /// Bytes of the text.
        length: u64,
    },
}

impl Body {
    /// Packs what `write` writes.
    ///
    /// # Errors
    ///
    /// Those of `write`; memory takes everything.
    pub fn pack(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Self> {
        let to = GzEncoder::new(Vec::new(), Compression::fast());
        // Of writers that write word by word.
        let mut collected = BufWriter::with_capacity(PART, Counted { to, bytes: 0 });
        write(&mut collected)?;
        let Counted { to, bytes } = collected.into_inner().map_err(IntoInnerError::into_error)?;
        let mut gzip = to.finish()?;
        gzip.shrink_to_fit();
        Ok(Self::Packed { gzip: gzip.into(), length: bytes })
    }

    /// What is sent to a client, and whether that is gzip: only one who `takes_gzip` gets it.
    pub(super) fn sent(self, takes_gzip: bool) -> (Sent, bool) {
        match self {
            Self::Plain(bytes) => (Sent::whole(bytes), false),
            Self::Packed { gzip, .. } if takes_gzip => (Sent::whole(gzip), true),
            Self::Packed { gzip, length } => {
                let from = GzDecoder::new(Cursor::new(gzip));
                (Sent::Unpacked { from: Box::new(from), left: length }, false)
            }
        }
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self::Plain(bytes.into())
    }
}

/// A writer that counts.
struct Counted<W> {
    to: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The rest of an answer.
pub(super) enum Sent {
    /// `None` once it is sent.
    Whole(Option<Bytes>),
    /// Unpacked as the client takes it.
    Unpacked {
        /// The rest of it.
        from: Box<GzDecoder<Cursor<Bytes>>>,
        /// How much that is.
        left: u64,
    },
}

impl Sent {
    fn whole(bytes: Bytes) -> Self {
        Self::Whole(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
            Self::Unpacked { left, .. } => *left,
        }
    }
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut *self {
            Self::Whole(bytes) => bytes.take(),
            Self::Unpacked { from, left } => {
                let mut part = Vec::new();
                // It was packed here: nothing is wrong with it.
                _ = from.by_ref().take(PART as u64).read_to_end(&mut part);
                *left = left.saturating_sub(part.len() as u64);
                Some(Bytes::from(part)).filter(|part| !part.is_empty())
            }
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    fn text(sent: Sent) -> Vec<u8> {
        let mut context = Context::from_waker(Waker::noop());
        let (mut sent, mut text) = (pin!(sent), Vec::new());
        while let Poll::Ready(Some(Ok(frame))) = sent.as_mut().poll_frame(&mut context) {
            text.extend(frame.into_data().unwrap());
        }
        assert!(sent.is_end_stream());
        text
    }

    #[test]
    fn a_packed_text_is_the_same_unpacked() {
        let long: Vec<u8> = (0..400_000_u32).map(|at| (at % 251) as u8).collect();
        for given in [&long[..], b"x", b""] {
            let body = Body::pack(|out| out.write_all(given)).unwrap();
            let (sent, is_gzip) = body.clone().sent(false);
            assert_eq!((sent.left(), is_gzip), (given.len() as u64, false));
            assert_eq!(text(sent), given);
            let (sent, is_gzip) = body.sent(true);
            assert!(is_gzip);
            let mut unpacked = Vec::new();
            GzDecoder::new(&text(sent)[..]).read_to_end(&mut unpacked).unwrap();
            assert_eq!(unpacked, given);
        }
        assert_eq!(text(Body::from("as it is").sent(true).0), b"as it is");
    }
}
