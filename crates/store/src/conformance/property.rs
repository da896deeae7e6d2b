//! Properties of a store, checked on random inputs that are the same in every
//! run.
//!
//! Reads are answered later, so a check is asynchronous and the usual runner
//! cannot drive it; this one does, and shrinks what it finds.

use std::fmt::Debug;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// How many inputs are tried. Each has a store of its own, and the slowest
/// ones write to a disk.
const INPUTS: usize = 24;

/// Panics with the smallest input found for which `check` fails.
pub(super) async fn holds<S: Strategy>(
    strategy: S,
    check: impl AsyncFn(S::Value) -> Result<(), String>,
) where
    S::Value: Clone + Debug,
{
    let mut runner = TestRunner::deterministic();
    for _ in 0..INPUTS {
        let mut tree = strategy.new_tree(&mut runner).expect("an input is generated");
        if let Err(why) = check(tree.current()).await {
            let (input, why) = smallest(&mut tree, why, &check).await;
            panic!("{why}\nfor {input:#?}");
        }
    }
}

async fn smallest<T: ValueTree>(
    tree: &mut T,
    why: String,
    check: &impl AsyncFn(T::Value) -> Result<(), String>,
) -> (T::Value, String) {
    let mut found = (tree.current(), why);
    let mut moved = tree.simplify();
    while moved {
        moved = match check(tree.current()).await {
            Err(why) => {
                found = (tree.current(), why);
                tree.simplify()
            }
            Ok(()) => tree.complicate(),
        };
    }
    found
}
