//! A management datagram, usually of the connection manager.

use railscope_core::decode::roce::connection_manager::ConnectionMessage;
use railscope_core::decode::roce::mad::Mad;

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let Ok(mad) = Mad::decode(data) else {
        assert!(data.len() < 24, "every common header decodes");
        return;
    };
    assert_eq!(mad.data().len() + 24, data.len());
    match mad.connection_message() {
        Some(Ok(ConnectionMessage::Req(req))) => {
            assert_eq!(req.private_data.len() + 140, mad.data().len());
            let _ = req.ip_service();
        }
        Some(Ok(ConnectionMessage::Rej(rej))) => assert!(rej.additional.len() <= 72),
        Some(Ok(_)) | None => {}
        Some(Err(error)) => assert!(error.have < error.need && error.need <= 140),
    }
}
