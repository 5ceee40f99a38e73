//! What a node is, one subject a file. Nothing here judges.

pub mod clock;
pub mod dcb;
pub mod environment;
pub mod firewall;
pub mod gpu;
pub mod interface;
pub mod kernel_log;
pub mod pci;
pub mod place;
pub mod processor;
pub mod rdma;
pub mod resource;
pub mod rise;
pub mod software;

use self::clock::Clock;
use self::environment::Variable;
use self::firewall::Firewall;
use self::gpu::Gpu;
use self::interface::Interface;
use self::kernel_log::KernelLog;
use self::pci::Pci;
use self::place::Place;
use self::processor::Processor;
use self::rdma::Device;
use self::resource::Resources;
use self::rise::Rise;
use self::software::Software;
use super::tree::{Known, Tree};

/// What a node is.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Who looks, and from where.
    pub place: Place,
    /// RDMA devices, by name.
    pub devices: Known<Vec<Device>>,
    /// Devices of the host that this container was not given.
    pub withheld: Vec<String>,
    /// Whether settings are a job's: of a process, or of a file.
    pub is_of_job: bool,
    /// Network interfaces that RDMA devices and NCCL's sockets may use.
    pub interfaces: Known<Vec<Interface>>,
    /// GPUs.
    pub gpus: Vec<Gpu>,
    /// PCIe functions of NICs and GPUs that no driver has made usable are here, too.
    pub pci: Known<Pci>,
    /// Limits of memory, files and processes.
    pub resources: Resources,
    /// CPUs.
    pub processor: Processor,
    /// Versions on disk and in the kernel.
    pub software: Software,
    /// The clock of the node.
    pub clock: Known<Clock>,
    /// Packet filters.
    pub firewall: Known<Firewall>,
    /// Settings of NCCL, UCX and libfabric, each from where it was set.
    pub variables: Vec<Variable>,
    /// Files of settings that could not be read.
    pub unread_settings: Vec<super::tree::Missing>,
    /// What the kernel has logged since boot.
    pub kernel_log: Known<KernelLog>,
    /// Counters of errors that rose while the node was examined.
    pub rise: Known<Vec<Rise>>,
}

/// What to read besides the node itself.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Variables of our own environment.
    pub environment: Vec<(String, String)>,
    /// The home folder of this user.
    pub home: Option<String>,
    /// The process whose environment and limits count; our own if unset.
    pub pid: Option<u32>,
    /// Files of `NAME=value` lines, as `env` prints them.
    pub environment_files: Vec<std::path::PathBuf>,
    /// How long error counters are watched; zero for not at all.
    pub watch: std::time::Duration,
}

impl Facts {
    /// Reads everything. It takes as long as counters are watched, and some ten milliseconds.
    #[must_use]
    pub fn read(tree: &Tree, wanted: &Wanted) -> Self {
        let watched = rise::Watch::begin(tree, wanted.watch);
        let pci = Pci::read(tree);
        // What a job in a container loads, and where it shares memory, is in its own root.
        let job = wanted.pid.map_or_else(|| tree.clone(), |pid| tree.of_process(pid));
        let place = Place::read(tree, &job, wanted.pid);
        let resources = Resources::read(tree, &job, wanted.pid);
        let mut devices = rdma::read(tree);
        let withheld = match &mut devices {
            Ok(devices) if place.container.is_some() => withhold(devices, &resources),
            _ => Vec::new(),
        };
        let (variables, unread_settings) = environment::read(tree, &job, wanted);
        Self {
            place,
            withheld,
            is_of_job: wanted.pid.is_some() || !wanted.environment_files.is_empty(),
            interfaces: interface::read(tree, devices.as_deref().unwrap_or_default()),
            gpus: pci.as_ref().map(|pci| gpu::read(tree, pci)).unwrap_or_default(),
            devices,
            pci,
            resources,
            processor: Processor::read(tree),
            software: Software::read(tree, &job),
            clock: Clock::read(tree),
            firewall: Firewall::read(tree),
            variables,
            unread_settings,
            kernel_log: KernelLog::read(tree),
            rise: watched.and_then(|watched| watched.end(tree)),
        }
    }

    /// RDMA devices; none if they could not be read.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        self.devices.as_deref().unwrap_or_default()
    }

    /// An interface.
    #[must_use]
    pub fn interface(&self, name: &str) -> Option<&Interface> {
        self.interfaces.as_deref().unwrap_or_default().iter().find(|one| one.name == name)
    }

    /// Ports that can carry a job's traffic: of RDMA devices with hardware or software, with a link.
    pub fn active_ports(&self) -> impl Iterator<Item = (&Device, &rdma::Port)> {
        let ports = self
            .devices()
            .iter()
            .flat_map(|device| device.ports.iter().map(move |port| (device, port)));
        ports.filter(|(_, port)| port.is_active())
    }
}

/// In a container sysfs shows all devices of the host; those that it was given have a file in `/dev/infiniband`. Takes the
/// others away, if it was given any.
fn withhold(devices: &mut Vec<Device>, resources: &Resources) -> Vec<String> {
    let is_given = |device: &Device| {
        let file = device.uverbs.as_ref();
        file.is_none_or(|file| resources.character_devices.iter().any(|(name, _)| name == file))
    };
    if !devices.iter().any(is_given) {
        return Vec::new();
    }
    let withheld = devices
        .iter()
        .filter(|device| !is_given(device))
        .map(|device| device.name.clone())
        .collect();
    devices.retain(is_given);
    withheld
}
