//! Causes in a few words: whose side it was, and what happened.

/// `fabric: packet loss` for `loss`, a cause of `stragglers.rs` in the report.
pub(super) fn words(cause: &str) -> &str {
    match cause {
        "enqueue" => "sender: CPU called it late",
        "compute" => "sender: GPU or host late",
        "sender" => "sender: CPU or GPU late",
        "receiver" => "receiver: took data slowly",
        "congestion" => "fabric: congestion (ECN)",
        "loss" => "fabric: packet loss",
        "pause" => "fabric: pause (PFC)",
        "socket" => "TCP instead of RDMA",
        other => other,
    }
}
