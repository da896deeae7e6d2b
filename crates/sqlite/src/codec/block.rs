//! Encoding of history blocks.

use offshoot_core::{Block, BlockKind, Stamp};

use super::{DecodeError, Decoder, Encoder};

const KINDS: [BlockKind; 7] = [
    BlockKind::User,
    BlockKind::Assistant,
    BlockKind::Thought,
    BlockKind::ToolUse,
    BlockKind::ToolResult,
    BlockKind::Notice,
    BlockKind::Other,
];

/// Added to the kind of a block with a name.
const NAMED: u8 = 0x80;

pub(crate) fn encode_block(block: &Block) -> Vec<u8> {
    let mut out = Encoder::new(block.text.len() + 32);
    let kind = KINDS.iter().position(|kind| *kind == block.kind).unwrap_or(KINDS.len() - 1) as u8;
    out.byte(kind | if block.name.is_some() { NAMED } else { 0 });
    if let Some(name) = &block.name {
        out.text(name);
    }
    out.signed(block.at.as_micros());
    out.text(&block.text);
    out.payload(&block.data);
    out.finish()
}

pub(crate) fn decode_block(bytes: &[u8]) -> Result<Block, DecodeError> {
    let mut from = Decoder::new(bytes)?;
    let first = from.byte()?;
    let kind = *KINDS
        .get(usize::from(first & !NAMED))
        .ok_or(DecodeError::Strange("a block of an unknown kind"))?;
    let name = if first & NAMED == 0 { None } else { Some(from.shared()?) };
    let at = Stamp::from_micros(from.signed()?);
    let text = from.shared()?;
    Ok(Block { kind, name, text, data: from.payload()?, at })
}

#[cfg(test)]
mod tests {
    use offshoot_core::Payload;

    use super::*;

    #[test]
    fn blocks_of_every_kind_round_trip() {
        for kind in KINDS {
            let mut block = Block::new(kind, "says \"so\"\n", Stamp::from_millis(-3));
            assert_eq!(decode_block(&encode_block(&block)).unwrap(), block);
            block.name = Some("grep".into());
            block.data = Payload::from_json("[1]").unwrap();
            assert_eq!(decode_block(&encode_block(&block)).unwrap(), block);
        }
    }
}
