//! Error messages for invalid settings.

use std::fmt;

use crate::analysis::finding::settings::WrongSetting;

impl fmt::Display for WrongSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFinding(name) => {
                write!(f, "suppress: no finding is called `{name}`; `railscope findings` lists all")
            }
            Self::NoShare { name, value } => write!(f, "{name}: {value} is not between 0 and 1"),
            Self::NoTime { name, value } => {
                write!(f, "{name}: {value} is not a positive number of seconds")
            }
            Self::NoDscp(dscp) => write!(f, "dscp: {dscp} is above 63"),
        }
    }
}

impl std::error::Error for WrongSetting {}
