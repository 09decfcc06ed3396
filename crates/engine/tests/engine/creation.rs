//! Making workspaces.

use freehold_domain::environment::EnvironmentStatus;
use freehold_domain::task::TaskState;
use freehold_engine::task::{NewTask, NewTaskRepository};
use freehold_engine::{Engine, ErrorKind};

use crate::harness::{
    World, add_repository, new_task, on_both_engines, on_sqlite, wait_for_task, wait_until_idle, worktree_of,
};

#[test]
fn a_task_gets_its_own_workspace_in_which_the_agent_works() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "Improve it", "Improve the sample")).await.unwrap();
        let view = wait_until_idle(&engine, &id).await;
        let changes = engine.changes(id.clone()).await.unwrap();
        assert_eq!(changes[0].error_message, "");
        let files: Vec<&str> = changes[0].files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(files.len(), 3, "two edited and one added: {files:?}");
        assert!(files.contains(&"freehold-demo.md"));
        assert_eq!(world.worktrees(), [worktree_of(&view).display().to_string()]);
        assert_eq!(view.summary.task.state, TaskState::Review);
        assert_eq!(world.repo.git(&["status", "--porcelain"]), "", "the main checkout is untouched");
        engine.shutdown().await;
    });
}

#[test]
fn twenty_four_tasks_at_once_get_twenty_four_workspaces() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let mut ids = Vec::new();
        for _ in 0..24 {
            let task = NewTask { prompt: String::new(), ..new_task(&repository, "the same title", "") };
            ids.push(engine.create_task(task).await.unwrap());
        }
        for id in &ids {
            wait_for_task(&engine, id, "a ready workspace", |view| {
                assert_ne!(view.summary.task.state, TaskState::Failed, "{}", view.summary.task.error_message);
                view.environment.as_ref().is_some_and(|it| it.environment.status == EnvironmentStatus::Ready)
            })
            .await;
        }
        assert_eq!(world.worktrees().len(), 24);
        assert_eq!(world.branches().len(), 24);
        assert_eq!(world.task_directories().len(), 24);
        engine.shutdown().await;
    });
}

#[test]
fn any_title_gives_a_workspace_and_runs_nothing() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        for title in
            ["..", "-x", "a.lock", "🦀🦀", "$(touch X)", "名前", "CON", "a'b\"c;d`e`", &"é".repeat(500)]
        {
            let id = engine.create_task(new_task(&repository, title, "")).await.unwrap();
            let view = wait_until_idle(&engine, &id).await;
            assert!(worktree_of(&view).join("README.md").is_file(), "{title}");
            assert!(!worktree_of(&view).join("X").exists() && !world.repo.path().join("X").exists());
        }
        engine.shutdown().await;
    });
}

#[test]
fn bad_input_is_refused_with_its_name_and_stores_nothing() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let good = new_task(&repository, "good", "");
        let unknown_branch = NewTask {
            repositories: vec![NewTaskRepository {
                base_branch: Some("no-such-branch".into()),
                ..NewTaskRepository::new(repository.clone())
            }],
            ..good.clone()
        };
        let too_long = "x".repeat(10_000);
        let cases = [
            ("empty_title", NewTask { title: Some("  ".into()), ..good.clone() }),
            ("title_too_long", NewTask { title: Some(too_long), ..good.clone() }),
            ("invalid_title", NewTask { title: Some("a\nb".into()), ..good.clone() }),
            ("invalid_git_input", unknown_branch),
            ("invalid_field", NewTask { repositories: Vec::new(), ..good.clone() }),
            ("not_found", NewTask { agent_profile_id: Some("nobody".parse().unwrap()), ..good.clone() }),
            ("not_found", NewTask { step_id: Some("nowhere".parse().unwrap()), ..good.clone() }),
        ];
        for (code, request) in cases {
            let error = engine.create_task(request).await.unwrap_err();
            assert_eq!(error.code(), code, "{error}");
            assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound), "{error}");
        }
        assert_nothing_was_made(&engine, world).await;
        engine.shutdown().await;
    });
}

async fn assert_nothing_was_made(engine: &Engine, world: &World) {
    let query = freehold_engine::task::TaskListQuery { limit: 10, ..Default::default() };
    assert_eq!(engine.tasks(query).await.unwrap().items, []);
    assert_eq!(world.worktrees(), [] as [&str; 0]);
    assert_eq!(world.branches(), [] as [&str; 0]);
    assert!(world.task_directories().is_empty(), "{:?}", world.task_directories());
}
