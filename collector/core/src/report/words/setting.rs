//! Error messages of invalid `[findings]` and `[expect]` settings.

use std::fmt;

use crate::analysis::finding::settings::WrongSetting;

impl fmt::Display for WrongSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFinding(name) => {
                write!(f, "suppress: unknown finding `{name}`; `railscope findings` lists all")
            }
            Self::NoShare { name, value } => {
                write!(f, "{name}: {value} is not valid: write a number from 0 to 1")
            }
            Self::NoTime { name, value } => {
                write!(f, "{name}: {value} is not valid: write a number of seconds, 0 or more")
            }
            Self::NoDscp(dscp) => {
                write!(f, "dscp: {dscp} is not valid: write a number from 0 to 63")
            }
        }
    }
}

impl std::error::Error for WrongSetting {}
