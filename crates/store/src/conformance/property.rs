//! Property tests of a store with random inputs that are the same in every run.
//!
//! Reads are asynchronous, so the usual proptest runner cannot drive the checks. This
//! runner does, and shrinks failing inputs.

use std::fmt::Debug;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// The number of inputs. Each needs its own store, and the slowest ones write to a disk.
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
