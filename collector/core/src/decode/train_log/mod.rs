//! Lines of training logs that name a training step, one at a time and stateless; one framework per
//! file.
//!
//! A line is the text between two line ends, or between two carriage returns of a progress bar.
//! Prefixes (`worker-0: `, `[default0]:`, `3: `) and text joined to a line are skipped.

mod deepspeed;
mod line;
mod megatron;
mod stamp;
mod trainer;

pub use line::{Dialect, TrainingStepLine, has_loss};
pub use stamp::Stamp;

/// Parses a line; several results if progress bars are joined.
pub fn read(text: &str, mut found: impl FnMut(TrainingStepLine)) {
    if let Some(line) = megatron::read(text).or_else(|| deepspeed::read(text)) {
        found(line);
    } else {
        trainer::read(text, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dialect, number, total, whether there is a stamp, length in milliseconds, loss.
    type Parsed = (Dialect, u64, Option<u64>, bool, Option<u64>, bool);

    fn parsed(text: &str) -> Vec<Parsed> {
        let mut all = Vec::new();
        read(text, |line| {
            let length = line.length_ns.map(|nanos| nanos / 1_000_000);
            let has_stamp = line.stamp.is_some();
            let TrainingStepLine { dialect, number, total, has_loss, .. } = line;
            all.push((dialect, number, total, has_stamp, length, has_loss));
        });
        all
    }

    #[test]
    fn lines_of_megatron() {
        let old = "1:  iteration       25/73242187 | consumed samples:           50 | elapsed time \
                   per iteration (ms): 87.0 | learning rate: 1.638E-08 | lm loss: 1.08E+01 |";
        let megatron = Dialect::Megatron;
        assert_eq!(parsed(old), [(megatron, 25, Some(73_242_187), false, Some(87), false)]);
        let new = "[default0]: [2026-09-11 12:06:52.987995] iteration        3/ 7629408 | consumed \
                   samples:           96 | elapsed time per iteration (ms): 24379.9 | x";
        assert_eq!(parsed(new), [(megatron, 3, Some(7_629_408), true, Some(24_379), false)]);
        let other = "validation loss at iteration 10 | lm loss value: 1.0E+01 |";
        assert_eq!(parsed(other), []);
    }

    #[test]
    fn lines_of_deepspeed() {
        let line = "    [2024-06-21 10:50:42,167] [INFO] [logging.py:96:log_dist] [Rank 0] step=1, \
                    skipped=0, lr=[1.887e-08, 1.887e-08], mom=[(0.9, 0.999), (0.9, 0.999)]";
        assert_eq!(parsed(line), [(Dialect::DeepSpeed, 1, None, true, None, false)]);
        let timer = "[2024-06-21 10:50:42,169] [INFO] [timer.py:260:stop] epoch=0/micro_step=4/\
                     global_step=2, RunningAvgSamplesPerSec=1.2, CurrSamplesPerSec=1.3, Mem";
        assert_eq!(parsed(timer), [(Dialect::DeepSpeed, 2, None, true, None, false)]);
        assert_eq!(parsed("[Rank 0] step=0, skipped=0, lr=[0.001], mom=[(0.9, 0.999)]"), []);
        assert_eq!(parsed("[Rank 0] step=7 loss=2.3042 grad_norm=3.8745"), []);
    }

    #[test]
    fn bars_of_the_trainer() {
        let trainer = Dialect::Trainer;
        let bar = "  2%|▎         | 10/400 [01:17<13:02,  2.01s/it]{'loss': 4.7883, 'epoch': 0.0}";
        assert_eq!(parsed(bar), [(trainer, 10, Some(400), false, None, true)]);
        let glued =
            " 37%|███▌ | 1271/3414 [12:38<22:43,  1.57 37%|████ | 1272/3414 [1:12:39<23:44]";
        let bars = [1271, 1272].map(|number| (trainer, number, Some(3414), false, None, false));
        assert_eq!(parsed(glued), bars);
        for other in ["0/500 [00:00<?, ?it/s]", "see 3/4 [00:12]", "| 9/7 [00:01<00:00]", "|1/2 ["]
        {
            assert_eq!(parsed(other), [], "{other}");
        }
    }
}
