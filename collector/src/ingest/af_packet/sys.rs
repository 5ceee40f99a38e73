//! `AF_PACKET` with a ring of blocks that the kernel fills (`TPACKET_V3`, packet(7) and
//! Documentation/networking/packet_mmap.rst).
//!
//! The driver has a ring of its own, because it depends on no crate that it is the oracle for. No crate
//! serves both: `af_packet` is GPL-3.0 and has had no release since 2020, `afpacket` and `pnet` have no
//! ring, and `pcap` needs libpcap to build.
#![expect(
    unsafe_code,
    reason = "memory shared with the kernel, and socket options without wrappers"
)]

use std::ffi::c_int;
use std::io;
use std::mem::{offset_of, size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, socket, sockopt};

use super::filter::Instruction;

/// Bytes of a block.
const BLOCK: usize = 1 << 20;

/// Frame size of the request. `TPACKET_V3` packs frames by their real size; only earlier versions use it.
const FRAME: usize = 2048;

/// Offsets in `struct tpacket_block_desc` with a `struct tpacket_hdr_v1`: status, number of frames, offset
/// of the first.
const STATUS: usize = 8;
const FRAMES: usize = 12;
const FIRST: usize = 16;

/// Type and address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hardware {
    /// `ARPHRD_*` of linux/if_arp.h.
    pub(super) kind: u16,
    /// Its own address; zeroes where it has none.
    pub(super) address: [u8; 6],
}

/// A frame as it lies in the ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawFrame<'a> {
    /// Nanoseconds since 1970.
    pub(super) time_ns: u64,
    /// Length on the wire, without the VLAN tag.
    pub(super) wire_len: u32,
    pub(super) bytes: &'a [u8],
    /// The VLAN tag that the kernel removed: TPID and TCI.
    pub(super) tag: Option<[u16; 2]>,
    /// `PACKET_HOST`, `PACKET_OUTGOING` and so on, of packet(7).
    pub(super) kind: u8,
}

/// The next frame of a ring, in its block.
#[derive(Clone, Copy, Debug)]
struct RingPosition {
    /// Unread frames of the block, this one included; at least 1.
    left: u32,
    at: usize,
}

/// A packet socket with its ring.
#[derive(Debug)]
pub(super) struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    blocks: usize,
    /// The block to read next, once the kernel has filled it.
    block: usize,
    /// `None` while the kernel owns the block.
    place: Option<RingPosition>,
}

// SAFETY: the memory belongs to the ring alone.
unsafe impl Send for Ring {}

impl Ring {
    /// Opens a ring at the interface with this index in the calling thread's network namespace. The kernel
    /// hands a block over when it is full, or `retire` after it was opened.
    pub(super) fn open(
        index: u32,
        ignores_outgoing: bool,
        program: Option<&[Instruction]>,
        blocks: usize,
        retire: Duration,
    ) -> io::Result<Self> {
        // Without a protocol the socket receives nothing until it is bound to the interface.
        let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?;
        let version: c_int = libc::tpacket_versions::TPACKET_V3 as c_int;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        if ignores_outgoing {
            let yes: c_int = 1;
            set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &yes)?;
        }
        if let Some(program) = program {
            attach(&socket, program)?;
        }
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: (BLOCK / FRAME * blocks) as u32,
            tp_retire_blk_tov: u32::try_from(retire.as_millis()).unwrap_or(u32::MAX),
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (bytes, fd) = (BLOCK * blocks, socket.as_raw_fd());
        // SAFETY: a fresh mapping of the ring, whose size the request has set.
        let memory =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, fd, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("no memory"))?;
        let ring = Self { socket, memory, blocks, block: 0, place: None };
        ring.bind(index)?;
        Ok(ring)
    }

    fn bind(&self, index: u32) -> io::Result<()> {
        // SAFETY: `sockaddr_ll` is plain data, for which zeroes are valid.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index.cast_signed();
        let bytes = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the address is a `sockaddr_ll` of `bytes` bytes.
        let result =
            unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), bytes) };
        check(result)
    }

    /// The interface that it is bound to; `None` once that was removed.
    pub(super) fn hardware(&self) -> io::Result<Option<Hardware>> {
        // SAFETY: `sockaddr_ll` is plain data, for which zeroes are valid.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        let mut bytes = size_of_val(&address) as libc::socklen_t;
        // SAFETY: getsockname of a packet socket fills in a `sockaddr_ll`.
        let result = unsafe {
            let to = (&raw mut address).cast();
            libc::getsockname(self.socket.as_raw_fd(), to, &raw mut bytes)
        };
        check(result)?;
        let [a, b, c, d, e, f, ..] = address.sll_addr;
        let hardware = Hardware { kind: address.sll_hatype, address: [a, b, c, d, e, f] };
        Ok((address.sll_ifindex > 0).then_some(hardware))
    }

    /// The pending error of the socket, once.
    pub(super) fn take_error(&self) -> io::Result<Option<io::Error>> {
        let code = getsockopt(&self.socket, sockopt::SocketError)?;
        Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
    }

    /// The status of the block: the kernel's or ours.
    fn status(&self) -> &AtomicU32 {
        // SAFETY: within the mapping and aligned: blocks begin at multiples of their size. The
        // kernel writes this word while we may read it, hence the atomic.
        unsafe { AtomicU32::from_ptr(self.memory.add(self.block * BLOCK + STATUS).as_ptr().cast()) }
    }

    /// The block after its status, while it is ours.
    fn bytes(&self) -> &[u8] {
        // SAFETY: within the mapping. The kernel does not write to it until the status is given
        // back, which `advance` does, and that needs `&mut self`.
        unsafe {
            let block = self.memory.add(self.block * BLOCK + FRAMES);
            std::slice::from_raw_parts(block.as_ptr(), BLOCK - FRAMES)
        }
    }

    /// Time of the next frame, if there is one.
    pub(super) fn head(&mut self) -> Option<u64> {
        while self.place.is_none() {
            if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return None;
            }
            let bytes = self.bytes();
            let (left, first) = (word(bytes, 0), word(bytes, FIRST - FRAMES) as usize);
            self.place = Some(RingPosition { left, at: first.saturating_sub(FRAMES) });
            if left == 0 {
                self.give_back();
            }
        }
        Some(self.frame()?.time_ns)
    }

    /// The next frame, if `head` found one.
    pub(super) fn frame(&self) -> Option<RawFrame<'_>> {
        type Header = libc::tpacket3_hdr;
        let place = self.place.as_ref()?;
        let header = self.bytes().get(place.at..).unwrap_or_default();
        let half = |at: usize| {
            let bytes = header.get(at..at + 2).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u16::from_ne_bytes)
        };
        let variant = offset_of!(Header, hv1);
        let tci = word(header, variant + offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tci));
        let tpid = half(variant + offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tpid));
        let status = word(header, offset_of!(Header, tp_status));
        let is_tagged = status & libc::TP_STATUS_VLAN_VALID != 0;
        let has_tpid = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        // The address that recvmsg would return follows the header.
        let address = size_of::<Header>().next_multiple_of(libc::TPACKET_ALIGNMENT);
        let begin = usize::from(half(offset_of!(Header, tp_mac)));
        let captured = word(header, offset_of!(Header, tp_snaplen)) as usize;
        let seconds = u64::from(word(header, offset_of!(Header, tp_sec)));
        let nanos = u64::from(word(header, offset_of!(Header, tp_nsec)));
        Some(RawFrame {
            time_ns: seconds.saturating_mul(1_000_000_000).saturating_add(nanos),
            wire_len: word(header, offset_of!(Header, tp_len)),
            bytes: header.get(begin..begin.saturating_add(captured)).unwrap_or_default(),
            tag: is_tagged.then_some([if has_tpid { tpid } else { 0x8100 }, tci as u16]),
            kind: *header.get(address + offset_of!(libc::sockaddr_ll, sll_pkttype)).unwrap_or(&0),
        })
    }

    /// Skips the frame that `head` found. A block without further frames goes back to the kernel.
    pub(super) fn advance(&mut self) {
        let Some(place) = self.place else { return };
        if place.left <= 1 {
            self.give_back();
            return;
        }
        let header = self.bytes().get(place.at..).unwrap_or_default();
        let next = word(header, offset_of!(libc::tpacket3_hdr, tp_next_offset)) as usize;
        self.place = Some(RingPosition { left: place.left - 1, at: place.at.saturating_add(next) });
    }

    fn give_back(&mut self) {
        self.place = None;
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.block = (self.block + 1) % self.blocks;
    }

    /// Frames dropped for a full ring since the last call.
    pub(super) fn take_dropped(&self) -> io::Result<u64> {
        // SAFETY: `tpacket_stats_v3` is plain data, for which zeroes are valid.
        let mut counts: libc::tpacket_stats_v3 = unsafe { zeroed() };
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

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping that `open` made; nothing reads it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), BLOCK * self.blocks) };
    }
}

/// Four bytes in this machine's order; 0 outside of the block.
fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
    word.map_or(0, u32::from_ne_bytes)
}

/// Makes the kernel run `program` for each frame of a socket.
pub(super) fn attach(socket: &impl AsFd, program: &[Instruction]) -> io::Result<()> {
    let line = |one: &Instruction| libc::sock_filter {
        code: one.code,
        jt: one.if_true,
        jf: one.if_false,
        k: one.value,
    };
    let mut lines: Vec<_> = program.iter().map(line).collect();
    let program = libc::sock_fprog {
        len: u16::try_from(lines.len()).map_err(io::Error::other)?,
        filter: lines.as_mut_ptr(),
    };
    // `lines` lives until the call returns; the kernel copies them.
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Makes the interface with this index receive every frame while `socket` exists.
pub(super) fn join_promiscuous(socket: &impl AsFd, index: u32) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: index.cast_signed(),
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

fn set_option<T>(socket: &impl AsFd, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    let bytes = size_of_val(value) as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads `bytes` bytes of `value`, which lives until the call returns.
    let result =
        unsafe { libc::setsockopt(fd, level, name, std::ptr::from_ref(value).cast(), bytes) };
    check(result)
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
