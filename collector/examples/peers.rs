//! The driver's part in the checks of `tests/peers`, where real PyTorch and real NCCL are the other
//! part:
//!
//! ```text
//! peers store ADDRESS:PORT        serves a TCPStore until standard input ends
//! peers client ADDRESS:PORT       uses a TCPStore that somebody else serves
//! peers ranks RELEASE RANKS ID    plays all ranks of a communicator with this unique id
//! ```

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match linux::run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the driver speaks to the kernel of Linux");
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::Read;
    use std::net::{IpAddr, SocketAddr};
    use std::thread;
    use std::time::Duration;

    use railscope_drive::bootstrap::gather::all_gather;
    use railscope_drive::bootstrap::ring::Newcomer;
    use railscope_drive::clock::Deadline;
    use railscope_drive::release::Release;
    use railscope_drive::store::{Client, Server};
    use railscope_drive::tcp::Lookout;
    use railscope_drive::wire::UniqueId;
    use railscope_drive::{DriveError, Result};

    const USAGE: &str =
        "usage: peers store ADDRESS:PORT | client ADDRESS:PORT | ranks RELEASE RANKS ID";

    pub(super) fn run() -> Result<()> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match arguments.as_slice() {
            ["store", at] => store(parsed(at)?),
            ["client", at] => client(parsed(at)?),
            ["ranks", release, ranks, id] => play(parsed(release)?, parsed(ranks)?, id),
            _ => Err(DriveError::Unusable(USAGE.to_owned())),
        }
    }

    fn parsed<T: std::str::FromStr>(text: &str) -> Result<T> {
        text.parse().map_err(|_| DriveError::Unusable(format!("{text}? {USAGE}")))
    }

    fn deadline() -> Deadline {
        Deadline::after(Duration::from_secs(20))
    }

    fn store(at: SocketAddr) -> Result<()> {
        let server = Server::bind(at)?;
        println!("serving at {}", server.address());
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        Ok(())
    }

    fn client(at: SocketAddr) -> Result<()> {
        let store = Client::connect(at.ip(), at, deadline())?;
        let theirs = store.get("/theirs", deadline())?;
        println!("theirs: {}", String::from_utf8_lossy(&theirs));
        println!("sum: {}", store.add("/sum", 2, deadline())?);
        let compared = store.compare_set("/compared", b"old", b"new", deadline())?;
        println!("compared: {}", String::from_utf8_lossy(&compared));
        let is_there = |key| store.check(&[key], deadline());
        println!("there: {} {}", is_there("/theirs")?, is_there("/nowhere")?);
        let short = Deadline::after(Duration::from_millis(300));
        match store.wait(&["/nowhere"], short, || Ok(())) {
            Ok(()) => println!("/nowhere is somewhere"),
            Err(error) => println!("waited: {error}"),
        }
        store.set("/ours", b"from the driver", deadline())
    }

    /// All ranks as threads: each checks in with the root, joins the ring, and gathers ranks.
    fn play(release: Release, ranks: u32, id: &str) -> Result<()> {
        let digits = id
            .as_bytes()
            .chunks(2)
            .map(|two| str::from_utf8(two).ok().and_then(|two| u8::from_str_radix(two, 16).ok()));
        let bytes: Vec<u8> = digits.map(|byte| byte.unwrap_or(0)).collect();
        let id = UniqueId::parse(&bytes).map_err(DriveError::Unusable)?;
        let root = id.root().ok_or_else(|| DriveError::Unusable("no root".to_owned()))?;
        println!("magic 0x{:016x}, root {root}", id.magic());
        println!("commHash 0x{:016x}, commId 0x{:x}", id.comm_hash(release), id.logged_id(release));
        let said = thread::scope(|scope| {
            let join = |rank| scope.spawn(move || join(release, &id, rank, ranks, root.ip()));
            let threads: Vec<_> = (0..ranks).map(join).collect();
            let threads = threads.into_iter().map(thread::ScopedJoinHandle::join);
            threads
                .map(|said| said.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Vec<_>>()
        });
        for said in said {
            println!("{}", said?);
        }
        Ok(())
    }

    fn join(
        release: Release,
        id: &UniqueId,
        rank: u32,
        ranks: u32,
        address: IpAddr,
    ) -> Result<String> {
        let lookout = Lookout::default();
        let newcomer = Newcomer { release, id, rank, ranks, address, root: None };
        let (ring, _listener) = newcomer.join(&lookout, deadline())?;
        let gathered = all_gather(&ring, &rank.to_le_bytes(), "ranks", &lookout, deadline())?;
        let order: Vec<u32> = gathered
            .iter()
            .filter_map(|bytes| bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)))
            .collect();
        Ok(format!("rank {rank} is on the ring and gathered {order:?}"))
    }
}
