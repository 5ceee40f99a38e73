//! Names of pods and containers, from the names that the kubelet gives to their logs. Reading them needs
//! no API, no token and no port; control groups have only the UIDs.
//!
//! ```text
//! containers/<POD>_<NAMESPACE>_<CONTAINER>-<CONTAINER ID>.log   cut after 255 bytes, so the id may be missing
//! pods/<NAMESPACE>_<POD>_<UID>/                                 every pod; the container is not named
//! ```
//!
//! No name of Kubernetes has a `_`.

use std::path::Path;

use railscope_core::model::process::PodNames;

/// The names of a container and its pod; `None` if the kubelet has no log of them.
pub(super) fn names(logs: &Path, container: Option<&str>, uid: Option<&str>) -> Option<PodNames> {
    let by_container =
        container.and_then(|id| find(&logs.join("containers"), |name| of_container(name, id)));
    by_container.or_else(|| uid.and_then(|uid| find(&logs.join("pods"), |name| of_pod(name, uid))))
}

fn find(folder: &Path, read: impl Fn(&str) -> Option<PodNames>) -> Option<PodNames> {
    // Not a node of Kubernetes, or not mounted.
    let entries = std::fs::read_dir(folder).ok()?;
    entries.flatten().find_map(|entry| read(entry.file_name().to_str()?))
}

fn of_container(name: &str, id: &str) -> Option<PodNames> {
    let rest = name.strip_suffix(".log")?.strip_suffix(id)?.strip_suffix('-')?;
    let (pod, rest) = rest.split_once('_')?;
    let (namespace, container) = rest.split_once('_')?;
    Some(PodNames {
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
        container: Some(container.to_owned()),
    })
}

fn of_pod(name: &str, uid: &str) -> Option<PodNames> {
    let (namespace, pod) = name.strip_suffix(uid)?.strip_suffix('_')?.split_once('_')?;
    Some(PodNames { namespace: namespace.to_owned(), pod: pod.to_owned(), container: None })
}
