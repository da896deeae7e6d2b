//! What a daemon holds: the folder's runtime, its commands, and who is in.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::{HashMap, HashSet};
use offshoot_agent::{Agents, Fate};
use offshoot_backends::Commands;
use offshoot_client::wire::{Code, Hello, ShutdownReport, TaskName, WireError};
use offshoot_client::{DaemonDir, FrameMemory};
use offshoot_core::{Blob, Caps, Ceiling, Name, Phase, Question, SessionId, Stamp, Task, TaskId};
use offshoot_models::{Differs, Keys};
use offshoot_profiles::Profiles;
use offshoot_runtime::{Runtime, Session, TaskRef};
use offshoot_sandbox::Helper;
use offshoot_sqlite::Sqlite;
use offshoot_store::{OpenStore, Store, StoreError, TaskQuery, TaskScope};
use offshoot_tools::Runs;
use parking_lot::Mutex;
use tokio::sync::{OnceCell, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fault::{no_output, refusal, unusable};
use crate::grants::Grants;
use crate::idle::Idle;
use crate::keyring::KeyRing;
use crate::limits::Limits;
use crate::logfile::LogFile;
use crate::passed_env::PassedEnv;
use crate::reserve::{Reserve, free_bytes};
use crate::run::DaemonOptions;
use crate::tools;
use crate::turns::Turns;
use crate::waiters::Waiters;
use crate::waiting::WaitingConnections;

/// How long a daemon that ends waits for what an earlier one left, for bodies to
/// go, for its store to close, and for whoever asked to hear of it.
const RECOVERY: Duration = Duration::from_secs(10);
const BODIES: Duration = Duration::from_secs(15);
const CLOSING: Duration = Duration::from_secs(15);
const GOODBYE: Duration = Duration::from_secs(2);

/// How long bodies are waited for whose ends cannot be written anywhere. Their
/// processes are killed after that.
const HOMELESS_BODIES: Duration = Duration::from_secs(2);

/// How long after its start requests wait until what an earlier daemon left has
/// been judged.
const SETTLING: Duration = Duration::from_secs(5);

/// Below this much room a disk is full.
const TIGHT: u64 = 64 << 10;

/// How often logs of tasks that are no more are looked for, and worktrees.
const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

/// How a daemon ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Everything that ends is written.
    InOrder,
    /// Its data folder is gone, and nothing can be written.
    Homeless,
}

/// What a daemon holds.
#[derive(Debug)]
pub(crate) struct House {
    // Taken when the daemon ends.
    runtime: Mutex<Option<Arc<Runtime>>>,
    store: Arc<dyn Store>,
    pub(crate) commands: Commands,
    pub(crate) agents: Agents,
    /// The commands of agents.
    runs: Runs,
    pub(crate) keys: KeyRing,
    /// The standing grants.
    pub(crate) grants: Grants,
    /// Variables that people pass to commands.
    pub(crate) passed: PassedEnv,
    /// What agents can be made of.
    pub(crate) profiles: Profiles,
    pub(crate) place: DaemonDir,
    pub(crate) idle: Idle,
    /// Connections from which no request has come yet.
    pub(crate) waiting: WaitingConnections,
    /// Room for requests that arrive.
    pub(crate) room: FrameMemory,
    /// Cancelled when somebody asks the daemon to end.
    pub(crate) leave: CancellationToken,
    pub(crate) log: LogFile,
    pub(crate) started: Stamp,
    opened: Instant,
    pub(crate) slots: u64,
    pub(crate) waiters: Waiters,
    /// Who speaks to the agents of sessions.
    pub(crate) turns: Turns,
    /// Tasks without a record whose output an earlier daemon left that did not
    /// end in good order. It stays: it may be all that is left of them.
    strays: OnceCell<HashSet<TaskId>>,
    names: Mutex<HashMap<SessionId, Arc<str>>>,
    pub(crate) reserve: Reserve,
    /// Told to whoever asked the daemon to end.
    stopped: watch::Sender<Option<ShutdownReport>>,
}

/// How many bytes of long requests are in memory at once, until they are read:
/// four of the longest.
const ROOM: usize = 64 << 20;

/// How many tasks of one session may be alive.
const LIVE: u64 = 10_000;

impl House {
    pub(crate) async fn open(options: DaemonOptions, log: LogFile) -> Result<Arc<Self>, WireError> {
        let DaemonOptions { dir: place, idle, git_limit } = options;
        let limits = Limits::of_system();
        let slots = limits.slots;
        let usual = Caps::default();
        let caps = Caps {
            executing: Ceiling { space: Some(slots), ..Ceiling::NONE },
            // An end to agents that send off agents that send off agents.
            live: Ceiling { session: Some(LIVE), ..usual.live },
            ..usual
        };
        // Whoever has the store has the folder's lock, and only then may touch
        // what the commands of an earlier daemon left.
        let reserve = Reserve::in_folder(place.data());
        let unclean = Sqlite::at(place.data()).ended_uncleanly();
        let unclean = unclean.map_err(|error| unusable(&error.into()))?;
        let store = loop {
            match Sqlite::at(place.data()).open_store().await {
                Err(StoreError::Full { .. }) if reserve.share() => {}
                opened => break opened.map_err(|error| unusable(&error.into()))?,
            }
        };
        // What follows finds room, too, and may be read whatever else is full.
        reserve.share();
        let commands = Commands::holding(place.data()).sole_session();
        let commands = commands.helper(Helper::own()).secrets(Keys::names()).open();
        let commands = commands.map_err(|error| no_output(&error, &place))?;
        let keys = KeyRing::default();
        let grants = Grants::in_folder(place.data());
        let passed = PassedEnv::in_folder(place.data());
        let (runs, profiles) = (tools::runs(&place, &commands, &passed), Profiles::own());
        let agents = tools::agents(&place, &keys, &grants, &runs).profiles(profiles.clone());
        let agents = agents.git_limit(git_limit.unwrap_or(offshoot_agent::GIT_LIMIT));
        let runtime = Runtime::builder(store.clone())
            .backend(Commands::KIND, commands.backend())
            .backend(offshoot_agent::KIND, agents.backend())
            .caps(caps)
            .open()
            .await
            .map_err(|error| unusable(&error))?;
        let house = Arc::new(Self {
            runtime: Mutex::new(Some(Arc::new(runtime))),
            store,
            commands,
            agents,
            runs,
            keys,
            grants,
            passed,
            profiles,
            place,
            idle: Idle::new(idle),
            waiting: WaitingConnections::new(limits.connections as usize),
            room: FrameMemory::new(ROOM),
            leave: CancellationToken::new(),
            log,
            started: now(),
            opened: Instant::now(),
            slots,
            waiters: Waiters::new(limits),
            turns: Turns::default(),
            strays: match unclean {
                true => OnceCell::new(),
                false => OnceCell::new_with(Some(HashSet::new())),
            },
            names: Mutex::default(),
            reserve,
            stopped: watch::Sender::default(),
        });
        house.reserve.fill();
        tokio::spawn(house.clone().sweep_for_ever());
        Ok(house)
    }

    /// The runtime, unless the daemon is ending.
    pub(crate) fn runtime(&self) -> Result<Arc<Runtime>, WireError> {
        self.runtime.lock().clone().ok_or_else(closing)
    }

    /// Waits until what an earlier daemon left has been judged, so that nobody
    /// is told that the dead run. When that takes long, it is not waited for:
    /// not everything that is left can be judged at once.
    pub(crate) async fn settled(&self) -> Result<(), WireError> {
        let runtime = self.runtime()?;
        if !runtime.has_recovered() {
            tokio::time::timeout_at(self.opened + SETTLING, runtime.recovered()).await.ok();
        }
        Ok(())
    }

    /// Ends in good order, but no later than the sum of its patiences, which
    /// is what the next one waits for ([`LONGEST_SHUTDOWN`]).
    ///
    /// [`LONGEST_SHUTDOWN`]: offshoot_client::LONGEST_SHUTDOWN
    pub(crate) async fn shut_down(&self, ending: Ending) -> ShutdownReport {
        let Some(runtime) = self.runtime.lock().take() else { return ShutdownReport::default() };
        self.idle.close();
        self.reserve.share();
        // What an earlier daemon left is ended by this one, however short it
        // lives.
        let recovered = tokio::time::timeout(RECOVERY, runtime.recovered()).await.is_ok();
        if !recovered {
            tracing::warn!("what an earlier daemon left is left to the next one");
        }
        // Requests under way hold it for a moment longer.
        let runtime = self.idle.until_alone(runtime).await;
        let patience = match ending {
            Ending::InOrder => BODIES,
            Ending::Homeless => HOMELESS_BODIES,
        };
        match runtime.map(|runtime| runtime.shutdown(patience)) {
            Some(ending) => match ending.await {
                Ok(0) if recovered => {
                    if let Err(error) = self.commands.leave() {
                        tracing::warn!(%error, "it could not be noted that nothing is left");
                    }
                }
                Ok(0) => {}
                Ok(left) => tracing::warn!(left, "some bodies did not go"),
                Err(error) => tracing::error!(%error, "the runtime did not end in good order"),
            },
            None => tracing::warn!("a request is still under way; the next daemon settles it"),
        }
        let stopped = self.unsettled().await;
        if let Err(error) = self.store.close(CLOSING).await {
            tracing::error!(%error, "the store was not closed in good order");
        }
        stopped
    }

    /// What is left in the records that nobody executes any more.
    async fn unsettled(&self) -> ShutdownReport {
        let mut query = TaskQuery::new(TaskScope::Everything);
        query.phases = vec![Phase::Running, Phase::Waiting];
        query.kind = Some(Commands::KIND.into());
        let mut unsettled = 0;
        loop {
            let page = match self.store.tasks(query.clone()).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "the store cannot say what is left");
                    break;
                }
            };
            unsettled += page.items.len();
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        let data = self.place.data();
        let why = (unsettled > 0 && self.is_full())
            .then(|| format!("the disk under {} is full", data.display()));
        if unsettled > 0 {
            tracing::warn!(
                unsettled,
                "the ends of some tasks are not written: the next daemon settles them"
            );
        }
        ShutdownReport { unsettled, why }
    }

    /// Resolves once the store serves nothing more, with what to tell every
    /// request that waits.
    pub(crate) async fn failed(&self) -> WireError {
        let mut failure = self.store.failure();
        let failed = failure.wait_for(Option::is_some).await.ok().and_then(|error| error.clone());
        match failed {
            Some(error) => refusal(&error.into()),
            // This store never fails for good.
            None => std::future::pending().await,
        }
    }

    /// Reads the whole store, and says what is damaged.
    pub(crate) async fn check_store(&self) -> Result<(), WireError> {
        self.store.check().await.map_err(|error| refusal(&error.into()))
    }

    /// What became of everything when the daemon had ended, once it has.
    pub(crate) fn stopped(&self) -> watch::Receiver<Option<ShutdownReport>> {
        self.stopped.subscribe()
    }

    /// Tells whoever asked for it that the daemon has ended.
    pub(crate) async fn tell_stopped(&self, stopped: ShutdownReport) {
        self.stopped.send_replace(Some(stopped));
        tokio::time::timeout(GOODBYE, self.stopped.closed()).await.ok();
    }

    /// Whether the daemon may make room for the next one: nothing executes that
    /// could not go on there.
    pub(crate) async fn may_leave(&self, hello: &Hello) -> bool {
        if !hello.is_newer_than(env!("CARGO_PKG_VERSION")) {
            return false;
        }
        let Ok(runtime) = self.runtime() else { return true };
        let counts = runtime.counts().await;
        counts.is_ok_and(|counts| counts.of(Phase::Running) + counts.of(Phase::Waiting) == 0)
    }

    /// The session of this name, opened if it is new.
    pub(crate) async fn session(&self, name: &str) -> Result<Session, WireError> {
        self.runtime()?.session(name).await.map_err(|error| refusal(&error))
    }

    /// The session of this name, if there is one.
    pub(crate) async fn known_session(&self, name: &str) -> Result<Option<Session>, WireError> {
        self.runtime()?.find_session(name).await.map_err(|error| refusal(&error))
    }

    /// The session of this name.
    pub(crate) async fn existing_session(&self, name: &str) -> Result<Session, WireError> {
        self.known_session(name).await?.ok_or_else(|| no_session(name))
    }

    /// What a task that has not ended lacks to be executed here.
    pub(crate) fn lacks(&self, task: &Task) -> Option<Differs> {
        let is_agent = *task.spec.kind == *offshoot_agent::KIND;
        (is_agent && task.is_live()).then(|| self.agents.backend().missing(task)).flatten()
    }

    /// The task that somebody calls so.
    pub(crate) async fn task(&self, named: &TaskName) -> Result<TaskRef, WireError> {
        let runtime = self.runtime()?;
        let found = match named.task.trim().parse::<TaskId>() {
            Ok(_) => runtime.task(&named.task).await,
            Err(_) => match self.known_session(&named.session).await? {
                Some(session) => runtime.task_within(session.id(), &named.task).await,
                None => {
                    let what = format!(
                        "there is no task {:?} here: session {:?} has none",
                        named.task, named.session
                    );
                    return Err(WireError::new(Code::NotFound, what));
                }
            },
        };
        found.map_err(|error| refusal(&error))
    }

    /// What a task has asked so far.
    pub(crate) async fn questions(&self, task: TaskId) -> Result<Vec<Question>, WireError> {
        self.store.questions(task).await.map_err(|error| refusal(&error.into()))
    }

    /// A value that is kept elsewhere because of its size.
    pub(crate) async fn blob(&self, blob: Blob) -> Result<Option<serde_json::Value>, WireError> {
        let kept = self.store.blob(blob).await.map_err(|error| refusal(&error.into()))?;
        Ok(kept.and_then(|json| serde_json::from_str(&json).ok()))
    }

    /// What a session is called.
    pub(crate) async fn session_name(&self, id: SessionId) -> Result<Arc<str>, WireError> {
        if let Some(name) = self.names.lock().get(&id) {
            return Ok(name.clone());
        }
        let record = self.runtime()?.session_record(id).await.map_err(|error| refusal(&error))?;
        let name: Arc<str> = match record {
            Some(record) => Name::as_str(&record.name).into(),
            None => id.to_string().into(),
        };
        self.names.lock().insert(id, name.clone());
        Ok(name)
    }

    /// Forgets what a session was called.
    pub(crate) fn forget_name(&self, id: SessionId) {
        self.names.lock().remove(&id);
    }

    /// Deletes the logs of tasks that are no more, and worktrees with nothing in
    /// them, now and then.
    async fn sweep_for_ever(self: Arc<Self>) {
        if let Ok(runtime) = self.runtime() {
            runtime.recovered().await;
            // A daemon that is ending has not recovered, even if it says so.
            if self.runtime().is_ok()
                && let Err(error) = self.commands.recovered()
            {
                tracing::warn!(%error, "it could not be noted that nothing is left");
            }
        }
        loop {
            let Ok(runtime) = self.runtime() else { return };
            self.sweep(&runtime).await;
            self.sweep_worktrees(&runtime).await;
            drop(runtime);
            tokio::time::sleep(SWEEP_INTERVAL).await;
            self.reserve.fill();
        }
    }

    /// The tasks without a record whose output stays as long as this daemon
    /// lives. Asked for before records are deleted, whose tasks are none.
    pub(crate) async fn strays(&self, runtime: &Runtime) -> &HashSet<TaskId> {
        let found = self.strays.get_or_init(|| async {
            let without = Mutex::new(HashSet::new());
            let kept = async |id| {
                if !matches!(runtime.get(id).await, Ok(Some(_))) {
                    without.lock().insert(id);
                }
                true
            };
            if let Err(error) = self.commands.sweep(kept).await {
                tracing::warn!(%error, "old logs could not be looked at");
            }
            let strays = without.into_inner();
            if !strays.is_empty() {
                let logs = strays.len();
                tracing::warn!(logs, "logs of tasks without a record stay: the last daemon died");
            }
            strays
        });
        found.await
    }

    /// Deletes the logs of tasks that are no more, or whose session is going;
    /// how many.
    pub(crate) async fn sweep(&self, runtime: &Runtime) -> usize {
        let strays = self.strays(runtime).await;
        let kept = async |id| match runtime.get(id).await {
            Ok(None) => strays.contains(&id),
            Ok(Some(task)) => {
                let session = runtime.session_record(task.spec.lineage.session).await;
                !matches!(session, Ok(Some(session)) if session.is_removing())
            }
            Err(_) => true,
        };
        match self.commands.sweep(kept).await {
            Ok(swept) => {
                if swept > 0 {
                    tracing::info!(swept, "logs of tasks that are no more were deleted");
                }
                swept
            }
            Err(error) => {
                tracing::warn!(%error, "old logs could not be deleted");
                0
            }
        }
    }

    /// Removes what agents that have ended left behind: what was temporary, and
    /// worktrees with nothing in them.
    async fn sweep_worktrees(&self, runtime: &Runtime) {
        let fate = async |id| match runtime.get(id).await {
            Ok(None) => Fate::Gone,
            Ok(Some(task)) if !task.is_live() => Fate::Ended,
            _ => Fate::Live,
        };
        let kept = async |id| !matches!(fate(id).await, Fate::Gone | Fate::Ended);
        if let Err(error) = self.runs.sweep(kept).await {
            tracing::warn!(%error, "what agents kept for a while could not be deleted");
        }
        match self.agents.sweep_worktrees(fate).await {
            Ok(0) => {}
            Ok(swept) => tracing::info!(swept, "worktrees with nothing in them were removed"),
            Err(error) => tracing::warn!(%error, "old worktrees could not be looked at"),
        }
    }

    /// Whether there is no room on the disk of the data folder.
    pub(crate) fn is_full(&self) -> bool {
        free_bytes(self.place.data()).is_some_and(|free| free < TIGHT)
    }
}

/// What is said to whoever names a session that is not there.
pub(crate) fn no_session(name: &str) -> WireError {
    let what = format!("there is no session {name:?} here");
    WireError::new(Code::NotFound, what).hint("`offshoot sessions ls` lists them")
}

/// What is said to whoever asks a daemon that is ending.
pub(crate) fn closing() -> WireError {
    WireError::new(Code::Closing, "the daemon is ending: ask again")
}

/// The wall clock.
pub(crate) fn now() -> Stamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let micros = since.map_or(0, |since| since.as_micros());
    Stamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}
