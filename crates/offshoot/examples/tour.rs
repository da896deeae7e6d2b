//! A tour of Offshoot in one program.
//!
//! `cargo run --release --example tour`

use std::time::Duration;

use offshoot::core::{Block, BlockKind, Cursor, Stamp, digest};
use offshoot::{
    BodyError, CancelledError, Context, Error, Kind, RestartPolicy, Runtime, Session, Sqlite,
};

/// Counts the words of each text, in one committed step per text.
///
/// No text is counted twice, even after a crash.
async fn count(cx: Context, texts: Vec<String>) -> Result<usize, BodyError> {
    let mut total = 0;
    for (at, text) in texts.into_iter().enumerate() {
        total += cx
            .step(&format!("text {at}"), move || async move {
                Ok::<_, BodyError>(text.split_whitespace().count())
            })
            .await?;
        cx.progress(&format!("{} texts counted", at + 1)).await?;
    }
    // Waits for an answer without a slot, across restarts.
    let answer = cx.ask("Shall I stop here?").key("stop").await?;
    println!("   the counter was told: {}", answer.decode::<String>()?);
    Ok(total)
}

fn counter() -> Kind<Vec<String>, usize> {
    Kind::new("count", count).resumable()
}

async fn open(folder: &std::path::Path) -> Result<(Runtime, Session), Error> {
    let at_once = RestartPolicy { back_off: Duration::ZERO, ..RestartPolicy::default() };
    let runtime =
        Runtime::builder(Sqlite::at(folder)).kind(&counter()).restarts(at_once).open().await?;
    let session = runtime.session("main").await?;
    Ok((runtime, session))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (runtime, session) = open(folder.path()).await?;

    println!("1. Send tasks off and go on. They are durable before spawn returns.");
    let texts = vec!["to be or not".to_owned(), "to be that is the question".to_owned()];
    let counting = session.spawn(counter().with(texts)).name("counter").await?;
    let tree = session
        .spawn_ephemeral(|cx| async move {
            for _ in 0..3 {
                cx.spawn_ephemeral(|cx| async move {
                    cx.cancelled().await;
                    Err::<(), _>(CancelledError)
                })
                .await?;
            }
            cx.cancelled().await;
            Err::<(), BodyError>(CancelledError.into())
        })
        .name("tree")
        .await?;
    println!("   {} and {} are on their way", counting.handle(), tree.handle());

    println!("2. Watch one until it asks something.");
    let asked = counting.wait().await?;
    println!("   {}", counting.why().await?);
    println!("   it last said: {:?}", asked.task.progress.as_ref().map(|said| &said.value));

    println!("3. Steer and stop. A cancel reaches the whole tree.");
    let mut events = session.events(Cursor::START);
    while session.counts().await?.spawned() < 5 {
        events.next().await?;
    }
    let reached = tree.cancel("the tour goes on").await?;
    println!("   {reached} tasks were reached; the tree is {}", tree.wait().await?.task.state);

    println!("4. Pull the plug: drop the runtime without a word, and open it again.");
    drop(runtime);
    let (runtime, session) = open(folder.path()).await?;
    runtime.recovered().await;
    let counting = session.task("counter").await?;
    let again = counting.wait().await?;
    println!("   {} is back, attempt {}", again.task.handle(), again.task.attempts);
    let question = counting.questions().await?;
    println!("   and still asks: {}", question[0].text);
    counting.answer(question[0].number, &"yes, thank you").await?;
    let words: usize = counting.wait().await?.decode()?;
    println!("   {words} words, no step taken twice");

    println!("5. Every result is delivered in order, and is read exactly once.");
    let rows = session.drain(64).await?;
    let told = rows
        .iter()
        .filter_map(|row| row.result())
        .map(|task| Block::new(BlockKind::Notice, digest(task, 200), Stamp::default()));
    session.append(told.collect::<Vec<_>>()).acking(&rows).await?;
    for block in session.history(0, 64).await?.blocks {
        println!("   {}", block.text.replace('\n', ": "));
    }
    assert!(session.drain(64).await?.is_empty());

    runtime.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}
