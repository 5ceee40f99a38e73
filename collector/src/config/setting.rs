//! Types of values, and how to write them.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use glob::Pattern;
use toml::de::DeValue;

use crate::units;

/// A type of value.
pub(super) trait Setting: Sized + fmt::Debug {
    /// A description of valid values, with an example, for error messages.
    const WANTED: &'static str;

    /// The value; `None` if it is of another type.
    fn read(value: &DeValue<'_>) -> Option<Self>;
}

/// An ordered type, whose values can be limited to a range.
pub(super) trait Quantity: Setting + PartialOrd {
    /// The value as a user would write it.
    fn written(&self) -> String;
}

impl Setting for bool {
    const WANTED: &'static str = "true or false";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        value.as_bool()
    }
}

impl Setting for usize {
    const WANTED: &'static str = "a whole number, such as 1000";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let number = value.as_integer()?;
        Self::from_str_radix(number.as_str(), number.radix()).ok()
    }
}

impl Quantity for usize {
    fn written(&self) -> String {
        self.to_string()
    }
}

impl Setting for f64 {
    const WANTED: &'static str = "a number, such as 0.5";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let text = value.as_float().map(toml::de::DeFloat::as_str);
        let whole = value.as_integer().filter(|number| number.radix() == 10);
        text.or_else(|| whole.map(toml::de::DeInteger::as_str))?.parse().ok()
    }
}

impl Quantity for f64 {
    fn written(&self) -> String {
        self.to_string()
    }
}

impl Setting for Duration {
    const WANTED: &'static str = "a duration with its unit, such as \"500ms\", \"10s\" or \"5m\"";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        units::duration(value.as_str()?).ok()
    }
}

impl Quantity for Duration {
    fn written(&self) -> String {
        format!("\"{}\"", humantime::format_duration(*self)).replace(' ', "")
    }
}

impl Setting for ByteSize {
    const WANTED: &'static str = "a size with its unit, such as \"64 KiB\" or \"16 MiB\"";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        units::size(value.as_str()?).ok()
    }
}

impl Quantity for ByteSize {
    fn written(&self) -> String {
        format!("\"{:.0}\"", self.display().iec())
    }
}

impl Setting for String {
    const WANTED: &'static str = "a string in quotes, such as \"node17\"";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }
}

impl Setting for PathBuf {
    const WANTED: &'static str = "an absolute path, such as \"/host/proc\"";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        value.as_str().map(Self::from).filter(|path| path.is_absolute())
    }
}

impl Setting for SocketAddr {
    const WANTED: &'static str =
        "an address and a port, such as \"127.0.0.1:9474\" or \"[::]:9474\"";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        value.as_str()?.parse().ok()
    }
}

impl Setting for Vec<Pattern> {
    const WANTED: &'static str = "a list of names, with * and ? as wildcards, such as [\"mlx5_*\"]";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let one = |value: &DeValue<'_>| Pattern::new(value.as_str()?).ok();
        value.as_array()?.iter().map(|value| one(value.get_ref())).collect()
    }
}

/// An optional value.
impl<T: Setting> Setting for Option<T> {
    const WANTED: &'static str = T::WANTED;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        T::read(value).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_with_their_unit() {
        for (bytes, written) in
            [(65_536, "\"64 KiB\""), (1_000, "\"1000 B\""), (1 << 30, "\"1 GiB\"")]
        {
            assert_eq!(ByteSize(bytes).written(), written);
        }
    }
}
