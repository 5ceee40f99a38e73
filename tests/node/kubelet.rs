//! The kubelet's list of pods, in the form of `GET /pods`: what is read of it, and what is refused.

use std::time::{Duration, Instant};

use railscope::ingest::kubelet::{Kubelet, KubeletError};
use railscope::ingest::process::{Pods, Processes};

use super::processes::{ID, UID, node};
use crate::support::kubelet::{Answer, FakeKubelet, PODS, chunked, page};

fn ask(answer: Vec<u8>) -> Result<Pods, KubeletError> {
    let kubelet = FakeKubelet::start(Answer::Bytes(answer));
    let pods = Kubelet::at(kubelet.authority()).pods();
    assert_eq!(kubelet.asked.recv().unwrap(), "GET /pods HTTP/1.1");
    pods
}

fn error(answer: Vec<u8>) -> String {
    format!("{:#}", anyhow::Error::from(ask(answer).unwrap_err()))
}

/// `namespace/pod container` by key.
fn named(names: &railscope_core::model::process::PodNames) -> String {
    let container = names.container.as_deref().unwrap_or("-");
    format!("{}/{} {container}", names.namespace, names.pod)
}

#[test]
fn containers_and_pods_of_a_list_have_names() {
    let pods = ask(page("200 OK", PODS)).unwrap();
    assert_eq!(ask(chunked(PODS)).unwrap(), pods);
    // A container that was not made yet has no id, and a pod without any only its UID.
    assert_eq!((pods.by_container.len(), pods.by_uid.len()), (3, 3));
    assert_eq!(named(&pods.by_container[ID]), "ml-team/llama-worker-3 trainer");
    let initial = ID.replace('4', "6");
    assert_eq!(named(&pods.by_container[&initial]), "ml-team/llama-worker-3 fetch-weights");
    assert_eq!(
        named(&pods.by_container[&ID.replace('4', "5")]),
        "kube-system/dns-7c65d6cfc9-x2x7k dns"
    );
    let etcd = "0c1d53cd0b4fa0e5f3c4d3a1bb9f7d5e";
    assert_eq!(named(&pods.by_uid[etcd]), "kube-system/etcd-node17 -");
    let empty = r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}"#;
    assert_eq!(ask(page("200 OK", empty)).unwrap(), Pods::default());
}

/// Where the kubelet's logs are not mounted, processes have the names of its list.
#[test]
fn a_process_has_the_names_of_the_list() {
    let (tree, processes) = node(31_337, 555, &format!("0::/kubepods/burstable/pod{UID}/{ID}"), "");
    let processes = processes.naming_pods(tree.root().join("log"));
    let names =
        |processes: &Processes| Some(named(&processes.identify(31_337).unwrap().pod_names?));
    let list = processes.pod_list().unwrap();
    // The first list is wanted in any case.
    assert!(list.is_wanted());
    assert_eq!(names(&processes), None);
    list.set(ask(page("200 OK", PODS)).unwrap());
    assert!(!list.is_wanted());
    assert_eq!(names(&processes.clone()).unwrap(), "ml-team/llama-worker-3 trainer");
    assert!(!list.is_wanted());
    // A container that is newer than the list has the names of its pod, and the next list is wanted.
    let newer = ID.replace('4', "9");
    tree.write("31337/cgroup", &format!("0::/kubepods/burstable/pod{UID}/{newer}"));
    assert_eq!(names(&processes).unwrap(), "ml-team/llama-worker-3 -");
    assert!(list.is_wanted());
}

#[test]
fn what_is_no_list_is_refused() {
    assert_eq!(error(page("403 Forbidden", "Forbidden")), "it answers 403 Forbidden");
    let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure"}"#;
    assert_eq!(error(page("200 OK", status)), "its answer is no list of pods");
    assert!(
        error(page("200 OK", "{\"kind\": \"PodLi"))
            .starts_with("its answer is no list of pods: EOF")
    );
    let mut cut = page("200 OK", PODS);
    cut.truncate(cut.len() - 1);
    assert!(error(cut).starts_with("read its answer: "));
    // More than 16 MiB, as another server behind this port may send.
    let endless = " ".repeat((16 << 20) + 1);
    assert!(error(page("200 OK", &endless)).starts_with("read its answer: length limit"));
    assert!(error(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()).starts_with("not HTTP: "));
    // Nobody listens.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let unreachable = Kubelet::at(free.to_string()).pods();
    assert!(matches!(unreachable, Err(KubeletError::Unreachable(_))), "{unreachable:?}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "measures a deadline in real time")]
fn a_silent_kubelet_costs_two_seconds() {
    let kubelet = FakeKubelet::start(Answer::Silence);
    let begin = Instant::now();
    let outcome = Kubelet::at(kubelet.authority()).pods();
    assert!(matches!(outcome, Err(KubeletError::Late)), "{outcome:?}");
    assert!(begin.elapsed() >= Duration::from_secs(2) && begin.elapsed() < Duration::from_secs(8));
}
