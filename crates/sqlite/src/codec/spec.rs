//! Encoding of specs, the fixed part of a task's record.

use std::sync::Arc;

use compact_str::CompactString;
use offshoot_core::{
    Capabilities, Lineage, Name, Naming, Payload, Recovery, RunId, SessionId, Space, SpawnOrigin,
    Spec, Stamp, TaskId, Terms, Tie, Visibility, Wake,
};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error as ValueError;

use super::{DecodeError, Decoder, Encoder, id};

const PARENT: u64 = 1;
const ROOT: u64 = 1 << 1;
const RUN: u64 = 1 << 2;
const TOOL_CALL: u64 = 1 << 3;
const AGENT: u64 = 1 << 4;
const PROFILE: u64 = 1 << 5;
const INPUT: u64 = 1 << 6;
const TIMEOUT: u64 = 1 << 7;
const GRACE: u64 = 1 << 8;
const CONTINUES: u64 = 1 << 9;
const SHOWN: u64 = 1 << 10;

/// The fields of a spec that have their own columns.
#[derive(Debug)]
pub(crate) struct SpecColumns<'a> {
    pub(crate) id: TaskId,
    pub(crate) session: SessionId,
    pub(crate) space: Space,
    pub(crate) name: &'a str,
    pub(crate) key: Option<&'a str>,
}

pub(crate) fn encode_spec(spec: &Spec) -> Vec<u8> {
    let (lineage, origin, terms) = (&spec.lineage, &*spec.lineage.origin, &*spec.terms);
    let shown = spec.handle.as_str() != spec.handle.key();
    let flags = bit(lineage.parent.is_some(), PARENT)
        | bit(lineage.root != spec.id, ROOT)
        | bit(origin.run.is_some(), RUN)
        | bit(origin.tool_call.is_some(), TOOL_CALL)
        | bit(origin.agent.is_some(), AGENT)
        | bit(terms.profile.is_some(), PROFILE)
        | bit(spec.input != Payload::Null, INPUT)
        | bit(terms.timeout.is_some(), TIMEOUT)
        | bit(terms.grace.is_some(), GRACE)
        | bit(terms.continues.is_some(), CONTINUES)
        | bit(shown, SHOWN);
    let mut out = Encoder::new(40);
    out.number(flags);
    out.byte(policies(spec));
    out.byte(capability_bits(spec.can));
    out.number(u64::from(lineage.depth));
    out.signed(spec.spawned_at.as_micros());
    out.text(&spec.kind);
    if let Some(parent) = lineage.parent {
        out.id(parent.to_bytes());
    }
    if lineage.root != spec.id {
        out.id(lineage.root.to_bytes());
    }
    if let Some(run) = origin.run {
        out.id(run.to_bytes());
    }
    for text in [&origin.tool_call, &origin.agent, &terms.profile].into_iter().flatten() {
        out.text(text);
    }
    if spec.input != Payload::Null {
        out.payload(&spec.input);
    }
    for span in [terms.timeout, terms.grace].into_iter().flatten() {
        out.span(span);
    }
    if let Some(continues) = terms.continues {
        out.id(continues.to_bytes());
    }
    if shown {
        out.text(spec.handle.as_str());
    }
    out.finish()
}

pub(crate) fn decode_spec(bytes: &[u8], columns: SpecColumns<'_>) -> Result<Spec, DecodeError> {
    let mut from = Decoder::new(bytes)?;
    let flags = from.number()?;
    let has = |wanted: u64| flags & wanted != 0;
    let (naming, tie, recovery, wake, visibility) = decode_policies(from.byte()?)?;
    let can = capabilities(from.byte()?)?;
    let depth = from.small()?;
    let spawned_at = Stamp::from_micros(from.signed()?);
    let kind = from.shared()?;
    let parent = if has(PARENT) { Some(id(from.id()?, TaskId::from_bytes)?) } else { None };
    let root = if has(ROOT) { id(from.id()?, TaskId::from_bytes)? } else { columns.id };
    let run = if has(RUN) { Some(id(from.id()?, RunId::from_bytes)?) } else { None };
    let tool_call = if has(TOOL_CALL) { Some(from.shared()?) } else { None };
    let agent = if has(AGENT) { Some(from.shared()?) } else { None };
    let profile = if has(PROFILE) { Some(from.shared()?) } else { None };
    let input = if has(INPUT) { from.payload()? } else { Payload::Null };
    let timeout = if has(TIMEOUT) { Some(from.span()?) } else { None };
    let grace = if has(GRACE) { Some(from.span()?) } else { None };
    let continues = if has(CONTINUES) { Some(id(from.id()?, TaskId::from_bytes)?) } else { None };
    let shown = if has(SHOWN) { from.text()? } else { columns.name };
    let key = columns.key.map(Arc::from);
    let terms = Terms { profile, timeout, grace, continues, key };
    Ok(Spec {
        id: columns.id,
        lineage: Lineage {
            space: columns.space,
            session: columns.session,
            parent,
            root,
            depth,
            origin: SpawnOrigin { run, tool_call, agent }.into(),
        },
        kind,
        handle: Name::from(CompactString::from(shown)),
        naming,
        tie,
        recovery,
        wake,
        visibility,
        input,
        can,
        spawned_at,
        terms: terms.into(),
    })
}

fn bit(set: bool, bit: u64) -> u64 {
    if set { bit } else { 0 }
}

fn policies(spec: &Spec) -> u8 {
    let naming = match spec.naming {
        Naming::Given => 0,
        Naming::Counted => 1,
    };
    let tie = match spec.tie {
        Tie::Owned => 0,
        Tie::Detached => 1,
    };
    let recovery = match spec.recovery {
        Recovery::Resume => 0,
        Recovery::Restart => 1,
        Recovery::Lose => 2,
    };
    let wake = match spec.wake {
        Wake::Silent => 0,
        Wake::OnTerminal => 1,
        Wake::OnActivity => 2,
    };
    let visibility = match spec.visibility {
        Visibility::Children => 0,
        Visibility::Subtree => 1,
    };
    naming | tie << 1 | recovery << 2 | wake << 4 | visibility << 6
}

type SpecPolicies = (Naming, Tie, Recovery, Wake, Visibility);

fn decode_policies(bits: u8) -> Result<SpecPolicies, DecodeError> {
    let naming = if bits & 1 == 0 { Naming::Given } else { Naming::Counted };
    let tie = if bits >> 1 & 1 == 0 { Tie::Owned } else { Tie::Detached };
    let recovery = match bits >> 2 & 3 {
        0 => Recovery::Resume,
        1 => Recovery::Restart,
        2 => Recovery::Lose,
        _ => return Err(DecodeError::Strange("an unknown recovery")),
    };
    let wake = match bits >> 4 & 3 {
        0 => Wake::Silent,
        1 => Wake::OnTerminal,
        2 => Wake::OnActivity,
        _ => return Err(DecodeError::Strange("an unknown wake-up")),
    };
    let visibility = if bits >> 6 & 1 == 0 { Visibility::Children } else { Visibility::Subtree };
    Ok((naming, tie, recovery, wake, visibility))
}

fn capabilities(bits: u8) -> Result<Capabilities, DecodeError> {
    let bits = IntoDeserializer::<ValueError>::into_deserializer(bits);
    Capabilities::deserialize(bits).map_err(|_| DecodeError::Strange("unknown capabilities"))
}

fn capability_bits(can: Capabilities) -> u8 {
    (0..8)
        .map(|shift| 1u8 << shift)
        .filter(|one| capabilities(*one).is_ok_and(|one| can.has(one)))
        .sum()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use offshoot_core::Blob;

    use super::*;

    fn round_trip(spec: &Spec) -> Spec {
        let columns = SpecColumns {
            id: spec.id,
            session: spec.lineage.session,
            space: spec.lineage.space.clone(),
            name: spec.handle.key(),
            key: spec.terms.key.as_deref(),
        };
        decode_spec(&encode_spec(spec), columns).unwrap()
    }

    #[test]
    fn a_plain_spec_takes_little_space_and_round_trips() {
        let spec = offshoot_core::doc::spec("docs");
        assert_eq!(round_trip(&spec), spec);
        assert!(encode_spec(&spec).len() <= 24, "{}", encode_spec(&spec).len());
    }

    #[test]
    fn a_spec_with_everything_round_trips() {
        let at = Stamp::from_micros(1_700_000_000_000_001);
        let other = TaskId::mint(at, 77);
        let mut spec = offshoot_core::doc::spec("docs");
        spec.handle = Name::new("Größe").unwrap();
        spec.lineage.parent = Some(other);
        spec.lineage.root = other;
        spec.lineage.origin.run = Some(RunId::mint(at, 5));
        spec.lineage.origin.tool_call = Some("call".into());
        spec.lineage.origin.agent = Some("lead".into());
        spec.lineage.depth = 3;
        spec.terms.profile = Some("reviewer".into());
        spec.input = Blob { task: other, number: 3, bytes: 1 << 30 }.into();
        spec.terms.timeout = Some(Duration::MAX);
        spec.terms.grace = Some(Duration::ZERO);
        spec.terms.continues = Some(other);
        spec.terms.key = Some("key".into());
        spec.naming = Naming::Given;
        spec.tie = Tie::Detached;
        spec.recovery = Recovery::Restart;
        spec.wake = Wake::OnActivity;
        spec.visibility = Visibility::Subtree;
        spec.spawned_at = at;
        let back = round_trip(&spec);
        assert_eq!(back, spec);
        assert_eq!(back.handle.as_str(), "Größe");
    }

    #[test]
    fn every_capability_survives() {
        for bits in 0..=u8::MAX {
            assert_eq!(capability_bits(capabilities(bits).unwrap()), bits);
        }
    }
}
