//! Shortens pcapng captures of the simulator where they lie: the same bytes on every machine.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;

/// Type and length of a block.
const HEAD: usize = 8;

/// Of a packet: head, interface, time, both lengths.
const PACKET_HEAD: usize = 28;

/// The option with the resolution of times, and the value for nanoseconds.
const RESOLUTION: [u8; 5] = [9, 0, 1, 0, 9];

/// Keeps the first `most` bytes of each frame.
pub(super) fn cut(path: &Path, most: u32) -> Result<()> {
    rewrite(path, |_| true, most)
}

/// Drops the frames of the last `span_ns`.
pub(super) fn end_early(path: &Path, span_ns: u64) -> Result<()> {
    let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
    let mut last_ns = 0;
    for block in blocks(&bytes) {
        if let Some(time_ns) = time_ns(block.with_context(|| path.display().to_string())?) {
            last_ns = last_ns.max(time_ns);
        }
    }
    rewrite(path, |time_ns| time_ns + span_ns < last_ns, u32::MAX)
}

fn rewrite(path: &Path, is_kept: impl Fn(u64) -> bool, most: u32) -> Result<()> {
    let name = || path.display().to_string();
    let bytes = fs::read(path).with_context(name)?;
    let mut left = Vec::with_capacity(bytes.len());
    for block in blocks(&bytes) {
        let block = block.with_context(name)?;
        match time_ns(block) {
            None => left.extend_from_slice(block),
            Some(time_ns) if is_kept(time_ns) => {
                shorten(block, most, &mut left).with_context(name)?;
            }
            Some(_) => {}
        }
    }
    fs::write(path, left).with_context(name)
}

/// Appends the block of a packet, without the options of one that is cut.
fn shorten(block: &[u8], most: u32, left: &mut Vec<u8>) -> Result<()> {
    let captured = word(block, 20).context("a packet has a length")?;
    if captured <= most {
        left.extend_from_slice(block);
        return Ok(());
    }
    let data = PACKET_HEAD..PACKET_HEAD + most.next_multiple_of(4) as usize;
    let len = (data.end + 4) as u32;
    let start = left.len();
    left.extend_from_slice(block.get(..data.end).context("a packet ends in its block")?);
    for (at, value) in [(4, len), (20, most)] {
        let place = left.get_mut(start + at..start + at + 4).context("the head of a packet")?;
        place.copy_from_slice(&value.to_le_bytes());
    }
    // Padding is zero.
    let frame_end = start + PACKET_HEAD + most as usize;
    left.get_mut(frame_end..).unwrap_or_default().fill(0);
    left.extend_from_slice(&len.to_le_bytes());
    Ok(())
}

fn word(block: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(block.get(at..at + 4)?.try_into().ok()?))
}

/// The time of a packet; `None` for other blocks.
fn time_ns(block: &[u8]) -> Option<u64> {
    (word(block, 0)? == PACKET)
        .then(|| Some(u64::from(word(block, 12)?) << 32 | u64::from(word(block, 16)?)))?
}

/// The blocks of a capture, little-endian, in nanoseconds.
fn blocks(bytes: &[u8]) -> impl Iterator<Item = Result<&[u8]>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let block = first(rest);
        rest = match &block {
            Ok(block) => rest.get(block.len()..).unwrap_or_default(),
            Err(_) => &[],
        };
        Some(block)
    })
}

fn first(bytes: &[u8]) -> Result<&[u8]> {
    let len = word(bytes, 4).context("a block has a length")? as usize;
    ensure!(len >= HEAD + 4 && len.is_multiple_of(4), "a block of {len} bytes");
    let block = bytes.get(..len).context("a block ends in the file")?;
    match word(block, 0) {
        Some(SECTION) => ensure!(word(block, 8) == Some(0x1a2b_3c4d), "not little-endian"),
        Some(INTERFACE) => {
            let options = block.get(16..).unwrap_or_default();
            ensure!(options.windows(5).any(|one| one == RESOLUTION), "not in nanoseconds");
        }
        Some(_) => {}
        None => bail!("a block has a type"),
    }
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A section, an interface with nanoseconds, and frames of ten bytes at these times.
    fn capture(times_ns: &[u64]) -> Vec<u8> {
        let block = |kind: u32, body: &[u8]| {
            let len = (body.len() + 12) as u32;
            [&kind.to_le_bytes(), &len.to_le_bytes(), body, &len.to_le_bytes()].concat()
        };
        let mut bytes =
            block(SECTION, &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(block(INTERFACE, &[1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0]));
        for time_ns in times_ns {
            let words = [0, (time_ns >> 32) as u32, *time_ns as u32, 10, 60].map(u32::to_le_bytes);
            let body = [words.as_flattened(), &[7; 10], &[0; 2]].concat();
            bytes.extend(block(PACKET, &body));
        }
        bytes
    }

    fn rewritten(bytes: &[u8], change: impl Fn(&Path) -> Result<()>) -> Result<Vec<u8>> {
        let name = format!("railscope-pcapng-{}-{:x}", std::process::id(), bytes.as_ptr() as usize);
        let path = std::env::temp_dir().join(name);
        fs::write(&path, bytes)?;
        let outcome = change(&path).and_then(|()| Ok(fs::read(&path)?));
        fs::remove_file(&path)?;
        outcome
    }

    #[test]
    fn the_end_is_dropped_and_frames_are_cut() -> Result<()> {
        let whole = capture(&[5, 1 << 33, (1 << 33) + 10]);
        let early = rewritten(&whole, |path| end_early(path, 10))?;
        assert_eq!(early, capture(&[5]));
        let cut = rewritten(&early, |path| cut(path, 6))?;
        assert_eq!(cut.len(), early.len() - 4);
        let packet = cut.get(cut.len() - 40..).unwrap_or_default();
        assert_eq!(
            (word(packet, 4), word(packet, 20), word(packet, 24)),
            (Some(40), Some(6), Some(60))
        );
        assert_eq!(packet.get(28..36), Some(&[7, 7, 7, 7, 7, 7, 0, 0][..]));
        assert_eq!(word(packet, 36), Some(40));
        Ok(())
    }

    #[test]
    fn other_files_are_refused() {
        let broken = [&b"\n\r\r\n"[..], &[0; 40]].concat();
        for bytes in [&b"not a capture at all"[..], &broken, &capture(&[5])[..90]] {
            assert!(rewritten(bytes, |path| cut(path, 6)).is_err());
        }
    }
}
