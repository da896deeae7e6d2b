//! Spawning commands.

use std::ffi::OsString;
use std::time::Duration;

use offshoot_backends::{
    Attach, Command, CommandsError, Input, LosslessReader, Restart, Surroundings,
};
use offshoot_client::wire::{self, Attachment, Code, Reply, Spawn, TaskName, WireError};
use offshoot_core::{Name, TaskId, Visibility};
use offshoot_runtime::Error;

use super::view;
use super::{Answer, ReplySink, output};
use crate::host::Daemon;

/// Spawns a command. A caller that stays gets the task, then its output, then the task
/// as it has ended. A caller that sends input stays, too.
pub(super) async fn spawn(
    daemon: &Daemon,
    spawn: Spawn,
    (within, input): (Option<TaskId>, Option<Input>),
    replies: &mut impl ReplySink,
) -> Answer {
    let stays = spawn.attachment == Attachment::Attached || input.is_some();
    // Refused before the task exists, if no more commands may wait.
    let waiter = daemon.command_waits.enter(within.filter(|_| stays))?;
    let reader = match spawn.attachment {
        Attachment::Attached => Some(LosslessReader::new()),
        Attachment::Detached => None,
    };
    let attach = reader.as_ref().map_or(Attach::No, Attach::Lossless);
    let around = spawn.surroundings.0.iter();
    let around = around.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let mut around = Surroundings::new(around).with_umask(spawn.umask);
    if let Some(input) = input {
        around = around.with_input(input);
    }
    let request = command(&spawn)
        .and_then(|command| daemon.commands.request(command, Some(around), attach))
        .map_err(|error| WireError::from_error(Code::BadRequest, &error))?;
    let parent = match &spawn.parent {
        Some(parent) => {
            let named = TaskName { session: spawn.session.clone(), task: parent.clone() };
            Some(daemon.task(&named).await?)
        }
        None => None,
    };
    // A task belongs to its parent's session, even if the request names another one.
    let session = match &parent {
        Some(parent) => daemon.session_name(parent.spec().lineage.session).await?.to_string(),
        None => spawn.session,
    };
    let session = daemon.open_session(&session).await?.with_visibility(Visibility::Subtree);
    let mut spawning = session.spawn(request).key(&spawn.key);
    if let Some(parent) = &parent {
        spawning = spawning.under(parent);
    }
    if let Some(name) = &spawn.name {
        Name::new(name).and_then(|name| name.check_chosen()).map_err(Error::Name)?;
        spawning = spawning.name(name);
    }
    if let Some(timeout) = spawn.timeout_ms {
        spawning = spawning.timeout(Duration::from_millis(timeout));
    }
    if let Some(grace) = spawn.grace_ms {
        spawning = spawning.grace(Duration::from_millis(grace));
    }
    let task = spawning.await?;
    let shown = view::task(daemon, task.snapshot().await?).await?;
    let reply = Reply::Task(Box::new(shown));
    if !stays {
        return Ok(reply);
    }
    replies.reply(&reply).await?;
    waiter.during(daemon, output::attend(daemon, &task, reader, replies)).await
}

fn command(spawn: &Spawn) -> Result<Command, CommandsError> {
    let program = spawn.argv.first().map_or("", String::as_str);
    let mut command = Command::new(program, &spawn.cwd)?.args(spawn.argv.iter().skip(1))?;
    for (name, value) in &spawn.env.0 {
        command = command.env(name, value)?;
    }
    Ok(command.restart(match spawn.restart {
        wire::Restart::Never => Restart::Never,
        wire::Restart::OnCrash => Restart::OnCrash,
    }))
}
