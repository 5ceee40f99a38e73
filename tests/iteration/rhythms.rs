//! Rhythms of training, which benchmarks do not have.

use proptest::prelude::*;
use railscope_core::analysis::iteration::Iteration;
use railscope_core::model::nccl::CollectiveKind;

use super::calls::{Called, MS, Script, UNREAD, reduced};

/// Pairs of first and one past the last, `len` apart.
fn every(len: usize, range: std::ops::Range<usize>) -> Vec<(usize, usize)> {
    range.step_by(len).map(|first| (first, first + len)).collect()
}

fn run(script: &mut Script, compute: u64, calls: &[Called]) {
    script.compute(compute);
    calls.iter().for_each(|called| script.call(*called));
}

#[test]
fn equal_buckets_belong_to_one_training_step() {
    let mut script = Script::new(1);
    for _ in 0..6 {
        run(&mut script, 200 * MS, &[reduced(256), reduced(256), reduced(256), reduced(128)]);
    }
    assert_eq!(script.found(), every(4, 0..24));
    // Twenty collectives with compute between them, but less.
    let mut script = Script::new(1);
    for _ in 0..4 {
        script.compute(300 * MS);
        (0..20).for_each(|_| run(&mut script, 20 * MS, &[reduced(256)]));
        script.call(reduced(4));
    }
    assert_eq!(script.found(), every(21, 0..84));
}

#[test]
fn compute_separates_equal_calls() {
    let mut script = Script::new(1);
    (0..5).for_each(|_| run(&mut script, 30 * MS, &[reduced(256)]));
    assert_eq!(script.found(), every(1, 0..5));
    let mut script = Script::new(1);
    (0..8).for_each(|_| run(&mut script, 200 * MS, &[reduced(256); 4]));
    assert_eq!(script.found(), every(4, 0..32));
}

#[test]
fn benchmarks_have_no_training_steps() {
    let mut script = Script::new(1);
    for power in 3..28 {
        script.compute(50 * MS);
        (0..25).for_each(|_| run(&mut script, MS / 10, &[reduced(1 << power)]));
    }
    assert_eq!(script.found(), []);
    let mut script = Script::new(1);
    (0..50).for_each(|_| run(&mut script, MS / 10, &[reduced(1 << 20)]));
    assert_eq!(script.found(), []);
    let mut script = Script::new(1);
    (3..28).for_each(|power| run(&mut script, 50 * MS, &[reduced(1 << power)]));
    assert_eq!(script.found(), []);
    assert_eq!(Script::new(1).found(), []);
}

#[test]
fn evaluation_warm_up_and_pauses_lie_between() {
    let broadcast = Called(CollectiveKind::Broadcast, Some(1 << 20));
    let evaluation = [Called(CollectiveKind::AllGather, Some(64)), reduced(8)];
    let mut script = Script::new(1);
    run(&mut script, 0, &[broadcast, broadcast, reduced(4)]);
    for iteration in 1..=30 {
        run(&mut script, 100 * MS, &[reduced(512), reduced(256), reduced(4)]);
        if [10, 17, 30].contains(&iteration) {
            (0..4).for_each(|_| run(&mut script, 30 * MS, &evaluation));
            script.compute(2000 * MS);
        }
    }
    let expected = [every(3, 3..33), every(3, 41..62), every(3, 70..109)].concat();
    assert_eq!(script.found(), expected);
    // No training step's time counts as a pause, and no pause belongs to a training step.
    let lengths = script.iterations();
    let is_usual = |one: &Iteration| (40 * MS..200 * MS).contains(&one.length_ns());
    assert!(lengths.iter().all(is_usual), "{lengths:?}");
}

#[test]
fn a_pause_alone_does_not_end_the_count() {
    let mut script = Script::new(1);
    for iteration in 0..12 {
        run(
            &mut script,
            if iteration == 5 { 3000 * MS } else { 100 * MS },
            &[reduced(512), reduced(256)],
        );
    }
    assert_eq!(script.found(), every(2, 0..24));
    let before_pause = &script.iterations()[4];
    assert!(before_pause.length_ns() < 150 * MS, "{before_pause:?}");
}

#[test]
fn the_capture_may_cut_the_first_and_the_last() {
    let mut script = Script::new(1).joined_late();
    run(&mut script, 0, &[reduced(256), reduced(4)]);
    (0..5).for_each(|_| run(&mut script, 100 * MS, &[reduced(512), reduced(256), reduced(4)]));
    run(&mut script, 100 * MS, &[reduced(512)]);
    let whole = every(3, 2..17);
    assert_eq!(script.found(), [&[(0, 2)], &whole[..], &[(17, 18)]].concat());
    let is_whole: Vec<bool> = script.iterations().iter().map(|one| one.is_whole).collect();
    assert_eq!(is_whole, [false, true, true, true, true, true, false]);
}

#[test]
fn communicators_of_one_job_share_its_training_steps() {
    let mut script = Script::new(2);
    for _ in 0..6 {
        script.compute(100 * MS);
        // Tensor parallel in every layer, data parallel at the end.
        for _ in 0..8 {
            script.call_on(1, reduced(64), 5 * MS);
            script.compute(MS);
        }
        script.call_on(0, reduced(512), 30 * MS);
        script.call_on(0, reduced(256), 30 * MS);
    }
    assert_eq!(script.found().len(), 6);
    assert!(script.iterations().iter().all(|one| one.collectives.len() == 10));
    assert_eq!(script.found()[0].0, 0, "the communicator with compute before it sets the rhythm");
}

#[test]
fn unread_collectives_have_the_rhythm_of_their_load() {
    let mut script = Script::new(1);
    for iteration in 0..8 {
        run(&mut script, (100 + iteration % 3) * MS, &[UNREAD, UNREAD, UNREAD]);
    }
    assert_eq!(script.found(), every(3, 0..24));
    let mut script = Script::new(1);
    for pause in [10, 500, 3, 80, 1500, 2, 30, 900] {
        run(&mut script, pause * MS, &[UNREAD]);
    }
    assert_eq!(script.found(), []);
}

#[test]
fn a_piece_that_repeats_once_in_each_is_no_training_step() {
    let mut script = Script::new(1);
    let calls: Vec<Called> = [4, 3, 1, 4, 3, 1, 1].map(reduced).to_vec();
    (0..16).for_each(|_| run(&mut script, 80 * MS, &calls));
    run(&mut script, 50 * MS, &[reduced(1000), reduced(2000)]);
    run(&mut script, 80 * MS, &calls);
    let found = script.found();
    assert_eq!(found, [every(7, 0..112), vec![(114, 121)]].concat());
}

#[test]
fn one_alone_after_an_evaluation_counts_for_the_unit() {
    // Pairs of calls recur within the unit, and explain the last one too.
    let mut script = Script::new(1);
    let calls: Vec<Called> = [3, 2, 3, 2, 3].map(reduced).to_vec();
    (0..8).for_each(|_| run(&mut script, 80 * MS, &calls));
    run(&mut script, 50 * MS, &[reduced(1000), reduced(2000)]);
    run(&mut script, 80 * MS, &calls);
    assert_eq!(script.found(), [every(5, 0..40), vec![(42, 47)]].concat());
}

fn unit() -> impl Strategy<Value = Vec<u64>> {
    // Sizes that differ somewhere: with equal sizes, compute decides.
    let sizes = prop::collection::vec(1_u64..5, 2..9);
    sizes.prop_filter("some differ", |sizes| sizes.iter().any(|size| *size != sizes[0]))
}

/// Whether the unit is not a repetition of a smaller one.
fn is_primitive(unit: &[u64]) -> bool {
    (1..unit.len()).filter(|part| unit.len().is_multiple_of(*part)).all(|part| {
        unit.iter().zip(unit.iter().cycle().skip(part)).any(|(one, other)| one != other)
    })
}

proptest! {
    #[test]
    fn training_steps_are_found_in_any_unit_with_compute_before_it(
        unit in unit().prop_filter("primitive", |unit| is_primitive(unit)),
        computes in prop::collection::vec(80_u64..160, 8..24),
        evaluated_after in 1_usize..24,
    ) {
        let mut script = Script::new(1);
        let mut expected = Vec::new();
        let mut at = 0;
        for (iteration, compute) in computes.iter().enumerate() {
            let calls: Vec<Called> = unit.iter().map(|size| reduced(*size)).collect();
            run(&mut script, compute * MS, &calls);
            expected.push((at, at + unit.len()));
            at += unit.len();
            if iteration == evaluated_after {
                run(&mut script, 50 * MS, &[reduced(1000), reduced(2000)]);
                at += 2;
            }
        }
        prop_assert_eq!(script.found(), expected);
    }
}
