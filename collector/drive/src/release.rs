//! The NCCL releases whose wire formats the driver speaks.

use std::fmt;
use std::str::FromStr;

/// A release of NCCL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// Connects rings when the communicator is created.
    V2_21_5,
    /// Connects rings at the first collective.
    #[default]
    V2_27_7,
}

impl Release {
    /// Every release the driver speaks.
    pub const ALL: [Self; 2] = [Self::V2_21_5, Self::V2_27_7];

    /// `NCCL_VERSION_CODE`: major · 10000 + minor · 100 + patch.
    #[must_use]
    pub const fn version_code(self) -> u32 {
        match self {
            Self::V2_21_5 => 22105,
            Self::V2_27_7 => 22707,
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.version_code();
        write!(f, "{}.{}.{}", code / 10000, code / 100 % 100, code % 100)
    }
}

impl FromStr for Release {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|release| release.to_string() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(|release| release.to_string());
            format!("the driver speaks NCCL {}", known.join(" and "))
        })
    }
}
