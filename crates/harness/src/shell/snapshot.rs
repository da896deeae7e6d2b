//! The state of a world at rest: the records of the binary and the effects of the commands.

use anyhow::{Context, Result};
use hashbrown::HashMap;
use offshoot_client::wire::{
    Reply, Request, StreamName, Tail, TailMode, TailStart, Task, TaskName, Tasks,
};
use offshoot_client::{Client, DaemonDir, Start, StreamItem};

use crate::shell::binary::Binary;
use crate::shell::command_task::CommandTask;
use crate::shell::driver::Stage;
use crate::shell::effects::Effects;
use crate::shell::output::RecordedOutput;
use crate::shell::processes::{self, Process};

/// The state at rest.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Every task of the round, by its command.
    pub tasks: Vec<(Option<usize>, Task)>,
    /// The effects of each command.
    pub effects: HashMap<usize, Effects>,
    /// The processes that belong to a task, or whose command line names the directory.
    pub processes: Vec<Process>,
}

/// The output of a command: by stream, and in the order in which the bytes arrived.
#[derive(Clone, Debug, Default)]
pub struct TaskLog {
    /// Stream by stream.
    pub output: RecordedOutput,
    /// Both streams.
    pub bytes: Vec<u8>,
}

impl Snapshot {
    /// Collects the state.
    pub fn look(stage: &Stage<'_>) -> Result<Self> {
        let mut tasks = Vec::new();
        for session in &stage.sessions {
            tasks.extend(list(stage.binary, session, "--all")?);
        }
        let numbered = |task: Task| {
            let argv = task.command.as_ref().map_or(&[][..], |command| &command.argv);
            (CommandTask::number_in(argv, &stage.work), task)
        };
        let mut effects = HashMap::new();
        let errands: Vec<CommandTask> = stage
            .ledger
            .with(|books| books.entries.iter().map(|entry| entry.errand.clone()).collect());
        for errand in errands {
            effects.insert(errand.number, Effects::read(&errand.effects(&stage.work))?);
        }
        let tasks = tasks.into_iter().map(numbered).collect();
        Ok(Self { tasks, effects, processes: processes::concerning(&stage.work)? })
    }

    /// The tasks of a command: one, if promises are kept.
    pub fn of(&self, number: usize) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(move |(of, _)| *of == Some(number)).map(|(_, task)| task)
    }
}

/// All tasks of a session. `which` selects whether finished ones are included.
pub fn list(binary: &Binary, session: &str, which: &str) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut args = vec!["tasks", "ls", "--json", "--session", session, "--limit", "500"];
        if !which.is_empty() {
            args.push(which);
        }
        if let Some(cursor) = &cursor {
            args.extend(["--cursor", cursor]);
        }
        let said = binary.call(&args)?;
        // No task was ever spawned from the session.
        if said.code == Some(5) {
            return Ok(tasks);
        }
        anyhow::ensure!(said.is_done(), "the tasks cannot be listed: {said}");
        let page: Tasks = serde_json::from_slice(&said.out).with_context(|| said.to_string())?;
        tasks.extend(page.tasks);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(tasks);
        }
    }
}

/// Reads the log of a command's output as a program does: the printed form mixes both streams.
pub fn read_log(binary: &Binary, id: &str) -> Result<TaskLog> {
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    executor.block_on(async {
        let client = Client::new(DaemonDir::at(binary.data())?, Start::Never);
        let task = TaskName { session: "main".into(), task: id.into() };
        let tail = Tail { task, reading: TailStart::Start, following: TailMode::Stop };
        let mut stream = client.follow(&Request::Tail(tail)).await?;
        let mut log = TaskLog::default();
        while let Some(item) = stream.next().await? {
            match item {
                StreamItem::Output(chunk) => {
                    log.bytes.extend_from_slice(&chunk.bytes);
                    let last = log.output.last();
                    match chunk.stream {
                        StreamName::Stdout => last.out.extend_from_slice(&chunk.bytes),
                        StreamName::Stderr => last.err.extend_from_slice(&chunk.bytes),
                    }
                }
                StreamItem::Reply(Reply::Gap { bytes }) => log.output.misses(bytes),
                StreamItem::Reply(_) => {}
            }
        }
        Ok(log)
    })
}
