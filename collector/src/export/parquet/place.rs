//! Where rows belong: cluster, job and day, as folders that every engine understands.

use std::path::PathBuf;
use std::str::FromStr;

use railscope_core::model::time::Timestamp;

/// Cluster and job of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The cluster.
    pub cluster: Name,
    /// The job.
    pub job: Name,
}

/// A name that is a folder's name as well: letters, digits, `.`, `_` and `-`, so that no engine needs to
/// undo Hive's escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

/// A name that cannot be a folder's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use 1 to 128 letters, digits, '.', '_' and '-', the first no '.'")]
pub struct NameError;

impl Name {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        let is_allowed = |char: char| char.is_ascii_alphanumeric() || "._-".contains(char);
        let is_one = (1..=128).contains(&name.len()) && !name.starts_with('.');
        if is_one && name.chars().all(is_allowed) {
            Ok(Self(name.to_owned()))
        } else {
            Err(NameError)
        }
    }
}

impl Place {
    /// `day=2026-03-01/cluster=a/job=b`: the day in UTC on which a capture began.
    pub(super) fn folder(&self, origin: Timestamp) -> PathBuf {
        let second = i64::try_from(origin.as_nanos() / 1_000_000_000).unwrap_or(i64::MAX);
        let time = jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::MAX);
        let day = time.to_zoned(jiff::tz::TimeZone::UTC).date();
        let Self { cluster: Name(cluster), job: Name(job) } = self;
        PathBuf::from(format!("day={day}"))
            .join(format!("cluster={cluster}"))
            .join(format!("job={job}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_of_utc() {
        let place = Place { cluster: "a".parse().unwrap(), job: "7".parse().unwrap() };
        let folder = |second: u64| place.folder(Timestamp::from_nanos(second * 1_000_000_000));
        assert_eq!(folder(0), PathBuf::from("day=1970-01-01/cluster=a/job=7"));
        assert_eq!(folder(1_772_409_599), PathBuf::from("day=2026-03-01/cluster=a/job=7"));
        assert_eq!(folder(1_772_409_600), PathBuf::from("day=2026-03-02/cluster=a/job=7"));
    }

    #[test]
    fn a_name_is_no_path() {
        for wrong in ["", "..", ".a", "a/b", "a=b", "a b", "a%20b", "ä"] {
            assert_eq!(wrong.parse::<Name>(), Err(NameError), "{wrong}");
        }
        assert!("llama-70b_v2.1".parse::<Name>().is_ok());
    }
}
