//! The state of a running daemon: its data directory, store, runtime, commands and agents.

mod agents;
mod command_waits;
mod conversation_locks;
mod grants;
mod idle;
mod json_file;
mod key_ring;
mod maintenance;
mod passed_env;
mod records;
mod secrets;
mod shutdown;

use std::sync::Arc;
use std::time::Duration;

use hashbrown::{HashMap, HashSet};
use offshoot_agent::Agents;
use offshoot_backends::Commands;
use offshoot_client::DaemonDir;
use offshoot_client::wire::{ShutdownReport, WireError};
use offshoot_core::{Caps, Ceiling, SessionId, Stamp, TaskId};
use offshoot_models::Keys;
use offshoot_profiles::Profiles;
use offshoot_runtime::Runtime;
use offshoot_sandbox::Helper;
use offshoot_sqlite::Sqlite;
use offshoot_store::{OpenStore, Store, StoreError};
use offshoot_tools::Runs;
use parking_lot::Mutex;
use tokio::sync::{OnceCell, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::command_waits::CommandWaits;
use self::conversation_locks::ConversationLocks;
pub(crate) use self::grants::Grant;
use self::grants::Grants;
use self::idle::ConnectionCount;
pub(crate) use self::idle::ConnectionGuard;
use self::key_ring::KeyRing;
use self::passed_env::PassedEnv;
pub(crate) use self::shutdown::ShutdownMode;
use crate::disk::{DiskReserve, free_bytes};
use crate::errors::{closing_error, open_error, output_error, wire_error};
use crate::limits::Limits;
use crate::log_file::LogFile;

/// How long after its start requests wait until the daemon has judged what an
/// earlier daemon left.
const RECOVERY_WAIT: Duration = Duration::from_secs(5);

/// The free bytes below which a disk is full.
const FULL_DISK: u64 = 64 << 10;

/// The most live tasks of one session.
const LIVE_TASKS: u64 = 10_000;

/// The options of a daemon.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// The directory it holds.
    pub dir: DaemonDir,
    /// How long it stays when there is nothing to do.
    pub idle: Duration,
    /// The time limit of git on a worktree, if it is not the usual one.
    pub git_limit: Option<Duration>,
}

/// A running daemon.
#[derive(Debug)]
pub(crate) struct Daemon {
    /// Taken when the daemon ends.
    runtime: Mutex<Option<Arc<Runtime>>>,
    store: Arc<dyn Store>,
    pub(crate) commands: Commands,
    pub(crate) agents: Agents,
    /// The commands of agents.
    runs: Runs,
    pub(crate) keys: KeyRing,
    /// Approvals that users gave for ever.
    pub(crate) grants: Grants,
    /// Variables that users pass to commands.
    pub(crate) passed_env: PassedEnv,
    pub(crate) profiles: Profiles,
    pub(crate) dir: DaemonDir,
    pub(crate) connections: ConnectionCount,
    /// Cancelled when the daemon is to end.
    pub(crate) shutdown: CancellationToken,
    pub(crate) log: LogFile,
    pub(crate) started: Stamp,
    opened: Instant,
    pub(crate) limits: Limits,
    pub(crate) command_waits: CommandWaits,
    pub(crate) conversations: ConversationLocks,
    /// Tasks without a record whose output an earlier daemon left that did not
    /// end in good order. The output stays: it may be all that is left of them.
    unrecorded: OnceCell<HashSet<TaskId>>,
    session_names: Mutex<HashMap<SessionId, Arc<str>>>,
    pub(crate) reserve: DiskReserve,
    /// The report of the shutdown, once there is one.
    stopped: watch::Sender<Option<ShutdownReport>>,
}

impl Daemon {
    /// Opens the data directory and starts to recover what is in it.
    pub(crate) async fn open(options: DaemonOptions, log: LogFile) -> Result<Arc<Self>, WireError> {
        let DaemonOptions { dir, idle, git_limit } = options;
        let limits = Limits::of_system();
        let usual = Caps::default();
        let caps = Caps {
            executing: Ceiling { space: Some(limits.slots), ..Ceiling::NONE },
            // Bounds agents that spawn agents that spawn agents.
            live: Ceiling { session: Some(LIVE_TASKS), ..usual.live },
            ..usual
        };
        // The store holds the lock of the directory. Only its holder may touch
        // what the commands of an earlier daemon left.
        let reserve = DiskReserve::new(dir.data());
        let unclean = Sqlite::at(dir.data()).ended_uncleanly();
        let unclean = unclean.map_err(|error| open_error(&error.into()))?;
        let store = loop {
            match Sqlite::at(dir.data()).open_store().await {
                Err(StoreError::Full { .. }) if reserve.give_share() => {}
                opened => break opened.map_err(|error| open_error(&error.into()))?,
            }
        };
        // Recovery writes, too, and finds room even on a full disk.
        reserve.give_share();
        let commands = Commands::builder(dir.data()).sole_session();
        let commands = commands.helper(Helper::own()).secrets(Keys::names()).open();
        let commands = commands.map_err(|error| output_error(&error, &dir))?;
        let keys = KeyRing::default();
        let grants = Grants::in_directory(dir.data());
        let passed_env = PassedEnv::in_directory(dir.data());
        let (runs, profiles) = (agents::runs(&dir, &commands, &passed_env), Profiles::own());
        let agents = agents::agents(&dir, &keys, &grants, &runs).profiles(profiles.clone());
        let agents = agents.git_limit(git_limit.unwrap_or(offshoot_agent::GIT_LIMIT));
        let runtime = Runtime::builder(store.clone())
            .backend(Commands::KIND, commands.backend())
            .backend(offshoot_agent::KIND, agents.backend())
            .caps(caps)
            .open()
            .await
            .map_err(|error| open_error(&error))?;
        let daemon = Arc::new(Self {
            runtime: Mutex::new(Some(Arc::new(runtime))),
            store,
            commands,
            agents,
            runs,
            keys,
            grants,
            passed_env,
            profiles,
            dir,
            connections: ConnectionCount::new(idle),
            shutdown: CancellationToken::new(),
            log,
            started: now(),
            opened: Instant::now(),
            limits,
            command_waits: CommandWaits::new(limits),
            conversations: ConversationLocks::default(),
            unrecorded: match unclean {
                true => OnceCell::new(),
                false => OnceCell::new_with(Some(HashSet::new())),
            },
            session_names: Mutex::default(),
            reserve,
            stopped: watch::Sender::default(),
        });
        daemon.reserve.fill();
        tokio::spawn(daemon.clone().maintain());
        Ok(daemon)
    }

    /// The runtime, unless the daemon is ending.
    pub(crate) fn runtime(&self) -> Result<Arc<Runtime>, WireError> {
        self.runtime.lock().clone().ok_or_else(closing_error)
    }

    /// Waits for recovery, so that a reader does not see dead tasks as running.
    ///
    /// It waits at most [`RECOVERY_WAIT`] after the start of the daemon, because
    /// some tasks cannot be judged at once.
    pub(crate) async fn wait_for_recovery(&self) -> Result<(), WireError> {
        let runtime = self.runtime()?;
        if !runtime.has_recovered() {
            tokio::time::timeout_at(self.opened + RECOVERY_WAIT, runtime.recovered()).await.ok();
        }
        Ok(())
    }

    /// Reads the whole store, and fails if it is damaged.
    pub(crate) async fn check_store(&self) -> Result<(), WireError> {
        self.store.check().await.map_err(|error| wire_error(&error.into()))
    }

    /// Resolves once the store has failed for good, with the error for every
    /// request under way.
    pub(crate) async fn store_failure(&self) -> WireError {
        let mut failure = self.store.failure();
        let failed = failure.wait_for(Option::is_some).await.ok().and_then(|error| error.clone());
        match failed {
            Some(error) => wire_error(&error.into()),
            // This store never fails for good.
            None => std::future::pending().await,
        }
    }

    /// Whether the disk of the data directory is full.
    pub(crate) fn disk_is_full(&self) -> bool {
        free_bytes(self.dir.data()).is_some_and(|free| free < FULL_DISK)
    }
}

/// The time of the wall clock.
pub(crate) fn now() -> Stamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let micros = since.map_or(0, |since| since.as_micros());
    Stamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}
