//! Names of pods and containers. Control groups have only their ids.
//!
//! The kubelet gives names to the logs of pods. Reading them needs no API, no token and no port:
//!
//! ```text
//! containers/<POD>_<NAMESPACE>_<CONTAINER>-<CONTAINER ID>.log   cut after 255 bytes, so the id may be missing
//! pods/<NAMESPACE>_<POD>_<UID>/                                 every pod; the container is not named
//! ```
//!
//! No name of Kubernetes has a `_`. What the logs do not name may be in the kubelet's list of pods, if that is
//! read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use railscope_core::model::process::PodNames;

/// Where names of pods are looked up. Clones share the list.
#[derive(Clone, Debug)]
pub(super) struct PodNaming {
    logs: PathBuf,
    list: PodList,
}

/// The kubelet's latest list of pods, and whether somebody looked for a name that it lacks.
#[derive(Clone, Debug, Default)]
pub struct PodList(Arc<Mutex<Listed>>);

#[derive(Debug)]
struct Listed {
    pods: Pods,
    is_wanted: bool,
}

/// Names of the pods of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pods {
    /// By id of the container: 64 hexadecimal digits.
    pub by_container: HashMap<String, PodNames>,
    /// By UID of the pod, without the container's name.
    pub by_uid: HashMap<String, PodNames>,
}

impl Default for Listed {
    /// Nothing is listed yet, so the first list is wanted.
    fn default() -> Self {
        Self { pods: Pods::default(), is_wanted: true }
    }
}

impl PodList {
    /// Replaces the list.
    pub fn set(&self, pods: Pods) {
        *self.held() = Listed { pods, is_wanted: false };
    }

    /// Whether a newer list may name what this one does not.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.held().is_wanted
    }

    fn find(&self, container: Option<&str>, uid: &str) -> Option<PodNames> {
        let mut listed = self.held();
        let by_container = container.and_then(|id| listed.pods.by_container.get(id).cloned());
        if by_container.is_none() {
            listed.is_wanted = true;
        }
        by_container.or_else(|| listed.pods.by_uid.get(uid).cloned())
    }

    fn held(&self) -> MutexGuard<'_, Listed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PodNaming {
    pub(super) fn new(logs: PathBuf) -> Self {
        Self { logs, list: PodList::default() }
    }

    pub(super) fn list(&self) -> &PodList {
        &self.list
    }

    /// The names of a container and its pod; `None` if neither logs nor list have the pod.
    pub(super) fn names(&self, container: Option<&str>, uid: &str) -> Option<PodNames> {
        let log = container
            .and_then(|id| find(&self.logs.join("containers"), |name| of_container(name, id)));
        log.or_else(|| self.list.find(container, uid))
            .or_else(|| find(&self.logs.join("pods"), |name| of_pod(name, uid)))
    }
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
