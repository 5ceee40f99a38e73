//! The pods of this node, from the kubelet's read-only port: `GET /pods`, a `PodList` of `v1`. It is the only
//! list of the kubelet that needs neither TLS nor a token, and off unless `readOnlyPort` is set.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::{runtime, task, time};

use super::process::Pods;
use railscope_core::model::process::PodNames;

/// Time for the whole answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of an answer. A pod takes about 10 KB, and a kubelet runs 110 unless configured otherwise.
const LIMIT: usize = 16 << 20;

/// A kubelet.
#[derive(Clone, Debug)]
pub struct Kubelet {
    /// Host and port.
    authority: String,
}

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum KubeletError {
    /// No answer in time.
    #[error("no answer within {} s", PATIENCE.as_secs())]
    Late,
    /// The port cannot be reached.
    #[error("connect")]
    Unreachable(#[source] io::Error),
    /// It is not HTTP.
    #[error("not HTTP")]
    Protocol(#[source] hyper::Error),
    /// It refuses.
    #[error("it answers {0}")]
    Refused(StatusCode),
    /// The answer ends early, or has more than 16 MiB.
    #[error("read its answer")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The answer is no list of pods.
    #[error("its answer is no list of pods")]
    Malformed(#[source] Option<serde_json::Error>),
}

impl Kubelet {
    /// The kubelet whose read-only port is at `authority`: `HOST:PORT`.
    pub fn at(authority: impl Into<String>) -> Self {
        Self { authority: authority.into() }
    }

    /// The names of all pods and containers; takes 2 s at most.
    ///
    /// # Errors
    ///
    /// When it does not answer with a list.
    pub fn pods(&self) -> Result<Pods, KubeletError> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(KubeletError::Unreachable)?;
        let answer = runtime.block_on(async { time::timeout(PATIENCE, self.ask()).await });
        read(&answer.map_err(|_| KubeletError::Late)??)
    }

    async fn ask(&self) -> Result<Bytes, KubeletError> {
        let stream =
            TcpStream::connect(&self.authority).await.map_err(KubeletError::Unreachable)?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(KubeletError::Protocol)?;
        // It ends with the runtime.
        task::spawn(connection);
        let mut request = Request::new(Empty::<Bytes>::new());
        *request.uri_mut() = hyper::Uri::from_static("/pods");
        let host = self.authority.parse().map_err(|_| KubeletError::Malformed(None))?;
        request.headers_mut().insert(HOST, host);
        let response = sender.send_request(request).await.map_err(KubeletError::Protocol)?;
        if response.status() != StatusCode::OK {
            return Err(KubeletError::Refused(response.status()));
        }
        let body = Limited::new(response.into_body(), LIMIT).collect().await;
        Ok(body.map_err(KubeletError::Broken)?.to_bytes())
    }
}

/// The parts of a `PodList` that name things. An empty list may be `null`, and so may a pod.
#[derive(Deserialize)]
struct List {
    kind: String,
    items: Option<Vec<Option<Pod>>>,
}

#[derive(Deserialize)]
struct Pod {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    namespace: String,
    uid: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    container_statuses: Option<Vec<ContainerStatus>>,
    init_container_statuses: Option<Vec<ContainerStatus>>,
    ephemeral_container_statuses: Option<Vec<ContainerStatus>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContainerStatus {
    name: String,
    /// `containerd://ID`; empty before the container was made.
    #[serde(rename = "containerID")]
    container: String,
}

fn read(text: &[u8]) -> Result<Pods, KubeletError> {
    let list: List =
        serde_json::from_slice(text).map_err(|error| KubeletError::Malformed(Some(error)))?;
    if list.kind != "PodList" {
        return Err(KubeletError::Malformed(None));
    }
    let (mut by_container, mut by_uid) = (HashMap::new(), HashMap::new());
    for Pod { metadata, status } in list.items.into_iter().flatten().flatten() {
        let Metadata { name, namespace, uid } = metadata;
        if name.is_empty() || uid.is_empty() {
            continue;
        }
        let names =
            |container| PodNames { namespace: namespace.clone(), pod: name.clone(), container };
        let Status { container_statuses, init_container_statuses, ephemeral_container_statuses } =
            status;
        let containers =
            [container_statuses, init_container_statuses, ephemeral_container_statuses];
        for one in containers.into_iter().flatten().flatten() {
            if let Some((_, id)) = one.container.split_once("://") {
                by_container.insert(id.to_owned(), names(Some(one.name)));
            }
        }
        by_uid.insert(uid, names(None));
    }
    Ok(Pods { by_container, by_uid })
}
