//! Histories: what may happen to tasks, servers and workspaces, in any order.

use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;

/// How many tasks one history makes at most.
const MAX_TASKS: usize = 3;

/// One step of a history. Numbers choose among what is there, so that every step means something at any time.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A person asks a server for a task.
    Create { server: usize, both_repositories: bool, works: bool, death: Option<Death> },
    /// A person asks a server for something about a task.
    Ask { server: usize, task: usize, request: Request },
    /// As [`Step::Ask`], and the server dies over it.
    AskAndCrash { server: usize, task: usize, request: Request, death: Death },
    /// A person decides about the job of a task that waits for it.
    Decide { server: usize, task: usize, choice: Choice },
    /// A server dies.
    Crash { server: usize },
    /// A server is stopped as it should be, and stays so.
    Stop { server: usize },
    /// A server that is down is started.
    Start { server: usize },
    /// A person works in, or on, a workspace.
    Person { task: usize, worktree: usize, deed: Deed },
}

/// How a server dies over what it is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Death {
    /// So many milliseconds later.
    After(u64),
    /// At one of the failpoints on the way, or at any, when it comes there once more than `passes` times; and there
    /// again after its next start, where `again` says so.
    At { failpoint: Option<usize>, passes: usize, again: bool },
}

/// What a person asks a server for.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    OpenSession { works: bool },
    Prompt,
    DeleteSession,
    Archive { consents: bool },
    Delete { consents: bool },
    Reopen { elsewhere: bool, branch: u8 },
    Purge,
}

/// What a person decides about a job.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choice {
    Retry,
    Keep,
    Discard,
}

/// What a person does without Freehold.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Deed {
    Write(u8),
    WriteUntracked(u8),
    WriteIgnored(u8),
    ChangeMode,
    Link,
    Stage,
    Commit,
    Switch,
    Detach,
    Nest,
    Lock,
    Unlock,
    Remove,
    MoveAway,
    MoveBack,
    ReplaceByLink,
    ReplaceByClone,
    TakePath,
    MoveBranch,
}

/// What the generator knows: enough to choose steps that mean something.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    tasks: usize,
    /// Whether the servers of this history make worktrees ahead of time.
    pub(crate) has_pool: bool,
}

/// Histories on one server with SQLite, or on two with PostgreSQL.
pub(crate) struct Histories<const SERVERS: usize>;

impl<const SERVERS: usize> ReferenceStateMachine for Histories<SERVERS> {
    type State = Known;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Known> {
        any::<bool>().prop_map(|has_pool| Known { tasks: 0, has_pool }).boxed()
    }

    fn transitions(known: &Known) -> BoxedStrategy<Step> {
        let server = 0..SERVERS;
        let create =
            (server.clone(), any::<bool>(), prop::bool::weighted(0.25), prop::option::weighted(0.3, death()))
                .prop_map(|(server, both_repositories, works, death)| Step::Create {
                    server,
                    both_repositories,
                    works,
                    death,
                });
        if known.tasks == 0 {
            return create.boxed();
        }
        let task = 0..known.tasks;
        let ask = (server.clone(), task.clone(), request()).prop_map(|(server, task, request)| Step::Ask {
            server,
            task,
            request,
        });
        let crash_in = (server.clone(), task.clone(), lasting_request(), death())
            .prop_map(|(server, task, request, death)| Step::AskAndCrash { server, task, request, death });
        let decide = (server.clone(), task.clone(), choice())
            .prop_map(|(server, task, choice)| Step::Decide { server, task, choice });
        let person = (task, 0..2_usize, deed()).prop_map(|(task, worktree, deed)| Step::Person {
            task,
            worktree,
            deed,
        });
        let is_full = known.tasks >= MAX_TASKS;
        prop_oneof![
            if is_full { 0 } else { 3 } => create,
            9 => ask,
            8 => crash_in,
            3 => decide,
            1 => server.clone().prop_map(|server| Step::Crash { server }),
            1 => server.clone().prop_map(|server| Step::Stop { server }),
            2 => server.prop_map(|server| Step::Start { server }),
            10 => person,
        ]
        .boxed()
    }

    fn apply(mut known: Known, step: &Step) -> Known {
        known.tasks += usize::from(matches!(step, Step::Create { .. }));
        known
    }

    fn preconditions(known: &Known, step: &Step) -> bool {
        match step {
            Step::Create { .. } => known.tasks < MAX_TASKS,
            Step::Ask { task, .. }
            | Step::AskAndCrash { task, .. }
            | Step::Decide { task, .. }
            | Step::Person { task, .. } => *task < known.tasks,
            Step::Crash { .. } | Step::Stop { .. } | Step::Start { .. } => true,
        }
    }
}

fn request() -> BoxedStrategy<Request> {
    prop_oneof![
        2 => prop::bool::weighted(0.25).prop_map(|works| Request::OpenSession { works }),
        1 => Just(Request::Prompt),
        2 => Just(Request::DeleteSession),
        4 => prop::bool::weighted(0.8).prop_map(|consents| Request::Archive { consents }),
        4 => prop::bool::weighted(0.8).prop_map(|consents| Request::Delete { consents }),
        5 => (any::<bool>(), 0..3_u8).prop_map(|(elsewhere, branch)| Request::Reopen { elsewhere, branch }),
        1 => Just(Request::Purge),
    ]
    .boxed()
}

fn death() -> impl Strategy<Value = Death> {
    prop_oneof![
        1 => (0..200_u64).prop_map(Death::After),
        2 => (0..64_usize, prop::sample::select(vec![0, 0, 0, 1]), prop::bool::weighted(0.25))
            .prop_map(|(failpoint, passes, again)| Death::At { failpoint: Some(failpoint), passes, again }),
        4 => (0..16_usize, prop::bool::weighted(0.25))
            .prop_map(|(passes, again)| Death::At { failpoint: None, passes, again }),
    ]
}

/// A request whose way has many steps.
fn lasting_request() -> BoxedStrategy<Request> {
    prop_oneof![
        1 => request(),
        3 => Just(Request::Archive { consents: true }),
        3 => Just(Request::Delete { consents: true }),
        4 => (any::<bool>(), 0..3_u8).prop_map(|(elsewhere, branch)| Request::Reopen { elsewhere, branch }),
        1 => Just(Request::Purge),
    ]
    .boxed()
}

fn choice() -> impl Strategy<Value = Choice> {
    prop_oneof![Just(Choice::Retry), Just(Choice::Keep), Just(Choice::Discard)]
}

fn deed() -> BoxedStrategy<Deed> {
    let number = 0..4_u8;
    prop_oneof![
        2 => number.clone().prop_map(Deed::Write),
        2 => number.clone().prop_map(Deed::WriteUntracked),
        2 => number.prop_map(Deed::WriteIgnored),
        14 => prop::sample::select(vec![
            Deed::ChangeMode, Deed::Link, Deed::Stage, Deed::Commit, Deed::Switch, Deed::Detach, Deed::Nest,
            Deed::Lock, Deed::Unlock, Deed::Remove, Deed::MoveAway, Deed::MoveBack, Deed::ReplaceByLink,
            Deed::ReplaceByClone, Deed::TakePath, Deed::MoveBranch,
        ]),
    ]
    .boxed()
}
