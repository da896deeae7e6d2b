//! A store around another changes what it must and passes the rest on.

/// Every operation of a store but the commit and the retention, passed on through a method
/// `read` and a field `inner`.
#[macro_export]
macro_rules! reads {
    () => {
        fn claim(&self, worker: WorkerId) -> Result<Tenure, StoreError> {
            self.inner.claim(worker)
        }

        fn session(&self, id: SessionId) -> Read<Option<Session>> {
            self.read(|inner| inner.session(id))
        }

        fn session_named(&self, space: &Space, name: &Name) -> Read<Option<Session>> {
            self.read(|inner| inner.session_named(space, name))
        }

        fn sessions(&self, after: Option<PageCursor>, limit: usize) -> Read<Page<Session>> {
            self.read(|inner| inner.sessions(after, limit))
        }

        fn task(&self, id: TaskId) -> Read<Option<Task>> {
            self.read(|inner| inner.task(id))
        }

        fn named(&self, owner: Owner, key: &str) -> Read<Option<Task>> {
            self.read(|inner| inner.named(owner, key))
        }

        fn keyed(&self, owner: Owner, key: &str) -> Read<Option<Task>> {
            self.read(|inner| inner.keyed(owner, key))
        }

        fn tasks(&self, query: TaskQuery) -> Read<Page<Task>> {
            self.read(|inner| inner.tasks(query))
        }

        fn counts(&self, owner: Owner) -> Read<Counts> {
            self.read(|inner| inner.counts(owner))
        }

        fn counts_within(&self, session: Option<SessionId>) -> Read<Counts> {
            self.read(|inner| inner.counts_within(session))
        }

        fn inbox(&self, owner: Owner, after: u64, limit: usize) -> Read<Vec<Pending>> {
            self.read(|inner| inner.inbox(owner, after, limit))
        }

        fn result_row(&self, task: TaskId) -> Read<Option<Pending>> {
            self.read(|inner| inner.result_row(task))
        }

        fn message(&self, owner: Owner, message: MessageId) -> Read<Option<Standing>> {
            self.read(|inner| inner.message(owner, message))
        }

        fn history(&self, owner: Owner, first: u64, limit: usize) -> Read<HistoryPage> {
            self.read(|inner| inner.history(owner, first, limit))
        }

        fn step(&self, task: TaskId, key: &str) -> Read<Option<StepState>> {
            self.read(|inner| inner.step(task, key))
        }

        fn questions(&self, task: TaskId) -> Read<Vec<Question>> {
            self.read(|inner| inner.questions(task))
        }

        fn timers(&self, task: TaskId) -> Read<Vec<Timer>> {
            self.read(|inner| inner.timers(task))
        }

        fn counter(&self, counter: &Counter) -> Read<u64> {
            self.read(|inner| inner.counter(counter))
        }

        fn events(
            &self,
            session: Option<SessionId>,
            after: Cursor,
            limit: usize,
        ) -> Read<Result<EventPage, Expired>> {
            self.read(|inner| inner.events(session, after, limit))
        }

        fn cursor(&self) -> Cursor {
            self.inner.cursor()
        }

        fn bell(&self, session: SessionId) -> Arc<Notify> {
            self.inner.bell(session)
        }

        fn put_blob(&self, task: TaskId, json: Arc<str>) -> Read<Blob> {
            self.read(|inner| inner.put_blob(task, json))
        }

        fn blob(&self, blob: Blob) -> Read<Option<Arc<str>>> {
            self.read(|inner| inner.blob(blob))
        }

        fn delete_blob(&self, blob: Blob) -> Read<()> {
            self.read(|inner| inner.delete_blob(blob))
        }

        fn expire(&self, now: Stamp, limit: usize) -> Read<usize> {
            self.read(|inner| inner.expire(now, limit))
        }

        fn close(&self, patience: Duration) -> Read<()> {
            self.read(|inner| inner.close(patience))
        }
    };
}
