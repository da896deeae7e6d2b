//! Stub.
use super::phrase::Words;
use super::{Said, Scene};
pub(super) const WORDS: Words = &[];
pub(super) const KEEPS: &[&str] = &[];
pub(super) fn id(task: &offshoot_core::Task) -> String {
    task.handle().to_owned()
}
pub(super) fn phrases(_: &Scene<'_>) -> Vec<Said> {
    Vec::new()
}
