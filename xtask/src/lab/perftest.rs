//! What perftest prints: how many messages it sent.

/// The second column below `#bytes #iterations ...`: messages of all queue pairs, in each
/// direction that the test has.
pub(super) fn iterations(output: &str) -> Option<u64> {
    let mut lines = output.lines().map(str::trim);
    lines.find(|line| line.starts_with("#bytes"))?;
    let mut values = lines.next()?.split_whitespace();
    values.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::iterations;

    #[test]
    fn messages_are_in_the_second_column() {
        let bandwidth = " CQ Moderation   : 100\n---\n \
            #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n \
            3000       300              7.56               6.91   \t\t     0.002414\n---\n";
        assert_eq!(iterations(bandwidth), Some(300));
        let latency =
            " #bytes #iterations    t_min[usec]    t_max[usec]\n 64      100   inf   inf\n";
        assert_eq!(iterations(latency), Some(100));
        assert_eq!(iterations("Couldn't connect to 10.0.0.2:18515\n"), None);
    }
}
