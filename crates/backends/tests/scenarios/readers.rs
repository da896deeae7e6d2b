//! Readers of a log that is being written.

use offshoot_backends::{Attach, LogLimits, LosslessReader, Surroundings, Writing};
use offshoot_core::TaskState;

use crate::support::{Records, Test, World, report};

const SMALL: LogLimits = LogLimits { first: 40_000, last: 40_000, segment: 10_000 };

/// Returns the kept output from a position on.
async fn from(log: &offshoot_backends::OutputLog, mut place: u64) -> String {
    let mut seen = Vec::new();
    loop {
        let piece = log.read(place, 10_000).await.unwrap();
        if piece.is_empty() {
            return String::from_utf8(seen).unwrap();
        }
        place = piece.next;
        seen.extend(piece.chunks.into_iter().flat_map(|chunk| chunk.bytes));
    }
}

/// Follows a log to its end. Returns the output, and the number of skipped bytes.
async fn follow(mut follower: offshoot_backends::Follower) -> (Vec<u8>, u64) {
    let (mut seen, mut gap) = (Vec::new(), 0);
    while let Some(piece) = follower.next().await.unwrap() {
        gap += piece.gap;
        seen.extend(piece.chunks.into_iter().flat_map(|chunk| chunk.bytes));
    }
    (seen, gap)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_readers_follow_and_a_slow_one_is_told_the_gap() -> Test {
    let world = World::on(Records::Memory, SMALL).await;
    let task = world.spawn("read x; seq 1 100000").await;
    let log = world.commands.log(task.id());
    let mut slow = log.follow(0).at_most(1_000);
    let readers: Vec<_> = (0..20).map(|_| tokio::spawn(follow(log.follow(0)))).collect();
    task.send("go").await?;
    let ended = task.wait().await?.task;
    let bytes = report(&ended).output.bytes;
    for reader in readers {
        let (seen, gap) = reader.await?;
        assert_eq!(seen.len() as u64 + gap, bytes);
        assert!(seen.starts_with(b"1\n2\n") && seen.ends_with(b"\n100000\n"));
    }
    // This one has not read at all yet.
    let first = slow.next().await?.unwrap();
    assert_eq!((first.gap, first.next, first.writing), (0, 1_000, Writing::Closed));
    let (seen, gap) = follow(slow).await;
    assert_eq!((1_000 + seen.len() as u64 + gap, gap), (bytes, report(&ended).output.dropped));
    Ok(())
}

#[tokio::test]
async fn a_follower_may_come_before_its_command_and_after_it() -> Test {
    let world = World::open().await;
    let early = world.spawn("read x; echo hi").await;
    let follower = tokio::spawn(follow(world.commands.log(early.id()).follow(0)));
    early.send("go").await?;
    assert_eq!(follower.await?.0, b"hi\n");
    let log = world.commands.log(early.id());
    let piece = log.read(0, 2).await?;
    assert_eq!((piece.chunks[0].bytes.as_slice(), piece.next), (&b"hi"[..], 2));
    assert_eq!(log.read(2, 10).await?.chunks[0].bytes, b"\n");
    assert!(log.read(3, 10).await?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lossless_reader_misses_no_output_and_delays_the_command() -> Test {
    let world = World::on(Records::Memory, SMALL).await;
    let seat = LosslessReader::new();
    let command = world.script("seq 1 1000000; echo end > written");
    let attach = Attach::Lossless(&seat);
    let request = world.commands.request(command, Some(Surroundings::own()), attach)?;
    let task = world.session.spawn(request).await?;
    let mut follower = world.commands.log(task.id()).follow_lossless(seat).at_most(5_000);
    let mut bytes = Vec::new();
    while let Some(piece) = follower.next().await? {
        assert_eq!(piece.gap, 0);
        bytes.extend(piece.chunks.into_iter().flat_map(|chunk| chunk.bytes));
        // Pipes and buffers hold some; the rest is not even written.
        if bytes.len() < 1_000_000 {
            assert!(!world.folder.path().join("written").exists());
        }
    }
    let all: Vec<u8> = (1..=1_000_000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    assert!(bytes == all);
    assert_eq!(task.wait().await?.task.state, TaskState::Completed);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_lossless_reader_delays_no_command() -> Test {
    let world = World::on(Records::Memory, SMALL).await;
    let seat = LosslessReader::new();
    let attach = Attach::Lossless(&seat);
    let request = world.commands.request(world.script("seq 1 300000"), None, attach)?;
    let task = world.session.spawn(request).await?;
    let mut follower = world.commands.log(task.id()).follow_lossless(seat);
    follower.next().await?;
    drop(follower);
    let task = task.wait().await?.task;
    assert_eq!(task.state, TaskState::Completed);
    assert!(report(&task).output.dropped > 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_holds_a_command_up_does_not_keep_it_from_being_cancelled() -> Test {
    let world = World::on(Records::Memory, SMALL).await;
    let seat = LosslessReader::new();
    let request =
        world.commands.request(world.script("echo on; yes"), None, Attach::Lossless(&seat))?;
    let task = world.session.spawn(request).await?;
    world.until_line(&task, "on").await;
    task.cancel("enough").await?;
    assert_eq!(task.wait().await?.task.state, TaskState::Cancelled);
    drop(seat);
    Ok(())
}

#[tokio::test]
async fn the_last_lines_are_found_without_reading_everything() -> Test {
    let world = World::on(Records::Memory, SMALL).await;
    let task = world.run("seq 1 100000; printf unfinished").await;
    let log = &world.log(&task);
    let tail = |lines| async move { from(log, log.tail(lines).await.unwrap()).await };
    assert_eq!(tail(0).await, "");
    assert_eq!(tail(1).await, "unfinished");
    assert_eq!(tail(3).await, "99999\n100000\nunfinished");
    let many = tail(5_000).await;
    assert_eq!((many.lines().count(), many.lines().next()), (5_000, Some("95002")));
    // Wherever segments end.
    for lines in (1..2_000).step_by(37) {
        assert_eq!(tail(lines).await.lines().count(), lines);
    }
    let all = tail(usize::MAX).await;
    assert!(all.ends_with("unfinished") && all.lines().count() < 20_000, "not across the gap");
    let task = world.run("echo one; echo two").await;
    let log = world.log(&task);
    assert_eq!((log.tail(1).await?, log.tail(2).await?, log.tail(9).await?), (4, 0, 0));
    let silent = world.run("exit 0").await;
    assert_eq!(world.log(&silent).tail(5).await?, 0);
    Ok(())
}
