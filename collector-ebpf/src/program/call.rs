//! Functions of libraries that training processes call: NCCL's and libibverbs'.
//!
//! Hook: uprobe and uretprobe with an attach cookie (kernel 5.15). Needs
//! `CAP_SYS_ADMIN`, which the kernel asks for at functions of programs, whatever else there is.
//! What is read of a call is said by the cookie, a [`Plan`].

use aya_ebpf::bindings::{BPF_ANY, BPF_RB_NO_WAKEUP};
use aya_ebpf::helpers::{
    bpf_get_attach_cookie, bpf_get_current_cgroup_id, bpf_get_current_pid_tgid, bpf_ktime_get_ns,
    bpf_probe_read_user, bpf_probe_read_user_buf,
};
use aya_ebpf::macros::{uprobe, uretprobe};
use aya_ebpf::maps::ring_buf::RingBufEntry;
use aya_ebpf::programs::{ProbeContext, RetProbeContext};
use aya_ebpf::{EbpfContext, bindings::pt_regs};
use railscope_ebpf::call::{
    ARGUMENTS, COPY_LEN, CallEvent, HAS_COPY, HAS_WORD, Pending, PendingKey, Place, Plan, Reading,
};
use railscope_ebpf::loss::Loss;

use super::maps::{self, ACTS, PENDING};

#[uprobe]
pub(crate) fn call_entered(context: ProbeContext) -> u32 {
    // SAFETY: helpers for programs at functions.
    let (plan_bits, entered) =
        unsafe { (bpf_get_attach_cookie(context.as_ptr()), bpf_ktime_get_ns()) };
    let plan = Plan::from_bits(plan_bits);
    // SAFETY: the registers of the caller, which the kernel keeps while the program runs.
    let registers = unsafe { &*context.regs };
    let (arguments, by_value) = arguments(&context, registers, plan.copy.place);
    if plan.returns {
        let key = pending_key(&plan);
        _ = PENDING.insert(&key, &Pending { entered, arguments }, u64::from(BPF_ANY));
    }
    let call = Call { plan, plan_bits, entered, returned: 0, arguments, by_value, result: 0 };
    call.hand_out(address(registers));
    0
}

#[uretprobe]
pub(crate) fn call_returned(context: RetProbeContext) -> u32 {
    // SAFETY: helpers for programs at functions.
    let (plan_bits, returned) =
        unsafe { (bpf_get_attach_cookie(context.as_ptr()), bpf_ktime_get_ns()) };
    let plan = Plan::from_bits(plan_bits);
    let key = pending_key(&plan);
    // Where a file is attached to twice, the first program takes it.
    let Some(pending) = PENDING.get_ptr(&key) else { return 0 };
    // SAFETY: the map keeps the value while the program runs.
    let Pending { entered, arguments } = unsafe { *pending };
    _ = PENDING.remove(&key);
    let result = context.ret();
    let call = Call { plan, plan_bits, entered, returned, arguments, by_value: 0, result };
    call.hand_out(0);
    0
}

#[inline(always)]
fn pending_key(plan: &Plan) -> PendingKey {
    PendingKey { thread: bpf_get_current_pid_tgid(), function: u64::from(plan.function) }
}

/// What is known of a call.
struct Call {
    plan: Plan,
    plan_bits: u64,
    entered: u64,
    returned: u64,
    arguments: [u64; ARGUMENTS],
    /// Where the structure passed by value is; 0 when it is gone.
    by_value: u64,
    result: u64,
}

impl Call {
    #[inline(always)]
    fn hand_out(&self, address: u64) {
        let Some(mut entry) = ACTS.reserve::<CallEvent>(0) else {
            maps::count(Loss::Call);
            return;
        };
        self.write(&mut entry, address);
        entry.submit(u64::from(BPF_RB_NO_WAKEUP));
    }

    #[inline(always)]
    fn write(&self, entry: &mut RingBufEntry<CallEvent>, address: u64) {
        let thread = bpf_get_current_pid_tgid();
        let event = entry.as_mut_ptr();
        // SAFETY: the entry is as long as the event, and every field of it is written.
        unsafe {
            (&raw mut (*event).entered).write(self.entered);
            (&raw mut (*event).returned).write(self.returned);
            (&raw mut (*event).cgroup).write(bpf_get_current_cgroup_id());
            (&raw mut (*event).plan).write(self.plan_bits);
            (&raw mut (*event).address).write(address);
            (&raw mut (*event).arguments).write(self.arguments);
            (&raw mut (*event).result).write(self.result);
            (&raw mut (*event).pid).write((thread >> 32) as u32);
            (&raw mut (*event).tid).write(thread as u32);
            (&raw mut (*event).reserved).write(0);
            (&raw mut (*event).copy).write([0; COPY_LEN / 8]);
            let has_copy = self.copy(&mut *(&raw mut (*event).copy).cast());
            let word = self.word();
            (&raw mut (*event).word).write(word.unwrap_or(0));
            let read = if has_copy { HAS_COPY } else { 0 };
            (&raw mut (*event).read).write(read | if word.is_some() { HAS_WORD } else { 0 });
        }
    }

    /// Copies what is asked for; whether it could.
    #[inline(always)]
    fn copy(&self, to: &mut [u8; COPY_LEN]) -> bool {
        let reading = &self.plan.copy;
        let Some(from) = self.place(reading) else { return false };
        let len =
            if usize::from(reading.len) < COPY_LEN { usize::from(reading.len) } else { COPY_LEN };
        // SAFETY: the helper refuses what the caller cannot read; the length is in bounds.
        unsafe { bpf_probe_read_user_buf(from as *const u8, &mut to[..len]) }.is_ok()
    }

    #[inline(always)]
    fn word(&self) -> Option<u64> {
        let reading = &self.plan.word;
        let from = self.place(reading)?;
        // SAFETY: the helper refuses what the caller cannot read.
        unsafe {
            match reading.len {
                4 => bpf_probe_read_user(from as *const u32).map(u64::from),
                _ => bpf_probe_read_user(from as *const u64),
            }
        }
        .ok()
    }

    /// Where to read; `None` where there is nothing to read at this time.
    #[inline(always)]
    fn place(&self, reading: &Reading) -> Option<u64> {
        if reading.len == 0 || reading.is_result != (self.returned != 0) {
            return None;
        }
        let base = match reading.place {
            Place::Argument(number) => self.arguments[usize::from(number) & (ARGUMENTS - 1)],
            Place::Result => self.result,
            Place::ByValue => self.by_value,
        };
        (base != 0).then(|| base + u64::from(reading.offset))
    }
}

/// The arguments but the one passed by value, and where that is.
#[cfg(bpf_target_arch = "x86_64")]
#[inline(always)]
fn arguments(context: &ProbeContext, registers: &pt_regs, copy: Place) -> ([u64; ARGUMENTS], u64) {
    let argument = |number| context.arg(number).unwrap_or(0);
    // Behind the address to return to.
    let stack = registers.rsp + 8;
    let (seventh, eighth) = match copy {
        Place::ByValue => (0, 0),
        // SAFETY: the helper refuses what the caller cannot read.
        _ => unsafe { bpf_probe_read_user(stack as *const [u64; 2]) }
            .map_or((0, 0), |[seventh, eighth]| (seventh, eighth)),
    };
    let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(argument);
    ([a, b, c, d, e, f, seventh, eighth], stack)
}

/// The arguments but the one passed by value, and where that is.
#[cfg(bpf_target_arch = "aarch64")]
#[inline(always)]
fn arguments(context: &ProbeContext, _: &pt_regs, copy: Place) -> ([u64; ARGUMENTS], u64) {
    let argument = |number| context.arg(number).unwrap_or(0);
    let [a, b, c, d, e, f, g, h] = [0, 1, 2, 3, 4, 5, 6, 7].map(argument);
    match copy {
        Place::ByValue => ([a, b, d, e, f, g, h, 0], c),
        _ => ([a, b, c, d, e, f, g, h], 0),
    }
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
