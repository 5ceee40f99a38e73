//! Variables that NCCL reads, by release, and names of others that begin alike.

/// The kind of a variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number: NCCL takes its default for what is none.
    Number,
    /// Any text.
    Text,
}

/// A variable of NCCL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// `NCCL_IB_TIMEOUT`.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// The first release that reads it.
    pub since: (u32, u32),
    /// The last one, if later releases do not.
    pub until: Option<(u32, u32)>,
}

/// Made by `tests/nccl_variables.py` from NCCL's source, tags up to 2.30.
const LIST: &str = include_str!("nccl.txt");

/// Beginnings of variables of NCCL's plugins and of programs around it, with what reads them.
const OTHERS: &[(&str, &str)] = &[
    ("NCCL_INSPECTOR_", "NCCL Inspector"),
    ("NCCL_FASTRAK_", "Google's plugin FasTrak"),
    ("NCCL_GPUDIRECTTCPX_", "Google's plugin TCPX"),
    ("NCCL_TUNER_", "a tuner plugin"),
    ("NCCL_PROFILER_", "a profiler plugin"),
    ("NCCL_PROFILE_", "NCCL's example profiler"),
    ("NCCL_SHIMNET_", "Google's plugin gIB"),
    ("NCCL_OFI_", "aws-ofi-nccl"),
    ("NCCL_SHARP_", "the SHARP plugin"),
    ("NCCL_IBEXT_", "the SHARP plugin"),
    ("NCCL_PLUGIN_", "the SHARP plugin"),
    ("NCCL_UCX_", "the UCX plugin"),
    ("NCCL_TESTS_", "nccl-tests"),
    ("NCCL_CTRAN_", "Meta's NCCLX"),
    ("NCCL_VERSION", "container images"),
    ("NCCL_HOME", "builds"),
    ("NCCL_ROOT", "builds"),
    ("NCCL_INCLUDE_DIR", "builds"),
    ("NCCL_LIB_DIR", "builds"),
    ("NCCL_LIBRARY", "builds"),
    ("NCCL_ASYNC_ERROR_HANDLING", "PyTorch"),
    ("NCCL_BLOCKING_WAIT", "PyTorch"),
    ("NCCL_DESYNC_DEBUG", "PyTorch"),
    ("NCCL_ENABLE_TIMING", "PyTorch"),
    ("NCCL_ENABLE_MONITORING", "PyTorch"),
    ("NCCL_TRACE_BUFFER_SIZE", "PyTorch"),
];

/// All variables that releases of NCCL read.
pub fn all() -> impl Iterator<Item = Known> {
    LIST.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some(Known {
            name: words.next()?,
            kind: if words.next()? == "number" { Kind::Number } else { Kind::Text },
            since: release(words.next()?)?,
            until: words.next().and_then(release),
        })
    })
}

/// The variable with this name.
#[must_use]
pub fn of(name: &str) -> Option<Known> {
    all().find(|known| known.name == name)
}

/// What else reads a variable of this name.
#[must_use]
pub fn reader(name: &str) -> Option<&'static str> {
    OTHERS.iter().find(|(start, _)| name.starts_with(start)).map(|(_, reader)| *reader)
}

/// The variable that was most likely meant.
#[must_use]
pub fn nearest(name: &str) -> Option<&'static str> {
    let living = all().filter(|known| known.until.is_none());
    let near = living.map(|known| (strsim::damerau_levenshtein(known.name, name), known.name));
    let (distance, nearest) = near.min()?;
    // A letter in six may be wrong.
    (distance <= 1.max(name.len().saturating_sub("NCCL_".len()) / 6)).then_some(nearest)
}

/// `2.30` as two numbers.
fn release(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read() {
        assert!(all().count() > 250);
        assert_eq!(all().count(), LIST.lines().count());
        let timeout = of("NCCL_IB_TIMEOUT").unwrap();
        assert_eq!((timeout.kind, timeout.until), (Kind::Number, None));
        assert_eq!(of("NCCL_TREE_THRESHOLD").unwrap().until, Some((2, 4)));
        assert_eq!(of("NCCL_IB_HCA").unwrap().kind, Kind::Text);
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("NCCL_IB_TIMOUT"), Some("NCCL_IB_TIMEOUT"));
        assert_eq!(nearest("NCCL_SOCKET_IFNAMES"), Some("NCCL_SOCKET_IFNAME"));
        assert_eq!(nearest("NCCL_MY_COMPANYS_OWN"), None);
        assert_eq!(reader("NCCL_INSPECTOR_ENABLE"), Some("NCCL Inspector"));
    }
}
