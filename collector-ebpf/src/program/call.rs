//! Functions of libraries that training processes call: NCCL's and libibverbs'.
//!
//! Hook: uprobe and uretprobe with an attach cookie (kernel 5.15). Needs
//! `CAP_SYS_ADMIN`, which the kernel always requires for uprobes.
//! The cookie, a [`Plan`], says what to read of a call. Everything is written directly into the ring
//! entry or map: a program at a function can be preempted, and must use less than 64 bytes of stack
//! (`cargo xtask ebpf` checks).

use aya_ebpf::EbpfContext;
use aya_ebpf::bindings::{BPF_ANY, BPF_RB_NO_WAKEUP, pt_regs};
use aya_ebpf::cty::c_void;
use aya_ebpf::helpers::generated::bpf_probe_read_user;
use aya_ebpf::helpers::{
    bpf_get_attach_cookie, bpf_get_current_cgroup_id, bpf_get_current_pid_tgid,
};
use aya_ebpf::macros::{uprobe, uretprobe};
use aya_ebpf::programs::{ProbeContext, RetProbeContext};
use railscope_ebpf::call::{
    ARGUMENTS, BaseAddress, Beginning, COPY_LEN, CallEvent, HAS_COPY, HAS_WORD, Plan, Reading,
    pending_key,
};
use railscope_ebpf::loss::Loss;

use super::maps::{ACTS, PENDING};
use super::{clock, log, share};

#[uprobe]
pub(crate) fn call_entered(context: ProbeContext) -> u32 {
    // SAFETY: a helper for programs at functions.
    let plan_bits = unsafe { bpf_get_attach_cookie(context.as_ptr()) };
    let entered = clock::now();
    if !share::takes_one(entered) {
        log::lost(Loss::Share);
        return 0;
    }
    keep(&context, Plan::from_bits(plan_bits), entered);
    let Some(mut entry) = ACTS.reserve::<CallEvent>(0) else {
        log::lost(Loss::Call);
        return 0;
    };
    // SAFETY: as long as an event; the registers of the caller are the kernel's while it runs.
    let (event, registers) = unsafe { (&mut *entry.as_mut_ptr(), &*context.regs) };
    begin(event, plan_bits);
    event.address = address(registers);
    event.beginning.entered = entered;
    let by_value = arguments(&context, read_plan(event).copy.place, &mut event.beginning.arguments);
    read(event, by_value);
    entry.submit(u64::from(BPF_RB_NO_WAKEUP));
    0
}

#[uretprobe]
pub(crate) fn call_returned(context: RetProbeContext) -> u32 {
    // SAFETY: a helper for programs at functions.
    let plan_bits = unsafe { bpf_get_attach_cookie(context.as_ptr()) };
    let thread = bpf_get_current_pid_tgid() as u32;
    let key = pending_key(Plan::from_bits(plan_bits).function, thread);
    // If a file is attached to twice, the first program handles the call.
    let Some(beginning) = PENDING.get_ptr(&key) else { return 0 };
    if let Some(mut entry) = ACTS.reserve::<CallEvent>(0) {
        // SAFETY: as long as an event; the map keeps the value while the program runs.
        let event = unsafe { &mut *entry.as_mut_ptr() };
        begin(event, plan_bits);
        // SAFETY: as above.
        event.beginning = unsafe { *beginning };
        event.returned = clock::now();
        event.result = context.ret();
        read(event, 0);
        entry.submit(u64::from(BPF_RB_NO_WAKEUP));
    } else {
        log::lost(Loss::Call);
    }
    _ = PENDING.remove(&key);
    0
}

/// Before Linux 6.2, a map may be written only from the stack and from maps.
static NOTHING: Beginning = Beginning { entered: 0, arguments: [0; ARGUMENTS] };

/// Keeps the start of a call until it returns, whether the start could be reported or not.
#[inline(always)]
fn keep(context: &ProbeContext, plan: Plan, entered: u64) {
    if !plan.returns {
        return;
    }
    let key = pending_key(plan.function, bpf_get_current_pid_tgid() as u32);
    _ = PENDING.insert(&key, &NOTHING, u64::from(BPF_ANY));
    let Some(beginning) = PENDING.get_ptr_mut(&key) else {
        log::lost(Loss::Return);
        return;
    };
    // SAFETY: the map keeps the value while the program runs, and only this thread has the key.
    let beginning = unsafe { &mut *beginning };
    beginning.entered = entered;
    arguments(context, plan.copy.place, &mut beginning.arguments);
}

/// Writes the caller, and zeros for what is not known yet.
#[inline(always)]
fn begin(event: &mut CallEvent, plan_bits: u64) {
    let thread = bpf_get_current_pid_tgid();
    event.beginning = Beginning { entered: 0, arguments: [0; ARGUMENTS] };
    event.returned = 0;
    // SAFETY: a helper without arguments.
    event.cgroup = unsafe { bpf_get_current_cgroup_id() };
    event.plan = plan_bits;
    event.address = 0;
    event.result = 0;
    event.word = 0;
    event.pid = (thread >> 32) as u32;
    event.tid = thread as u32;
    event.read = 0;
    event.reserved = 0;
    event.copy = [0; COPY_LEN / 8];
}

/// The plan, read from the event again: its parts would otherwise be on the stack.
#[inline(always)]
fn read_plan(event: &CallEvent) -> Plan {
    // SAFETY: a valid reference.
    Plan::from_bits(unsafe { core::ptr::read_volatile(&raw const event.plan) })
}

/// Reads what the plan requires at this time.
#[inline(always)]
fn read(event: &mut CallEvent, by_value: u64) {
    let plan = read_plan(event);
    if let Some(from) = place(event, &plan.copy, by_value) {
        let asked = u32::from(plan.copy.len);
        let len = if asked < COPY_LEN as u32 { asked } else { COPY_LEN as u32 };
        if copy((&raw mut event.copy).cast(), len, from) {
            event.read |= HAS_COPY;
        }
    }
    let plan = read_plan(event);
    if let Some(from) = place(event, &plan.word, by_value) {
        // The lower half, of a number of 4 bytes.
        let len = if plan.word.len == 4 { 4 } else { 8 };
        if copy((&raw mut event.word).cast(), len, from) {
            event.read |= HAS_WORD;
        }
    }
}

/// Copies the caller's memory; returns whether it could. Memory that is swapped out, or about to migrate
/// between NUMA nodes, cannot be read here.
#[inline(always)]
fn copy(to: *mut c_void, len: u32, from: u64) -> bool {
    // SAFETY: the verifier knows how long the place is; the helper refuses what cannot be read.
    let is_read = unsafe { bpf_probe_read_user(to, len, from as *const c_void) } == 0;
    if !is_read {
        log::lost(Loss::Memory);
    }
    is_read
}

/// Where to read; `None` if there is nothing to read at this time.
#[inline(always)]
fn place(event: &CallEvent, reading: &Reading, by_value: u64) -> Option<u64> {
    if reading.len == 0 || reading.is_result != (event.returned != 0) {
        return None;
    }
    let base = match reading.place {
        BaseAddress::Argument(number) => {
            event.beginning.arguments[usize::from(number) & (ARGUMENTS - 1)]
        }
        BaseAddress::Result => event.result,
        BaseAddress::ByValue => by_value,
    };
    (base != 0).then(|| base + u64::from(reading.offset))
}

/// Writes the arguments but the one passed by value; where that is.
#[cfg(bpf_target_arch = "x86_64")]
#[inline(always)]
fn arguments(context: &ProbeContext, copied: BaseAddress, to: &mut [u64; ARGUMENTS]) -> u64 {
    let argument = |number| context.arg(number).unwrap_or(0);
    let [a, b, c, d, e, f, ..] = to;
    (*a, *b, *c) = (argument(0), argument(1), argument(2));
    (*d, *e, *f) = (argument(3), argument(4), argument(5));
    // SAFETY: the registers of the caller are the kernel's while the program runs.
    let stack = unsafe { (*context.regs).rsp };
    // After the return address.
    let stack = stack + 8;
    if copied != BaseAddress::ByValue {
        copy((&raw mut to[6]).cast(), 16, stack);
    }
    stack
}

/// Writes the arguments but the one passed by value; where that is.
#[cfg(bpf_target_arch = "aarch64")]
#[inline(always)]
fn arguments(context: &ProbeContext, copied: BaseAddress, to: &mut [u64; ARGUMENTS]) -> u64 {
    let argument = |number| context.arg(number).unwrap_or(0);
    let [a, b, c, d, e, f, g, h] = to;
    (*a, *b) = (argument(0), argument(1));
    if copied != BaseAddress::ByValue {
        (*c, *d, *e) = (argument(2), argument(3), argument(4));
        (*f, *g, *h) = (argument(5), argument(6), argument(7));
        return 0;
    }
    (*c, *d, *e) = (argument(3), argument(4), argument(5));
    (*f, *g) = (argument(6), argument(7));
    argument(2)
}

#[cfg(bpf_target_arch = "x86_64")]
#[inline(always)]
fn address(registers: &pt_regs) -> u64 {
    registers.rip
}

#[cfg(bpf_target_arch = "aarch64")]
#[inline(always)]
fn address(registers: &pt_regs) -> u64 {
    registers.pc
}
