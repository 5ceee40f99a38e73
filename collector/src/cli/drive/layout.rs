//! Communicators and nodes, as typed.

use anyhow::ensure;

use super::args::LayoutArgs;
use railscope_drive::collective::Kind;
use railscope_drive::layout::Layout;

/// `0-2`: the ranks of a communicator, first and last.
pub(super) fn ranks(text: &str) -> Result<(u32, u32), String> {
    let range = text.split_once('-').and_then(|(first, last)| {
        let range: (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        (range.0 < range.1).then_some(range)
    });
    range.ok_or_else(|| "write first and last rank, such as 0-2".to_owned())
}

/// The layout of a job of so many ranks.
pub(super) fn layout(args: &LayoutArgs, kind: Kind, ranks: u32) -> anyhow::Result<Layout> {
    let LayoutArgs { communicators, ranks_per_node } = args;
    for &(first, last) in communicators {
        ensure!(
            last < ranks,
            "--communicators {first}-{last}: ranks go from 0 to {}",
            ranks.saturating_sub(1)
        );
    }
    let is_in =
        |rank: u32| communicators.iter().any(|&(first, last)| (first..=last).contains(&rank));
    if let Some(left_out) = (0..ranks).find(|rank| !communicators.is_empty() && !is_in(*rank)) {
        anyhow::bail!("--communicators: rank {left_out} is in none of them");
    }
    ensure!(
        communicators.is_empty() || kind != Kind::Broadcast,
        "--communicators: a Broadcast has one root; choose another --collective"
    );
    let communicators = communicators.iter().map(|&(first, last)| (first..=last).collect());
    Ok(Layout { communicators: communicators.collect(), ranks_per_node: *ranks_per_node })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_in_a_communicator() {
        let args = |communicators: &[(u32, u32)]| LayoutArgs {
            communicators: communicators.to_vec(),
            ranks_per_node: None,
        };
        let made = layout(&args(&[(0, 2), (2, 3)]), Kind::AllReduce, 4).unwrap();
        assert_eq!(made.communicators, [vec![0, 1, 2], vec![2, 3]]);
        for (wrong, kind, why) in [
            (&[(0, 2)][..], Kind::AllReduce, "rank 3 is in none"),
            (&[(0, 4)], Kind::AllReduce, "from 0 to 3"),
            (&[(0, 3)], Kind::Broadcast, "one root"),
        ] {
            let said = layout(&args(wrong), kind, 4).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
        assert_eq!(ranks("0-2"), Ok((0, 2)));
        assert!(["2", "2-1", "1-1", "a-b", ""].iter().all(|text| ranks(text).is_err()));
    }
}
