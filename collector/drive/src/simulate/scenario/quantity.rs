//! Times, sizes, rates and shares of a scenario: strings with explicit units.

use serde::Deserialize;

use crate::units;

/// A time, ns: `"4ms"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Time(pub u64);

/// A size, bytes: `"4MiB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Size(pub u64);

/// A rate, bits per second: `"25G"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Rate(pub u64);

/// A share, written as a percentage: `"1%"` is 0.01.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize)]
#[serde(try_from = "String")]
pub struct Share(pub f64);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let time = units::time(&text)?;
        Ok(Self(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl TryFrom<String> for Size {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        units::size(&text).map(Self)
    }
}

impl TryFrom<String> for Rate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        units::rate(&text).map(Self)
    }
}

impl TryFrom<String> for Share {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        units::share(&text).map(Self)
    }
}
