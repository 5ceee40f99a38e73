//! PyTorch's TCPStore: requests, replies, and the unique ids in them.

mod captures;
mod conversations;
