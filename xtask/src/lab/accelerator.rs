//! How the guest runs: on the processor through KVM, or emulated by QEMU (TCG).

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accelerator {
    Kvm,
    Tcg,
}

impl Accelerator {
    /// QEMU's `-accel`.
    pub(super) fn option(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg,thread=multi,tb-size=512",
        }
    }
}
