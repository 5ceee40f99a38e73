//! libibverbs behind safe signatures: owned handles that free what they own.
//!
//! A handle holds the handles it was created from, which gives the order of destruction that
//! libibverbs requires: queue pairs before completion queue and domain, all before the context.
//! Manual pages: `ibv_open_device(3)` and those it names.

#![expect(unsafe_code, reason = "libibverbs is C")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::CStr;
use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use rdma_sys::{
    ___ibv_query_port, ibv_access_flags, ibv_ack_async_event, ibv_ack_cq_events, ibv_alloc_pd,
    ibv_async_event, ibv_close_device, ibv_comp_channel, ibv_context, ibv_cq,
    ibv_create_comp_channel, ibv_create_cq, ibv_create_qp, ibv_dealloc_pd, ibv_dereg_mr,
    ibv_destroy_comp_channel, ibv_destroy_cq, ibv_destroy_qp, ibv_device_attr,
    ibv_free_device_list, ibv_get_async_event, ibv_get_cq_event, ibv_get_device_list,
    ibv_get_device_name, ibv_modify_qp, ibv_mr, ibv_open_device, ibv_pd, ibv_poll_cq,
    ibv_port_attr, ibv_post_recv, ibv_post_send, ibv_qp, ibv_qp_attr, ibv_qp_attr_mask,
    ibv_qp_init_attr, ibv_qp_state, ibv_qp_type, ibv_query_device, ibv_recv_wr, ibv_reg_mr,
    ibv_req_notify_cq, ibv_send_flags, ibv_send_wr, ibv_sge, ibv_wc, ibv_wc_flags, ibv_wc_opcode,
    ibv_wr_opcode,
};

use super::event::{Event, Scope, Subject, scope};
use crate::rdma::Remote;

/// An open device.
pub(super) struct Context(NonNull<ibv_context>);

/// Announces completions.
pub(super) struct Channel {
    raw: NonNull<ibv_comp_channel>,
    context: Rc<Context>,
}

/// A completion queue that announces completions on its channel.
pub(super) struct CompletionQueue {
    raw: NonNull<ibv_cq>,
    channel: Channel,
}

/// A protection domain.
pub(super) struct Domain {
    raw: NonNull<ibv_pd>,
    _context: Rc<Context>,
}

/// Registered memory, page-aligned.
pub(super) struct Memory {
    raw: NonNull<ibv_mr>,
    start: NonNull<u8>,
    length: usize,
    layout: Layout,
    _domain: Rc<Domain>,
}

/// A queue pair of type RC.
pub(super) struct QueuePair {
    raw: NonNull<ibv_qp>,
    _domain: Rc<Domain>,
    _queue: Rc<CompletionQueue>,
}

/// Most outstanding requests of a queue pair.
#[derive(Clone, Copy)]
pub(super) struct Depth {
    pub(super) sends: u32,
    pub(super) receives: u32,
}

/// Source port and GID of a queue pair.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub(super) port: u8,
    pub(super) gid_index: u8,
}

/// An RDMA WRITE from registered memory.
pub(super) struct WriteRequest {
    pub(super) id: u64,
    pub(super) offset: usize,
    pub(super) bytes: u32,
    pub(super) remote_address: u64,
    pub(super) rkey: u32,
    pub(super) immediate: Option<[u8; 4]>,
}

/// Completed work.
#[derive(Clone, Copy)]
pub(super) struct Ended {
    pub(super) id: u64,
    pub(super) qpn: u32,
    /// `enum ibv_wc_status`; the other fields are valid only if it is 0.
    pub(super) status: u32,
    pub(super) vendor: u32,
    pub(super) is_receive: bool,
    pub(super) bytes: u32,
    /// In wire order.
    pub(super) immediate: Option<[u8; 4]>,
}

impl Context {
    /// Opens the device with this name.
    pub(super) fn open(name: &str) -> io::Result<Rc<Self>> {
        let mut count = 0;
        // SAFETY: `count` outlives the call.
        let list = not_null(unsafe { ibv_get_device_list(&raw mut count) })?;
        let devices = usize::try_from(count).unwrap_or_default();
        let mut opened = Err(io::Error::from(io::ErrorKind::NotFound));
        for place in 0..devices {
            // SAFETY: the list holds `count` devices and is freed below.
            let device = unsafe { *list.as_ptr().add(place) };
            // SAFETY: a C string that lives as long as the device.
            let own = unsafe { CStr::from_ptr(ibv_get_device_name(device)) };
            if own.to_bytes() == name.as_bytes() {
                // SAFETY: a device of the list.
                opened = not_null(unsafe { ibv_open_device(device) });
                break;
            }
        }
        // SAFETY: it came from `ibv_get_device_list`; an open device keeps what it needs.
        unsafe { ibv_free_device_list(list.as_ptr()) };
        let context = Self(opened?);
        set_nonblocking(&context)?;
        Ok(Rc::new(context))
    }

    /// The device's attributes.
    pub(super) fn device(&self) -> io::Result<ibv_device_attr> {
        // SAFETY: numbers only; zeros are a value of it.
        let mut attributes: ibv_device_attr = unsafe { zeroed() };
        // SAFETY: both outlive the call.
        zero(unsafe { ibv_query_device(self.0.as_ptr(), &raw mut attributes) })?;
        Ok(attributes)
    }

    /// The port's attributes.
    pub(super) fn port(&self, number: u8) -> io::Result<ibv_port_attr> {
        // SAFETY: numbers only; zeros are a value of it.
        let mut attributes: ibv_port_attr = unsafe { zeroed() };
        // SAFETY: both outlive the call.
        zero(unsafe { ___ibv_query_port(self.0.as_ptr(), number, &raw mut attributes) })?;
        Ok(attributes)
    }

    /// The next event, if there is one.
    pub(super) fn event(&self) -> Option<Event> {
        let mut event = MaybeUninit::<ibv_async_event>::zeroed();
        // SAFETY: both outlive the call, which returns at once: the descriptor does not block.
        if unsafe { ibv_get_async_event(self.0.as_ptr(), event.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: the fields were filled. The kind is read as a number, because kernels that are
        // newer than the header send numbers that its enumeration does not have. The union holds
        // what `scope` says, and the queue pair lives until its event is acknowledged.
        let (kind, subject) = unsafe {
            let kind = (&raw const (*event.as_ptr()).event_type).cast::<u32>().read();
            let element = &raw const (*event.as_ptr()).element;
            let subject = match scope(kind) {
                Scope::QueuePair => Subject::QueuePair((*(*element).qp).qp_num),
                Scope::Port => Subject::Port(u8::try_from((*element).port_num).unwrap_or_default()),
                Scope::Other => Subject::Adapter,
            };
            (kind, subject)
        };
        // SAFETY: it came from `ibv_get_async_event` and is acknowledged once.
        unsafe { ibv_ack_async_event(event.as_mut_ptr()) };
        Some(Event::new(kind, subject))
    }
}

impl AsFd for Context {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as the context.
        unsafe { BorrowedFd::borrow_raw(self.0.as_ref().async_fd) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: owned; all made from it hold it and are gone.
        unsafe { ibv_close_device(self.0.as_ptr()) };
    }
}

impl Channel {
    pub(super) fn new(context: &Rc<Context>) -> io::Result<Self> {
        // SAFETY: the context is open.
        let raw = not_null(unsafe { ibv_create_comp_channel(context.0.as_ptr()) })?;
        let channel = Self { raw, context: Rc::clone(context) };
        set_nonblocking(&channel)?;
        Ok(channel)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as the channel.
        unsafe { BorrowedFd::borrow_raw(self.raw.as_ref().fd) }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: owned; its completion queue is gone.
        unsafe { ibv_destroy_comp_channel(self.raw.as_ptr()) };
    }
}

impl CompletionQueue {
    pub(super) fn new(channel: Channel, entries: i32) -> io::Result<Rc<Self>> {
        let context = channel.context.0.as_ptr();
        // SAFETY: context and channel are open, and the queue holds both.
        let raw =
            unsafe { ibv_create_cq(context, entries, ptr::null_mut(), channel.raw.as_ptr(), 0) };
        Ok(Rc::new(Self { raw: not_null(raw)?, channel }))
    }

    /// The channel, whose descriptor becomes readable after [`Self::arm`].
    pub(super) const fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Appends completions; returns their number.
    pub(super) fn drain(&self, ended: &mut Vec<Ended>) -> io::Result<usize> {
        const BATCH: usize = 32;
        let before = ended.len();
        loop {
            // SAFETY: numbers only; zeros are a value of it.
            let mut batch: [ibv_wc; BATCH] = unsafe { zeroed() };
            // SAFETY: the batch has room for as many as are asked for.
            let count = unsafe { ibv_poll_cq(self.raw.as_ptr(), BATCH as i32, batch.as_mut_ptr()) };
            let count = usize::try_from(count).map_err(|_| io::Error::other("it overran"))?;
            ended.extend(batch.iter().take(count).map(Ended::from));
            if count < BATCH {
                return Ok(ended.len() - before);
            }
        }
    }

    /// Requests an event for the next completion.
    pub(super) fn arm(&self) -> io::Result<()> {
        // SAFETY: the queue lives.
        zero(unsafe { ibv_req_notify_cq(self.raw.as_ptr(), 0) })
    }

    /// Takes an event from the channel, if there is one.
    pub(super) fn take_event(&self) {
        let mut queue = ptr::null_mut();
        let mut context = ptr::null_mut();
        let channel = self.channel.raw.as_ptr();
        // SAFETY: all outlive the call, which returns at once: the descriptor does not block.
        if unsafe { ibv_get_cq_event(channel, &raw mut queue, &raw mut context) } == 0 {
            // SAFETY: the channel has this queue only; each event is acknowledged once.
            unsafe { ibv_ack_cq_events(self.raw.as_ptr(), 1) };
        }
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        // SAFETY: owned; its queue pairs hold it and are gone, its events are acknowledged.
        unsafe { ibv_destroy_cq(self.raw.as_ptr()) };
    }
}

impl From<&ibv_wc> for Ended {
    fn from(work: &ibv_wc) -> Self {
        let has_immediate = work.wc_flags & ibv_wc_flags::IBV_WC_WITH_IMM.0 != 0;
        // SAFETY: both members of the union are four bytes; with the flag they are the immediate.
        let immediate = unsafe { work.imm_data_invalidated_rkey_union.imm_data };
        Self {
            id: work.wr_id,
            qpn: work.qp_num,
            status: work.status,
            vendor: work.vendor_err,
            is_receive: work.opcode & ibv_wc_opcode::IBV_WC_RECV != 0,
            bytes: work.byte_len,
            immediate: has_immediate.then(|| immediate.to_ne_bytes()),
        }
    }
}

impl Domain {
    pub(super) fn new(context: &Rc<Context>) -> io::Result<Rc<Self>> {
        // SAFETY: the context is open.
        let raw = not_null(unsafe { ibv_alloc_pd(context.0.as_ptr()) })?;
        Ok(Rc::new(Self { raw, _context: Rc::clone(context) }))
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        // SAFETY: owned; all made from it hold it and are gone.
        unsafe { ibv_dealloc_pd(self.raw.as_ptr()) };
    }
}

impl Memory {
    /// Zeroed memory that peers may write into.
    pub(super) fn new(domain: &Rc<Domain>, bytes: usize) -> io::Result<Self> {
        const PAGE: usize = 4096;
        let layout = Layout::from_size_align(bytes.max(1), PAGE);
        let layout = layout.map_err(|_| io::ErrorKind::OutOfMemory)?;
        // SAFETY: the layout is not empty.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) });
        let memory = memory.ok_or(io::ErrorKind::OutOfMemory)?;
        let access =
            ibv_access_flags::IBV_ACCESS_LOCAL_WRITE | ibv_access_flags::IBV_ACCESS_REMOTE_WRITE;
        let access = access.0.cast_signed();
        let at = memory.as_ptr().cast();
        // SAFETY: the memory is owned, as long as said, and freed only once it is registered no
        // more.
        let raw = unsafe { ibv_reg_mr(domain.raw.as_ptr(), at, bytes, access) };
        match not_null(raw) {
            Ok(raw) => {
                Ok(Self { raw, start: memory, length: bytes, layout, _domain: Rc::clone(domain) })
            }
            Err(error) => {
                // SAFETY: allocated above with this layout, and nobody else knows it.
                unsafe { dealloc(memory.as_ptr(), layout) };
                Err(error)
            }
        }
    }

    pub(super) fn address(&self) -> u64 {
        self.start.addr().get() as u64
    }

    pub(super) fn rkey(&self) -> u32 {
        // SAFETY: the registration lives as long as `self`.
        unsafe { self.raw.as_ref() }.rkey
    }

    pub(super) fn lkey(&self) -> u32 {
        // SAFETY: the registration lives as long as `self`.
        unsafe { self.raw.as_ref() }.lkey
    }

    /// Copies bytes that a peer may be writing; copies nothing if out of range.
    pub(super) fn peek(&self, offset: usize, into: &mut [u8]) {
        if offset.checked_add(into.len()).is_none_or(|end| end > self.length) {
            return;
        }
        let words = offset.is_multiple_of(8);
        for (at, part) in (offset..).step_by(8).zip(into.chunks_mut(8)) {
            // SAFETY: within the allocation, which is page-aligned; atomic and volatile reads take
            // memory that changes under them.
            let start = unsafe { self.start.add(at) };
            if let (true, Ok(part)) = (words, <&mut [u8; 8]>::try_from(&mut *part)) {
                // SAFETY: as above; 8 bytes, aligned to 8.
                let word = unsafe { AtomicU64::from_ptr(start.cast::<u64>().as_ptr()) };
                *part = word.load(Ordering::Acquire).to_ne_bytes();
                continue;
            }
            for (byte, at) in part.iter_mut().zip(0..) {
                // SAFETY: as above.
                *byte = unsafe { start.add(at).read_volatile() };
            }
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: allocated, initialised and as long. Peers write only where work that the owner
        // has asked for is outstanding, and owners read only what a completion has covered.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: owned. Afterwards the adapter cannot reach the memory; where it says that it
        // still can, the memory is left to it.
        if unsafe { ibv_dereg_mr(self.raw.as_ptr()) } == 0 {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}

impl QueuePair {
    /// A queue pair in state INIT that allows remote writes.
    pub(super) fn new(
        domain: &Rc<Domain>,
        queue: &Rc<CompletionQueue>,
        depth: Depth,
        port: u8,
    ) -> io::Result<Self> {
        // SAFETY: numbers and pointers only; zeros are a value of it.
        let mut wanted: ibv_qp_init_attr = unsafe { zeroed() };
        wanted.send_cq = queue.raw.as_ptr();
        wanted.recv_cq = queue.raw.as_ptr();
        wanted.cap.max_send_wr = depth.sends;
        wanted.cap.max_recv_wr = depth.receives;
        wanted.cap.max_send_sge = 1;
        wanted.cap.max_recv_sge = 1;
        wanted.qp_type = ibv_qp_type::IBV_QPT_RC;
        // SAFETY: domain and queue live as long as the queue pair, which holds them.
        let raw = not_null(unsafe { ibv_create_qp(domain.raw.as_ptr(), &raw mut wanted) })?;
        let pair = Self { raw, _domain: Rc::clone(domain), _queue: Rc::clone(queue) };
        let mut init = attributes(ibv_qp_state::IBV_QPS_INIT);
        init.port_num = port;
        init.qp_access_flags = ibv_access_flags::IBV_ACCESS_REMOTE_WRITE.0;
        pair.modify(
            init,
            ibv_qp_attr_mask::IBV_QP_PKEY_INDEX
                | ibv_qp_attr_mask::IBV_QP_PORT
                | ibv_qp_attr_mask::IBV_QP_ACCESS_FLAGS,
        )?;
        Ok(pair)
    }

    /// The 24-bit number.
    pub(super) fn number(&self) -> u32 {
        // SAFETY: it lives as long as `self`.
        unsafe { self.raw.as_ref() }.qp_num
    }

    /// Moves to RTR, as NCCL's `ncclIbRtrQp` does; `mtu` is an `enum ibv_mtu`.
    pub(super) fn receive_from(&self, source: Source, remote: &Remote, mtu: u32) -> io::Result<()> {
        let mut ready = attributes(ibv_qp_state::IBV_QPS_RTR);
        ready.path_mtu = mtu;
        ready.dest_qp_num = remote.qpn;
        ready.rq_psn = 0;
        ready.max_dest_rd_atomic = 1;
        ready.min_rnr_timer = 12;
        ready.ah_attr.is_global = 1;
        ready.ah_attr.port_num = source.port;
        ready.ah_attr.sl = 0;
        ready.ah_attr.grh.dgid.raw = remote.gid;
        ready.ah_attr.grh.flow_label = 0;
        ready.ah_attr.grh.sgid_index = source.gid_index;
        ready.ah_attr.grh.hop_limit = 255;
        ready.ah_attr.grh.traffic_class = remote.traffic_class;
        self.modify(
            ready,
            ibv_qp_attr_mask::IBV_QP_AV
                | ibv_qp_attr_mask::IBV_QP_PATH_MTU
                | ibv_qp_attr_mask::IBV_QP_DEST_QPN
                | ibv_qp_attr_mask::IBV_QP_RQ_PSN
                | ibv_qp_attr_mask::IBV_QP_MAX_DEST_RD_ATOMIC
                | ibv_qp_attr_mask::IBV_QP_MIN_RNR_TIMER,
        )
    }

    /// Moves to RTS, as NCCL's `ncclIbRtsQp` does.
    pub(super) fn send_to(&self, remote: &Remote) -> io::Result<()> {
        let mut ready = attributes(ibv_qp_state::IBV_QPS_RTS);
        ready.timeout = remote.timeout;
        ready.retry_cnt = remote.retries;
        ready.rnr_retry = 7;
        ready.sq_psn = 0;
        ready.max_rd_atomic = 1;
        self.modify(
            ready,
            ibv_qp_attr_mask::IBV_QP_TIMEOUT
                | ibv_qp_attr_mask::IBV_QP_RETRY_CNT
                | ibv_qp_attr_mask::IBV_QP_RNR_RETRY
                | ibv_qp_attr_mask::IBV_QP_SQ_PSN
                | ibv_qp_attr_mask::IBV_QP_MAX_QP_RD_ATOMIC,
        )
    }

    fn modify(&self, mut attributes: ibv_qp_attr, mask: ibv_qp_attr_mask) -> io::Result<()> {
        let mask = (mask | ibv_qp_attr_mask::IBV_QP_STATE).0.cast_signed();
        // SAFETY: both outlive the call.
        zero(unsafe { ibv_modify_qp(self.raw.as_ptr(), &raw mut attributes, mask) })
    }

    /// Posts an RDMA WRITE. The caller has checked the range; the adapter would refuse a wrong one.
    pub(super) fn post_write(&self, memory: &Memory, write: &WriteRequest) -> io::Result<()> {
        let mut part = ibv_sge {
            addr: memory.address().wrapping_add(write.offset as u64),
            length: write.bytes,
            lkey: memory.lkey(),
        };
        // SAFETY: numbers and pointers only; zeros are a value of it.
        let mut work: ibv_send_wr = unsafe { zeroed() };
        work.wr_id = write.id;
        work.opcode = ibv_wr_opcode::IBV_WR_RDMA_WRITE;
        work.send_flags = ibv_send_flags::IBV_SEND_SIGNALED.0;
        if write.bytes > 0 {
            work.sg_list = &raw mut part;
            work.num_sge = 1;
        }
        work.wr.rdma.remote_addr = write.remote_address;
        work.wr.rdma.rkey = write.rkey;
        if let Some(immediate) = write.immediate {
            work.opcode = ibv_wr_opcode::IBV_WR_RDMA_WRITE_WITH_IMM;
            work.imm_data_invalidated_rkey_union.imm_data = u32::from_ne_bytes(immediate);
        }
        let mut refused = ptr::null_mut();
        // SAFETY: the request and its list are read during the call only. The memory is registered:
        // once it is not, the adapter reads it no more.
        zero(unsafe { ibv_post_send(self.raw.as_ptr(), &raw mut work, &raw mut refused) })
    }

    /// Posts a receive without memory.
    pub(super) fn post_receive(&self, id: u64) -> io::Result<()> {
        let mut work =
            ibv_recv_wr { wr_id: id, next: ptr::null_mut(), sg_list: ptr::null_mut(), num_sge: 0 };
        let mut refused = ptr::null_mut();
        // SAFETY: the request is read during the call only.
        zero(unsafe { ibv_post_recv(self.raw.as_ptr(), &raw mut work, &raw mut refused) })
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { ibv_destroy_qp(self.raw.as_ptr()) };
    }
}

fn attributes(state: u32) -> ibv_qp_attr {
    // SAFETY: numbers only; zeros are a value of it.
    let mut attributes: ibv_qp_attr = unsafe { zeroed() };
    attributes.qp_state = state;
    attributes
}

fn not_null<T>(pointer: *mut T) -> io::Result<NonNull<T>> {
    NonNull::new(pointer).ok_or_else(io::Error::last_os_error)
}

/// Functions return 0, an error number, or -1 with `errno`.
fn zero(code: i32) -> io::Result<()> {
    match code {
        0 => Ok(()),
        code if code > 0 => Err(io::Error::from_raw_os_error(code)),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_nonblocking(descriptor: &impl AsFd) -> io::Result<()> {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};

    let flags = OFlag::from_bits_retain(fcntl(descriptor.as_fd(), FcntlArg::F_GETFL)?);
    fcntl(descriptor.as_fd(), FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}
