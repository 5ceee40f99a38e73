//! What stands before the output of a tool in a text: launchers' prefixes, prompts with the command.

/// Programs whose outputs are read.
// tidy: table
const PROGRAMS: &[&str] = &[
    "dcb",
    "ethtool",
    "fi_info",
    "ibdev2netdev",
    "ibstat",
    "ibstatus",
    "ibv_devinfo",
    "mlnx_qos",
    "nvidia-smi",
    "rdma",
    "show_gids",
];

/// A command line, and the host in its prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command<'a> {
    /// The command with its arguments.
    pub(super) text: &'a str,
    /// `host1` of `root@host1:~#`.
    pub(super) host: Option<&'a str>,
}

/// The line without what launchers write before it (`[1,0]<stdout>:` of mpirun, `[0] ` of Hydra,
/// `[pod/x] ` of kubectl, `(worker, pid=1) ` of Ray), without the mark of a quotation and of an
/// encoding.
pub(super) fn undressed(line: &str) -> &str {
    let line = line.trim_start_matches('\u{feff}');
    let line = line.strip_prefix("> ").unwrap_or(line);
    let bracketed = |open: char, close: char| {
        let (inner, rest) = line.strip_prefix(open)?.split_once(close)?;
        let rest = rest
            .strip_prefix("<stdout>:")
            .or_else(|| rest.strip_prefix("<stderr>:"))
            .unwrap_or(rest);
        let is_prefix = inner.len() <= 80 && (open == '(' || !inner.contains(' '));
        (is_prefix && (open == '[' || inner.contains("pid="))).then_some(rest)
    };
    bracketed('[', ']').or_else(|| bracketed('(', ')')).unwrap_or(line)
}

/// The host that `pdsh` or `clush` write before each line, or the task of `srun --label`, and the
/// rest.
pub(super) fn host_of(line: &str) -> Option<(&str, &str)> {
    let (host, rest) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
    let host = host.trim_start();
    let is_name = host.starts_with(|c: char| c.is_ascii_alphanumeric())
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    is_name.then_some((host, rest))
}

/// The command behind a prompt: `$ ethtool -S eth0`, `root@host1:~# show_gids`.
pub(super) fn command(line: &str) -> Option<Command<'_>> {
    of_switch(line).or_else(|| of_shell(line))
}

/// The command behind the prompt of a switch: `leaf1#show ...`, `leaf1(config)#show ...`, `leaf1>show`.
fn of_switch(line: &str) -> Option<Command<'_>> {
    let at = line.find(['#', '>']).filter(|at| *at <= 80)?;
    let (prompt, rest) = line.split_at(at);
    let text = rest.get(1..)?.trim();
    let host = prompt.split('(').next()?.trim();
    let is_name = host.starts_with(|c: char| c.is_ascii_alphanumeric())
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    (is_name && text.starts_with("show ")).then_some(Command { text, host: Some(host) })
}

fn of_shell(line: &str) -> Option<Command<'_>> {
    let at = line.find(['$', '#', '%']).filter(|at| *at <= 80)?;
    let (prompt, rest) = line.split_at(at);
    let text = rest.get(1..)?.strip_prefix(' ')?.trim();
    let user = prompt.trim().trim_start_matches('[').split_whitespace().next();
    let host = user.and_then(|user| user.split_once('@')).map(|(_, host)| host);
    let host = host.and_then(|host| host.split([':', ']', '~']).next());
    let host = host.filter(|host| !host.is_empty());
    if host.is_none() && !(prompt.trim().is_empty() && is_command(rest.starts_with('#'), text)) {
        return None;
    }
    Some(Command { text, host })
}

/// Whether a prompt without a user stands before a command: `#` also begins comments.
fn is_command(is_root: bool, text: &str) -> bool {
    let mut words = text.split_whitespace().filter_map(|word| word.rsplit('/').next());
    let known = |name: &str| PROGRAMS.contains(&name) || name.ends_with("_perf");
    match is_root {
        true => words.any(known),
        false => {
            words.next().is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_behind_prompts() {
        let of = |line| command(line).map(|found| (found.text, found.host));
        assert_eq!(of("$ nvidia-smi topo -m"), Some(("nvidia-smi topo -m", None)));
        assert_eq!(of("# ethtool -S eth0"), Some(("ethtool -S eth0", None)));
        assert_eq!(of("root@h1:~# show_gids"), Some(("show_gids", Some("h1"))));
        assert_eq!(of("[root@h2 ~]# ibstat"), Some(("ibstat", Some("h2"))));
        assert_eq!(of("leaf1#show qos maps"), Some(("show qos maps", Some("leaf1"))));
        assert_eq!(of("leaf1(config)#show qos maps"), Some(("show qos maps", Some("leaf1"))));
        assert_eq!(of("leaf-2>show qos maps"), Some(("show qos maps", Some("leaf-2"))));
        assert_eq!(
            of("$ ./build/all_reduce_perf -b 8"),
            Some(("./build/all_reduce_perf -b 8", None))
        );
        for line in [
            "# nThread 1 nGpus 1",
            "#  size  count",
            "cost $ 5",
            "#",
            "",
            "100% of it",
            "<b>show this",
            "see the list > show it",
            "# Rank 0",
            "# nccl-tests version 2.17",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }

    #[test]
    fn launchers_prefixes_go() {
        assert_eq!(undressed("[1,0]<stdout>:# nThread 1"), "# nThread 1");
        assert_eq!(undressed("[0] hca_id: mlx5_0"), " hca_id: mlx5_0");
        assert_eq!(undressed("> hca_id: mlx5_0"), "hca_id: mlx5_0");
        assert_eq!(undressed("(head, rank=0, pid=21) #"), " #");
        assert_eq!(undressed("hca_id: mlx5_0"), "hca_id: mlx5_0");
        assert_eq!(host_of("node-3: link mlx5_0/1"), Some(("node-3", "link mlx5_0/1")));
        assert_eq!(host_of(" 3: link mlx5_0/1"), Some(("3", "link mlx5_0/1")));
        assert_eq!(host_of("node-3:"), Some(("node-3", "")));
        assert_eq!(host_of("a b: c"), None);
    }
}
