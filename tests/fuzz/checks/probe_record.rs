//! Records of kernel programs about calls and connections of processes. A byte before each record gives its
//! kind: a call, a connection, or so many bytes.

use railscope::ingest::probe::{ProbeEvent, Records};
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::call::{Action, Call};
use railscope_core::model::connection::ConnectionChange;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::ReportContext;

use super::{aligned, invariants};

/// Bytes of a record of a call, and of one of a connection.
const CALL: usize = 280;
const CONNECTION: usize = 88;

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let mut records = Records::default();
    let flow = FlowConfig { flow_capacity: 1, line_rate_bps: None, keeps_details: false };
    let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity: Some(64) });
    pipeline.processes_mut().set_host("node17");
    let mut rest = data;
    while let Some((&kind, after)) = rest.split_first() {
        let len = match kind {
            0 => CALL,
            1 => CONNECTION,
            other => usize::from(other),
        };
        let (bytes, after) = after.split_at(after.len().min(len));
        rest = after;
        // The kernel writes whole records.
        let len = if kind > 1 { bytes.len() } else { len };
        let event = aligned(bytes, len, |record| records.read(record));
        match event {
            Some(ProbeEvent::Call(call)) => {
                check_call(&call);
                pipeline.processes_mut().observe(&call);
            }
            Some(ProbeEvent::Connection(change)) => {
                check_change(&change);
                pipeline.processes_mut().observe_connection(&change);
            }
            Some(ProbeEvent::Missed { count, .. }) => assert_eq!(count, 1),
            Some(other) => panic!("{other:?}"),
            None => assert!([CALL, CONNECTION].contains(&len), "other lengths are counted"),
        }
    }
    invariants::check(&pipeline.finish(ReportContext::default()));
}

fn check_call(call: &Call) {
    if let Some(returned) = &call.returned
        && let Some(code) = returned.code
    {
        assert_eq!(returned.is_success, matches!(code, 0 | 7), "{call:?}");
    }
    match &call.action {
        Action::ModifyQueuePair { change: Some(change), .. } => {
            let mtu = change.path_mtu;
            assert!(mtu.is_none_or(|mtu| [256, 512, 1024, 2048, 4096].contains(&mtu)), "{mtu:?}");
        }
        Action::Communicate(communication) => {
            let buffers = [communication.send_buffer, communication.receive_buffer];
            assert!(!buffers.contains(&Some(0)), "no buffer is none");
        }
        _ => {}
    }
}

fn check_change(change: &ConnectionChange) {
    if let Some(owner) = &change.owner {
        let name = &owner.name;
        assert!(!name.contains('\0') && name.chars().count() <= 16, "{name:?}");
    }
    let is_mapped = |ip: std::net::IpAddr| ip != ip.to_canonical();
    assert!(!is_mapped(change.local.ip()) && !is_mapped(change.remote.ip()), "{change:?}");
}
