//! Providers of libfabric, as `fi_info` lists them.

/// What one run of `fi_info` found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Providers {
    /// The provider that it was asked for, if the command is known and names one.
    pub asked: Option<String>,
    /// Its error, such as -61 (no data available).
    pub error: Option<i32>,
    /// What it listed.
    pub endpoints: Vec<Endpoint>,
}

/// A kind of endpoint that a provider offers on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// The provider: `efa`, `tcp`, `verbs;ofi_rxm`.
    pub provider: String,
    /// The network.
    pub fabric: Option<String>,
    /// The device: `rdmap16s27-rdm`.
    pub domain: Option<String>,
    /// Type of its endpoints: `FI_EP_RDM`.
    pub kind: Option<String>,
}

impl Endpoint {
    /// The provider that moves the data: `verbs` of `verbs;ofi_rxm`.
    #[must_use]
    pub fn core(&self) -> &str {
        self.provider.split(';').next().unwrap_or_default()
    }
}
