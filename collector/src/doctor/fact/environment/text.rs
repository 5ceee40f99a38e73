//! Settings in texts: what `env` prints, shell and Slurm scripts, command lines of launchers, manifests of Kubernetes.

/// `NAME=value` by line, the value to the end of the line: an environment, or NCCL's own files.
pub(super) fn by_line(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

/// Every setting of a script or manifest; of one that is set twice, the last. Values that a shell must fill in are left
/// out.
pub(super) fn in_script(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut named: Option<String> = None;
    for line in text.lines() {
        let words = words(line);
        let bare: Vec<&str> = words
            .iter()
            .map(|word| word.trim_start_matches('{').trim_end_matches([',', '}']))
            .collect();
        let bare: Vec<&str> =
            bare.into_iter().filter(|word| !word.is_empty() && *word != "-").collect();
        let mut pairs: Vec<(String, String)> = Vec::new();
        match bare.as_slice() {
            // Kubernetes: a name and its value, on two lines or on one.
            ["name:", name, "value:", value] => {
                pairs.push(((*name).to_owned(), (*value).to_owned()));
            }
            ["name:", name] => named = Some((*name).to_owned()),
            ["value:", value] => pairs.extend(named.take().map(|name| (name, (*value).to_owned()))),
            // A ConfigMap: NCCL_NET: Socket.
            [name, value] if name.ends_with(':') => {
                pairs.push((name.trim_end_matches(':').to_owned(), (*value).to_owned()));
            }
            _ => {
                let set = words.iter().filter_map(|word| word.split_once('='));
                pairs.extend(set.map(|(name, value)| (name.to_owned(), value.to_owned())));
            }
        }
        for (name, value) in pairs {
            found.retain(|(known, _)| *known != name);
            let is_filled_in =
                value.contains(['$', '`']) || [">", ">-", "|", "|-"].contains(&value.as_str());
            if !is_filled_in {
                found.push((name, value));
            }
        }
    }
    found
}

/// The words of a line as a shell parts them: quotes are taken away, a comment is left out, `;` and `&` end a word.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote: Option<char> = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') if word.is_empty() => break,
            (None, c) if c.is_whitespace() || c == ';' || c == '&' => {
                words.push(std::mem::take(&mut word));
            }
            (None, c) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty() && word != "\\");
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        in_script(text).into_iter().filter(|(name, _)| name.starts_with("NCCL_")).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn scripts() {
        let script = "#!/bin/bash\n#SBATCH -N 4\nexport NCCL_DEBUG=INFO   # verbose\n\
            NCCL_CROSS_NIC=0; export NCCL_IB_HCA=\"mlx5_0,mlx5_1\" # rails\n\
            # NCCL_IB_DISABLE=1\nexport NCCL_SOCKET_IFNAME=$IFACE\nNCCL_PROTO=LL\nNCCL_PROTO=Simple\n\
            mpirun -x NCCL_ALGO=Ring -x NCCL_IB_TC=106 ./a.out\n";
        let expected = [
            ("NCCL_DEBUG", "INFO"),
            ("NCCL_CROSS_NIC", "0"),
            ("NCCL_IB_HCA", "mlx5_0,mlx5_1"),
            ("NCCL_PROTO", "Simple"),
            ("NCCL_ALGO", "Ring"),
            ("NCCL_IB_TC", "106"),
        ];
        assert_eq!(read(script), pairs(&expected));
    }

    #[test]
    fn manifests() {
        let manifest = "env:\n  - name: NCCL_DEBUG\n    value: \"INFO\"\n  - {name: NCCL_NET, value: \"IB\"}\n\
            data:\n  NCCL_IB_HCA: mlx5\n  NCCL_TOPO_FILE: >-\n";
        assert_eq!(
            read(manifest),
            pairs(&[("NCCL_DEBUG", "INFO"), ("NCCL_NET", "IB"), ("NCCL_IB_HCA", "mlx5")])
        );
    }

    #[test]
    fn environments_keep_what_a_shell_would_part() {
        assert_eq!(by_line("A=1 2\n#B=1\nC\n"), pairs(&[("A", "1 2")]));
    }
}
