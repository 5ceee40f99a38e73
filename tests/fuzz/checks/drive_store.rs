//! Two clients of the driver's TCPStore. A byte before each piece gives the client and the length.

use railscope_drive::store::contents::Contents;
use railscope_drive::store::request::{Request, Requests};

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let whole = talk(data, usize::MAX);
    assert_eq!(whole, talk(data, 1), "the result does not depend on how the bytes are cut");
}

/// Each client's requests and the store's answers.
fn talk(data: &[u8], longest: usize) -> Vec<(u64, Request, Vec<u8>)> {
    let mut contents = Contents::default();
    let mut clients = [Some(Requests::default()), Some(Requests::default())];
    let mut said = Vec::new();
    let mut rest = data;
    while let Some((&head, after)) = rest.split_first() {
        let (bytes, after) = after.split_at(after.len().min(usize::from(head & 0x7f) * 2));
        rest = after;
        let client = usize::from(head >> 7);
        for piece in bytes.chunks(longest) {
            if let Some(requests) = &mut clients[client] {
                requests.push(piece);
            }
            serve(client, &mut clients, &mut contents, &mut said);
        }
    }
    said
}

fn serve(
    client: usize,
    clients: &mut [Option<Requests>; 2],
    contents: &mut Contents,
    said: &mut Vec<(u64, Request, Vec<u8>)>,
) {
    let id = client as u64;
    loop {
        let Some(requests) = &mut clients[client] else { return };
        let request = match requests.take() {
            Ok(None) => return,
            Ok(Some(request)) => request,
            Err(_) => break,
        };
        let Ok(answer) = contents.serve(id, request.clone()) else { break };
        assert!(answer.woken.iter().all(|woken| *woken < 2));
        said.push((id, request, answer.bytes));
    }
    clients[client] = None;
    contents.forget(id);
}
