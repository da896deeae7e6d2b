//! The kept and the counted output of a command.

use offshoot_backends::{LogLimits, Stream};
use offshoot_core::TaskState;

use crate::support::{Records, Test, World, all, bytes, report};

const SMALL: LogLimits = LogLimits { first: 40_000, last: 40_000, segment: 10_000 };

/// Returns the output of `seq 1 n`.
fn seq(to: u32) -> Vec<u8> {
    (1..=to).flat_map(|number| format!("{number}\n").into_bytes()).collect()
}

#[tokio::test]
async fn a_flood_keeps_its_head_and_tail_and_counts_the_middle() -> Test {
    let world = World::on(Records::Memory, SMALL).await;
    let task = world.run("seq 1 200000").await;
    let (wrote, told) = (seq(200_000), report(&task));
    assert_eq!(told.output.bytes, wrote.len() as u64);
    assert_eq!(told.last_line.as_deref(), Some("200000"));
    let log = world.log(&task);
    let head = log.read(0, 40_000).await?;
    let head: Vec<u8> = head.chunks.into_iter().flat_map(|chunk| chunk.bytes).collect();
    assert_eq!(head, wrote[..40_000]);
    let (chunks, gap) = all(&log).await;
    let kept: Vec<u8> = chunks.into_iter().flat_map(|(_, bytes)| bytes).collect();
    let last = wrote.len() - 40_000;
    assert_eq!(kept[40_000..], wrote[40_000 + gap as usize..]);
    assert!(kept.len() >= 80_000 && 40_000 + gap as usize <= last, "{} kept", kept.len());
    assert_eq!((gap, gap + kept.len() as u64), (told.output.dropped, wrote.len() as u64));
    let files = std::fs::read_dir(world.log_folder(&task))?.count();
    assert!(files <= 9, "{files} segments");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_floods_at_once_are_counted_to_the_last_byte() -> Test {
    let world = World::open().await;
    let task = world.run("seq 1 2000000 & seq 1 1000000 >&2; wait; echo end").await;
    let told = report(&task);
    let (stdout, stderr) = (seq(2_000_000).len() as u64 + 4, seq(1_000_000).len() as u64);
    assert_eq!((told.output.stdout, told.output.stderr), (stdout, stderr));
    let (chunks, gap) = all(&world.log(&task)).await;
    assert_eq!(gap, told.output.dropped);
    let kept: u64 = chunks.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    assert_eq!(kept + gap, stdout + stderr);
    let mut stdout = chunks.iter().filter(|(stream, _)| *stream == Stream::Stdout);
    assert!(stdout.next_back().is_some_and(|(_, bytes)| bytes.ends_with(b"end\n")));
    Ok(())
}

#[tokio::test]
async fn binary_output_is_kept_byte_for_byte() -> Test {
    let world = World::open().await;
    let all_bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    std::fs::write(world.folder.path().join("bytes"), &all_bytes)?;
    let task = world.run("cat bytes").await;
    assert_eq!(bytes(&world.log(&task)).await, all_bytes);
    assert!(report(&task).last_line.unwrap().chars().all(|shown| !shown.is_control()));
    Ok(())
}

#[tokio::test]
async fn both_streams_are_in_one_order_and_told_apart() -> Test {
    let world = World::open().await;
    let task = world.spawn("echo a; read x; echo b >&2; read x; echo c; read x; echo d >&2").await;
    for line in ["a", "b", "c"] {
        world.until_line(&task, line).await;
        task.send("on").await?;
    }
    let task = task.wait().await?.task;
    let (chunks, _) = all(&world.log(&task)).await;
    let told: Vec<(Stream, &str)> = chunks
        .iter()
        .map(|(stream, bytes)| (*stream, std::str::from_utf8(bytes).unwrap().trim()))
        .collect();
    let (out, err) = (Stream::Stdout, Stream::Stderr);
    assert_eq!(told, [(out, "a"), (err, "b"), (out, "c"), (err, "d")]);
    Ok(())
}

#[tokio::test]
async fn output_survives_into_the_next_process_and_is_private() -> Test {
    use std::os::unix::fs::PermissionsExt;
    let world = World::on(Records::Sqlite, LogLimits::default()).await;
    let task = world.run("echo kept").await;
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = world.log_folder(&task);
    assert_eq!((mode(&world.folder.path().join("logs")), mode(&folder)), (0o700, 0o700));
    let file = std::fs::read_dir(&folder)?.next().unwrap()?.path();
    assert_eq!(mode(&file), 0o600);
    let folder = world.folder.clone();
    world.runtime.shutdown(std::time::Duration::from_secs(20)).await?;
    let world = World::again(folder, Records::Sqlite, LogLimits::default()).await;
    assert_eq!(bytes(&world.log(&task)).await, b"kept\n");
    // Half a frame, as a power failure leaves it.
    let whole = std::fs::read(&file)?;
    std::fs::write(&file, [&whole[..], &whole[16..30]].concat())?;
    assert_eq!(bytes(&world.log(&task)).await, b"kept\n");
    std::fs::write(&file, &whole[..whole.len() - 1])?;
    assert_eq!(bytes(&world.log(&task)).await, b"");
    Ok(())
}

#[tokio::test]
async fn unwritten_output_is_counted_and_the_command_continues() -> Test {
    let tiny = LogLimits { first: 4, last: 4, segment: 4 };
    let world = World::on(Records::Memory, tiny).await;
    let task = world.spawn("echo one; read x; echo two; echo three >&2; exit 0").await;
    world.until_line(&task, "one").await;
    // The directory of the second segment no longer exists.
    let folder = world.folder.path().join("logs").join(task.id().to_string());
    std::fs::remove_dir_all(&folder)?;
    std::fs::write(&folder, "in the way")?;
    task.send("on").await?;
    let task = task.wait().await?.task;
    assert_eq!(task.state, TaskState::Completed);
    assert_eq!((report(&task).output.bytes, report(&task).output.dropped), (14, 10));
    assert!(report(&task).log_error.is_some());
    Ok(())
}

#[tokio::test]
async fn a_disk_that_takes_nothing_stops_no_command() -> Test {
    let world = World::open().await;
    let logs = world.folder.path().join("logs");
    std::fs::remove_dir_all(&logs)?;
    std::fs::write(&logs, "in the way")?;
    let task = world.run("seq 1 100000; exit 3").await;
    let told = report(&task);
    assert_eq!((told.exit, told.output.dropped), (Some(3), seq(100_000).len() as u64));
    assert!(told.log_error.is_some());
    Ok(())
}

#[tokio::test]
async fn the_logs_of_tasks_that_are_no_more_are_swept() -> Test {
    let world = World::open().await;
    let (kept, gone) = (world.run("echo kept").await, world.run("echo gone").await);
    let running = world.spawn("echo on; read x").await;
    world.until_line(&running, "on").await;
    let keep = kept.id();
    let swept = world.commands.sweep(|task| async move { task == keep }).await?;
    assert_eq!(swept, 1, "what still runs is left alone");
    assert_eq!(bytes(&world.log(&kept)).await, b"kept\n");
    assert!(bytes(&world.log(&gone)).await.is_empty());
    Ok(())
}
