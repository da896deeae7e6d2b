//! Unread rows of an inbox, and the blocks of a history that they become.

use offshoot_core::{Block, BlockKind, RowBody, Stamp};
use offshoot_runtime::{InboxRows, Session};

/// The handles of the tasks whose results are unread.
pub(crate) fn ended_handles(rows: &InboxRows) -> Vec<String> {
    rows.iter()
        .filter(|row| matches!(row.body(), RowBody::Result(_)))
        .filter_map(|row| row.task().map(|task| task.handle().to_owned()))
        .collect()
}

/// The texts of the messages that are unread.
pub(crate) fn message_texts(rows: &InboxRows) -> Vec<String> {
    rows.iter().filter_map(|row| row.message().map(|message| message.text.to_string())).collect()
}

/// A block that a test appends.
pub(crate) fn block(kind: BlockKind, text: &str) -> Block {
    Block::new(kind, text, Stamp::from_millis(0))
}

/// One notice for each result, as an agent's loop writes it.
pub(crate) fn notices(rows: &InboxRows) -> Vec<Block> {
    ended_handles(rows).iter().map(|handle| block(BlockKind::Notice, handle)).collect()
}

/// The texts of a session's whole history.
pub(crate) async fn texts(session: &Session) -> Vec<String> {
    let page = session.history(0, usize::MAX).await.expect("a history");
    page.blocks.iter().map(|block| block.text.to_string()).collect()
}

/// Acknowledges rows until this many were read.
pub(crate) async fn read_all(session: &Session, mut rows: usize) -> super::Test {
    while rows > 0 {
        let came = session.receive(rows).await?;
        rows -= came.len();
        came.ack().await?;
    }
    Ok(())
}
