//! Completion statuses in words: `enum ibv_wc_status` (rdma-core, `libibverbs/verbs.h`).
//!
//! NCCL's logs have the number: `NET/IB: Got completion from peer ... with status=12`.

/// The meaning of a failed completion, after NCCL's number.
pub(super) fn describe(status: u32, vendor: u32) -> String {
    let words = match status {
        1 => "local length error",
        2 => "local queue pair operation error",
        4 => "local protection error",
        5 => "flushed: the queue pair is in error",
        6 => "memory window bind error",
        7 => "bad response",
        8 => "local access error",
        9 => "remote invalid request",
        10 => "remote access error: the key or the address is not the peer's",
        11 => "remote operation error",
        12 => "retry exceeded: the peer does not answer",
        13 => "RNR retry exceeded: the peer has posted no receive",
        16 => "remote abort",
        19 => "fatal error",
        20 => "response timeout",
        21 => "general error",
        _ => "unknown error",
    };
    match vendor {
        0 => format!("status={status} {words}"),
        vendor => format!("status={status} {words}, vendor error {vendor:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn numbers_are_nccls() {
        assert_eq!(describe(12, 0), "status=12 retry exceeded: the peer does not answer");
        assert_eq!(
            describe(5, 0xf9),
            "status=5 flushed: the queue pair is in error, vendor error 0xf9"
        );
    }
}
