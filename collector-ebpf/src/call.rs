//! Events of the programs at library functions: a call, when it starts and, for some functions, when
//! it returns.

use bytemuck::{Pod, Zeroable};

/// Arguments of one function: `ncclReduce` has as many.
pub const ARGUMENTS: usize = 8;

/// Most bytes that are copied from the caller's memory: a `struct ibv_qp_attr`. An `ncclUniqueId` is
/// 128 bytes.
pub const COPY_LEN: usize = 144;

/// Bit of [`CallEvent::read`]: [`CallEvent::copy`] could be read.
pub const HAS_COPY: u32 = 1;
/// Bit of [`CallEvent::read`]: [`CallEvent::word`] could be read.
pub const HAS_WORD: u32 = 2;

/// Key of a call in progress: the function's number, and below it the thread id, which is unique on the
/// host.
#[must_use]
#[inline(always)]
pub const fn pending_key(function: u8, thread: u32) -> u64 {
    (function as u64) << 32 | thread as u64
}

/// The start of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Beginning {
    /// When the function was entered.
    pub entered: u64,
    /// The function's arguments in the order of its declaration, without one that is a structure and
    /// passed by value. The upper bits of arguments shorter than 64 bits are undefined.
    pub arguments: [u64; ARGUMENTS],
}

/// A call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct CallEvent {
    /// Its start.
    pub beginning: Beginning,
    /// When it returned; 0 in the event of its start.
    pub returned: u64,
    /// The caller's control group of version 2, as in `bpf_get_current_cgroup_id`.
    pub cgroup: u64,
    /// [`Plan`] of the function.
    pub plan: u64,
    /// Address of the function in the caller's memory; 0 in the event of its return.
    pub address: u64,
    /// Return value.
    pub result: u64,
    /// The value that [`Plan::word`] selects.
    pub word: u64,
    /// The process (`tgid`), as its host numbers it.
    pub pid: u32,
    /// The thread, as its host numbers it.
    pub tid: u32,
    /// Which of `copy` and `word` could be read.
    pub read: u32,
    /// Always 0.
    pub reserved: u32,
    /// The bytes that [`Plan::copy`] selects, in memory order, then zeros.
    pub copy: [u64; COPY_LEN / 8],
}

/// Base address for reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseAddress {
    /// Where this argument points.
    Argument(u8),
    /// Where the returned pointer points.
    Result,
    /// The structure that is passed by value as the third argument: on the stack on x86-64 (System V
    /// ABI, section 3.2.3), by a pointer in x2 on aarch64 (AAPCS64, section 6.8.2, rule B.4).
    ByValue,
}

impl BaseAddress {
    const BY_VALUE: u64 = 14;
    const RESULT: u64 = 15;

    const fn bits(self) -> u64 {
        match self {
            Self::Argument(number) => number as u64 & 7,
            Self::ByValue => Self::BY_VALUE,
            Self::Result => Self::RESULT,
        }
    }

    #[inline(always)]
    const fn from_bits(bits: u64) -> Self {
        match bits & 0xf {
            Self::BY_VALUE => Self::ByValue,
            Self::RESULT => Self::Result,
            number => Self::Argument(number as u8 & 7),
        }
    }
}

/// Memory that a program copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Base address.
    pub place: BaseAddress,
    /// Offset from the base, in bytes.
    pub offset: u8,
    /// Bytes that are read; 0 for nothing.
    pub len: u8,
    /// It is available only when the function returns.
    pub is_result: bool,
}

impl Reading {
    /// Nothing is read.
    pub const NOTHING: Self =
        Self { place: BaseAddress::Argument(0), offset: 0, len: 0, is_result: false };

    const fn bits(self) -> u64 {
        self.place.bits()
            | (self.offset as u64) << 4
            | (self.len as u64) << 12
            | (self.is_result as u64) << 20
    }

    #[inline(always)]
    const fn from_bits(bits: u64) -> Self {
        Self {
            place: BaseAddress::from_bits(bits),
            offset: (bits >> 4) as u8,
            len: (bits >> 12) as u8,
            is_result: bits >> 20 & 1 != 0,
        }
    }
}

/// The attach cookie of a program (`bpf_get_attach_cookie`): the function's number, and what to read of a
/// call. The programs know nothing of libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Number of the function.
    pub function: u8,
    /// Number of the library file, modulo 2^13. A file that is visible at two paths is attached to
    /// twice.
    pub library: u16,
    /// Bytes to copy, [`COPY_LEN`] at most.
    pub copy: Reading,
    /// Bytes to read as a number, 8 at most.
    pub word: Reading,
    /// The function's return has a program too.
    pub returns: bool,
}

impl Plan {
    /// Library numbers wrap at this value.
    pub const LIBRARIES: u16 = 1 << 13;

    /// As a number: function in bits 0 to 7, copy in 8 to 28, word in 29 to 49, returns in bit 50,
    /// library from 51.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.function as u64
            | self.copy.bits() << 8
            | self.word.bits() << 29
            | (self.returns as u64) << 50
            | (self.library as u64) << 51
    }

    /// From that number.
    #[inline(always)]
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self {
            function: bits as u8,
            library: (bits >> 51) as u16,
            copy: Reading::from_bits(bits >> 8),
            word: Reading::from_bits(bits >> 29),
            returns: bits >> 50 & 1 != 0,
        }
    }
}
