#[test]
fn sizes() {
    use std::mem::size_of as s;
    println!(
        "Write {} Batch {} Row {} Change {} Commit {} CommitError {} StoreError {} Error {} Session {} Question {} Closed {} Step {} Timer {} Count {} Spec {} Record {} Lineage {} Cell {} Message {} Event {} Said {}",
        s::<offshoot_store::Write>(),
        s::<offshoot_store::Batch>(),
        s::<offshoot_core::Row>(),
        s::<offshoot_core::Change>(),
        s::<offshoot_store::Commit>(),
        s::<offshoot_store::CommitError>(),
        s::<offshoot_store::StoreError>(),
        s::<crate::Error>(),
        s::<offshoot_core::Session>(),
        s::<offshoot_core::Question>(),
        s::<offshoot_core::Closed>(),
        s::<offshoot_core::Step>(),
        s::<offshoot_core::Timer>(),
        s::<offshoot_store::Count>(),
        s::<offshoot_core::Spec>(),
        s::<offshoot_core::Record>(),
        s::<offshoot_core::Lineage>(),
        s::<crate::cell::Cell>(),
        s::<offshoot_core::Message>(),
        s::<offshoot_core::Event>(),
        s::<crate::spawn::Said>()
    );
}
