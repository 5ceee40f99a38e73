//! Settings of NCCL, UCX, libfabric and PyTorch's NCCL: variables, and NCCL's own files.

mod text;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::Wanted;
use crate::doctor::tree::{Known, Missing, Tree, Why};

/// Most bytes of a file of variables.
const FILE_LIMIT: u64 = 4 << 20;
/// Most variables of all sources together.
const VARIABLE_LIMIT: usize = 4_096;

/// A setting, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// `NCCL_IB_GID_INDEX`.
    pub name: String,
    /// Its value.
    pub value: String,
    /// `environment`, `process 1234`, or the file.
    pub source: String,
}

impl Variable {
    /// The number that NCCL reads: as strtoll(3) with base 0, in hexadecimal after `0x` and in octal after `0`; 0 for what
    /// begins with no digit (NCCL `ncclLoadParam`).
    #[must_use]
    pub fn number(&self) -> i64 {
        let text = self.value.trim_start();
        let (sign, digits) =
            text.strip_prefix('-').map_or((1, text.trim_start_matches('+')), |rest| (-1, rest));
        let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        let (radix, digits) = match hexadecimal {
            Some(digits) => (16, digits),
            None if digits.starts_with('0') => (8, digits),
            None => (10, digits),
        };
        let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let number = i64::from_str_radix(digits.get(..end).unwrap_or_default(), radix);
        sign * number.unwrap_or(0)
    }

    /// Whether the value is a number and nothing else.
    #[must_use]
    pub fn is_number(&self) -> bool {
        let digits = self.value.trim().trim_start_matches(['-', '+']);
        let is_hexadecimal = |digits: &str| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(digits) => is_hexadecimal(digits),
            None => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()),
        }
    }
}

/// Beginnings of names that matter here.
const PREFIXES: &[&str] = &[
    "NCCL_",
    "RCCL_",
    "OFI_NCCL_",
    "TORCH_NCCL_",
    "UCX_",
    "FI_",
    "MLX5_",
    "RDMAV_",
    "IBV_",
    "CUDA_LAUNCH_BLOCKING",
    "GLOO_SOCKET_IFNAME",
    "OMPI_MCA_btl_tcp_if",
];

/// Where ranks meet, and how many there are.
const RENDEZVOUS: &[&str] =
    &["MASTER_ADDR", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"];

/// Reads all sources, in NCCL's order: the first that sets a variable wins (NCCL `initEnv`). Also says which
/// files could not be read. NCCL's own files are those of `job`.
#[must_use]
pub fn read(tree: &Tree, job: &Tree, wanted: &Wanted) -> (Vec<Variable>, Vec<Missing>) {
    let mut variables = Vec::new();
    let mut unread = Vec::new();
    let mut take = |read: Known<Vec<Variable>>| match read {
        Ok(found) => variables.extend(found),
        Err(missing) => unread.push(missing),
    };
    for file in &wanted.environment_files {
        take(of_file(file));
    }
    // Below another root a home folder is not that of our user.
    let mut home = wanted.home.clone().filter(|_| tree.is_running_system());
    if let Some(pid) = wanted.pid {
        let set = of_process(tree, pid);
        let of_home = |set: &Vec<(String, String)>| {
            set.iter().find(|(name, _)| name == "HOME").map(|(_, folder)| folder.clone())
        };
        home = set.as_ref().ok().and_then(of_home);
        take(set.map(|set| self::wanted(set, &format!("process {pid}"))));
    } else if tree.is_running_system() && wanted.environment_files.is_empty() {
        take(Ok(of_own(&wanted.environment)));
    }
    let set =
        |name: &str| variables.iter().find(|one| one.name == name).map(|one| one.value.clone());
    // NCCL takes another file in place of the user's since 2.23 (NCCL_CONF_FILE).
    let own = set("NCCL_CONF_FILE").or_else(|| home.map(|home| format!("{home}/.nccl.conf")));
    for path in own.into_iter().chain(["/etc/nccl.conf".to_owned()]) {
        match job.text(&path) {
            Ok(text) => variables.extend(self::wanted(text::by_line(&text), &path)),
            Err(Missing { why: Why::Absent, .. }) => {}
            Err(missing) => unread.push(missing),
        }
    }
    variables.truncate(VARIABLE_LIMIT);
    (variables, unread)
}

fn of_own(environment: &[(String, String)]) -> Vec<Variable> {
    let wanted = environment.iter().filter(|(name, _)| is_wanted(name));
    let variable = |(name, value): &(String, String)| Variable {
        name: name.clone(),
        value: value.clone(),
        source: "environment".to_owned(),
    };
    let mut own: Vec<Variable> = wanted.map(variable).collect();
    own.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    own
}

fn of_process(tree: &Tree, pid: u32) -> Known<Vec<(String, String)>> {
    let bytes = tree.bytes(&format!("/proc/{pid}/environ"))?;
    let text = String::from_utf8_lossy(&bytes).replace('\0', "\n");
    Ok(text::by_line(&text))
}

/// A file that the user names may be a pipe.
fn of_file(path: &Path) -> Known<Vec<Variable>> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_LIMIT).read_to_end(&mut bytes));
    read.map_err(|error| Missing::of_error(&name, &error))?;
    Ok(wanted(text::in_script(&String::from_utf8_lossy(&bytes)), &name))
}

fn wanted(pairs: Vec<(String, String)>, source: &str) -> Vec<Variable> {
    let wanted = pairs.into_iter().filter(|(name, _)| is_wanted(name));
    wanted.map(|(name, value)| Variable { name, value, source: source.to_owned() }).collect()
}

fn is_wanted(name: &str) -> bool {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_meant = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_name && (is_meant || RENDEZVOUS.contains(&name))
}
