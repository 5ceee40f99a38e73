//! `AF_PACKET` with a ring of blocks that the kernel fills (`TPACKET_V3`, packet(7) and
//! Documentation/networking/packet_mmap.rst).
//!
//! Its own, not that of the collector's sources, so that a mistake there does not go into the captures that
//! it is judged by. It reads less: no VLAN tags, no direction, one size of ring.
#![expect(unsafe_code, reason = "memory shared with the kernel")]

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::SockFlag;

use crate::packet_socket::{self, check, set_option};

/// Block size in bytes, and number of blocks.
const BLOCK: usize = 1 << 20;
const BLOCKS: usize = 64;

/// The kernel divides blocks by frames; only earlier versions use the frame size.
const FRAME: usize = 2048;

/// `struct tpacket_block_desc`: owner, number of frames, offset of the first.
const STATUS: usize = 8;
const FRAMES: usize = 12;
const FIRST: usize = 16;

/// `struct tpacket3_hdr`
const NEXT: usize = 0;
const SECONDS: usize = 4;
const NANOSECONDS: usize = 8;
const CAPTURED: usize = 12;
const LENGTH: usize = 16;
const MAC: usize = 24;

/// A captured frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    /// Seconds since 1970.
    pub(super) seconds: u32,
    pub(super) nanoseconds: u32,
    /// Length on the wire.
    pub(super) length: u32,
    pub(super) bytes: &'a [u8],
}

/// A packet socket with its ring.
#[derive(Debug)]
pub(super) struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    next: usize,
}

// SAFETY: the memory belongs to the ring alone, and only `&mut Ring` reads it.
unsafe impl Send for Ring {}

impl Ring {
    /// Opens a ring at an interface of the calling thread's namespace.
    pub(super) fn open(interface: &str, snaplen: u32, retire: Duration) -> io::Result<Self> {
        let socket = packet_socket::open(SockFlag::empty())?;
        let version: c_int = libc::tpacket_versions::TPACKET_V3 as c_int;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        if interface == "lo" {
            // On loopback, each frame passes twice: out and in.
            let yes: c_int = 1;
            set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &yes)?;
        }
        // BPF_RET | BPF_K
        let cut = [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: snaplen }];
        packet_socket::keep_only(&socket, cut)?;
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: (BLOCK * BLOCKS / FRAME) as u32,
            tp_retire_blk_tov: u32::try_from(retire.as_millis()).unwrap_or(u32::MAX),
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping of the ring, whose size the request has set.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                BLOCK * BLOCKS,
                access,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("no memory"))?;
        let ring = Self { socket, memory, next: 0 };
        packet_socket::bind(&ring.socket, interface)?;
        Ok(ring)
    }

    /// Waits for a block, at most for `patience`; returns whether there is one.
    pub(super) fn wait(&self, patience: Duration) -> io::Result<bool> {
        if self.is_ready() {
            return Ok(true);
        }
        let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN | PollFlags::POLLERR)];
        let millis = u16::try_from(patience.as_millis()).unwrap_or(u16::MAX);
        match poll(&mut fds, PollTimeout::from(millis)) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(self.is_ready()),
            Err(error) => Err(error.into()),
        }
    }

    fn is_ready(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Who owns the next block.
    fn status(&self) -> &AtomicU32 {
        // SAFETY: within the mapping and aligned: blocks begin at multiples of their size. The kernel
        // writes this word while we may read it, hence the atomic.
        unsafe { AtomicU32::from_ptr(self.memory.add(self.next * BLOCK + STATUS).as_ptr().cast()) }
    }

    /// The frames of the next block that the kernel has filled; dropping them returns the block.
    pub(super) fn next_block(&mut self) -> Option<Block<'_>> {
        if !self.is_ready() {
            return None;
        }
        // SAFETY: within the mapping, and behind the status; the block is ours until that changes,
        // which `Block` does when it is dropped.
        let bytes = unsafe {
            let block = self.memory.add(self.next * BLOCK + FRAMES);
            std::slice::from_raw_parts(block.as_ptr(), BLOCK - FRAMES)
        };
        let (left, first) = (word(bytes, 0), word(bytes, FIRST - FRAMES) as usize);
        Some(Block { at: first.saturating_sub(FRAMES), left, bytes, ring: self })
    }

    /// Frames dropped since the last call.
    pub(super) fn dropped(&self) -> io::Result<u64> {
        // SAFETY: `tpacket_stats_v3` is plain data, for which zeroes are valid.
        let mut counts: libc::tpacket_stats_v3 = unsafe { std::mem::zeroed() };
        let mut bytes = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: PACKET_STATISTICS of a TPACKET_V3 socket fills in a `tpacket_stats_v3`.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut counts).cast(),
                &raw mut bytes,
            )
        };
        check(result).map(|()| u64::from(counts.tp_drops))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping that `open` made; nothing reads it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), BLOCK * BLOCKS) };
    }
}

/// A block that the kernel has filled.
#[derive(Debug)]
pub(super) struct Block<'a> {
    ring: &'a mut Ring,
    bytes: &'a [u8],
    left: u32,
    at: usize,
}

impl Block<'_> {
    /// The next frame; it borrows the block.
    pub(super) fn next_frame(&mut self) -> Option<Frame<'_>> {
        self.left = self.left.checked_sub(1)?;
        let header = self.bytes.get(self.at..)?;
        self.at += word(header, NEXT) as usize;
        let begin = usize::from(word(header, MAC) as u16);
        let bytes = header.get(begin..begin + word(header, CAPTURED) as usize)?;
        let (seconds, nanoseconds) = (word(header, SECONDS), word(header, NANOSECONDS));
        Some(Frame { seconds, nanoseconds, length: word(header, LENGTH), bytes })
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        self.ring.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.ring.next = (self.ring.next + 1) % BLOCKS;
    }
}

/// Four bytes in this machine's order; 0 outside the block.
fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
    word.map_or(0, u32::from_ne_bytes)
}
