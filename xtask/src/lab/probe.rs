//! Which accelerator the host has.
//!
//! With nested virtualisation `/dev/kvm` may exist and still not run a stock kernel. So a trial boot
//! decides, once for each kernel of the host.

use std::fs;
use std::fs::File;
use std::time::Duration;

use anyhow::Result;

use super::accelerator::Accelerator;
use super::build::Built;
use super::machine::{Machine, Terminal};
use super::share::Share;

/// With KVM a boot takes two seconds.
const PROBE: Duration = Duration::from_secs(20);

/// The fastest one that boots this lab on this host.
pub(super) fn accelerator(built: &Built) -> Result<Accelerator> {
    let host = fs::read_to_string("/proc/version").unwrap_or_default();
    let answer = built.folder.join("accelerator");
    let known = fs::read_to_string(&answer).unwrap_or_default();
    if let Some(kind) = known.strip_suffix(&host) {
        return Ok(if kind == "kvm\n" { Accelerator::Kvm } else { Accelerator::Tcg });
    }
    // Opened as QEMU opens it: a user may see the device without access to it.
    let may_open = File::options().read(true).write(true).open("/dev/kvm").is_ok();
    let boots = may_open && {
        let share = Share::create(&built.folder, "true", &Terminal::None.settings())?;
        let accelerator = Accelerator::Kvm;
        let (kernel, terminal) = (&built.kernel, Terminal::None);
        let machine = Machine { built, kernel, accelerator, share: &share, terminal };
        machine.boot(PROBE).is_ok_and(|status| status == 0)
    };
    let (kind, name) = if boots { (Accelerator::Kvm, "kvm") } else { (Accelerator::Tcg, "tcg") };
    eprintln!("lab: guests run under {}", name.to_uppercase());
    // Without the file, the next run boots again.
    let _ = fs::write(&answer, format!("{name}\n{host}"));
    Ok(kind)
}
