//! What a collective does, and to which numbers.

/// A collective operation; all of them run on rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Every rank gets the reduction of all buffers: ReduceScatter, then AllGather.
    AllReduce,
    /// Every rank gets the buffers of all ranks, concatenated.
    AllGather,
    /// Every rank gets its share of the reduction of all buffers.
    ReduceScatter,
    /// Every rank gets the buffer of the root, passed on along the ring.
    Broadcast,
}

/// Element type, as in nccl-tests' `-d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// `int32`: 4 bytes, signed.
    Int32,
    /// `float`: 4 bytes.
    Float32,
    /// `double`
    Float64,
}

/// Reduction, as in nccl-tests' `-o`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "named as in nccl-tests")]
pub enum Operator {
    Sum,
    Prod,
    Min,
    Max,
}

impl DataType {
    /// Bytes of one element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Int32 | Self::Float32 => 4,
            Self::Float64 => 8,
        }
    }

    /// nccl-tests' name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::Float32 => "float",
            Self::Float64 => "double",
        }
    }

    /// `ncclDataType_t` (`src/nccl.h.in`).
    #[must_use]
    pub const fn code(self) -> u32 {
        match self {
            Self::Int32 => 2,
            Self::Float32 => 7,
            Self::Float64 => 8,
        }
    }
}

impl Operator {
    /// nccl-tests' name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    /// `ncclRedOp_t` (`src/nccl.h.in`).
    #[must_use]
    pub const fn code(self) -> u32 {
        match self {
            Self::Sum => 0,
            Self::Prod => 1,
            Self::Max => 2,
            Self::Min => 3,
        }
    }
}

impl Kind {
    /// The name in NCCL's API and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "AllReduce",
            Self::AllGather => "AllGather",
            Self::ReduceScatter => "ReduceScatter",
            Self::Broadcast => "Broadcast",
        }
    }
}
