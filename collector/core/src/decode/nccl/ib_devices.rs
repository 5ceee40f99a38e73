//! The ports that an end of a NET/IB connection uses: the first message of both ends since 2.24
//! (NCCL `struct ncclNetVDeviceProps` of `src/include/net_device.h`; 2.30 adds a byte, `struct
//! ncclIbDevExtraProps`).

use super::structure::Structure;

/// Sizes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceListLayout {
    /// Size of the list and what follows it.
    pub len: usize,
    /// Most ports.
    pub devices: u32,
}

/// 2.24 to 2.29.
pub const DEVICES_20: DeviceListLayout = DeviceListLayout { len: 20, devices: 4 };
/// 2.30 and later.
pub const DEVICES_37: DeviceListLayout = DeviceListLayout { len: 37, devices: 8 };

/// Number of ports; `None` if it is invalid.
#[must_use]
pub fn device_count(bytes: &[u8], layout: &DeviceListLayout) -> Option<u32> {
    let count = Structure(bytes).count(0)?;
    (bytes.len() == layout.len && (1..=layout.devices).contains(&count)).then_some(count)
}
