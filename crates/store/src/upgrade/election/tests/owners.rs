//! Which row wins a slot, and what becomes of the worktrees that lose.

use super::written::{becomes, becomes_with, outcome};
use crate::upgrade::conflict::ConflictKind;

const W: &str = "own a/r/ w /at/w on/w";

#[test]
fn a_slot_goes_to_the_highest_rank() {
    let all = "task a\n env e a flat @9\n repo c e w @1\n session s a RUNNING @9\n row x s live @9\n \
               session f a FAILED @9\n row y f ended @9";
    becomes(all, &[W, "lost flat demoted e", "lost live demoted x", "lost ended demoted y"]);
    let without_canonical = "task a\n env e a w @1\n session s a RUNNING @9\n row x s live @9";
    becomes(without_canonical, &[W, "lost live demoted x"]);
    let without_environment =
        "task a\n session s a RUNNING @1\n row x s w @1\n session f a FAILED @9\n row y f ended @9";
    becomes(without_environment, &[W, "lost ended demoted y"]);
}

#[test]
fn a_session_is_live_unless_it_has_ended() {
    for live in ["CREATED", "STARTING", "RUNNING", "IDLE", "WAITING_FOR_INPUT", "", "A_WORD_OF_TOMORROW"] {
        for ended in ["COMPLETED", "FAILED", "CANCELLED"] {
            let live = if live.is_empty() { "\"\"" } else { live };
            let text =
                format!("task a\nsession s a {live} @1\nrow x s w @1\nsession f a {ended} @9\nrow y f v @9");
            becomes(&text, &[W, "lost v demoted y"]);
        }
    }
}

#[test]
fn among_equals_active_beats_merged_and_then_the_newest_wins() {
    let between =
        |one: &str, other: &str| format!("task a\nsession s a RUNNING\nrow y s w {one}\nrow x s v {other}");
    becomes(&between("@1", "@9 merged"), &[W, "lost v demoted x"]);
    becomes(&between("@1", "@9 status=merged"), &[W, "lost v demoted x"]);
    becomes(&between("@5", "@4"), &[W, "lost v demoted x"]);
    becomes(&between("@5 created=2", "@5 created=1"), &[W, "lost v demoted x"]);
    // The greater id of a worktree is the last word.
    becomes(&between("@5", "@5"), &[W, "lost v demoted x"]);
}

#[test]
fn a_merged_worktree_of_a_live_session_beats_an_active_one_of_an_ended_session() {
    let text =
        "task a\nsession s a IDLE\nrow x s w merged status=merged @1\nsession f a FAILED\nrow y f v @9";
    becomes(text, &["own a/r/ w /at/w on/w merged", "lost v demoted y"]);
}

#[test]
fn whether_a_worktree_is_merged_decides_nothing_among_rows_of_environments() {
    let text = "task a\nenv e a -\nenv f a - @1\nrepo x e w @9 merged\nrepo y f v @1";
    becomes(text, &[W, "lost v demoted y"]);
}

#[test]
fn slots_of_one_task_are_decided_apart() {
    let text = "task a\nenv e a flat\nrepo c e w slug=x\nsession s a RUNNING\nrow x s v repository=q\n\
                row y s u slug=x @9";
    becomes(
        text,
        &[
            "own a/q/ v /at/v on/v",
            "own a/r/ flat /at/flat on/flat",
            "own a/r/x w /at/w on/w",
            "lost u demoted y",
        ],
    );
}

#[test]
fn sessions_that_remember_one_worktree_in_two_slots_give_it_one() {
    let text = "task a\nsession s a RUNNING\nrow x s w @2\nrow y s w slug=old @1";
    becomes(text, &[W]);
    // The slot that it leaves is free for the next.
    let text = "task a\nsession s a RUNNING\nrow x s w @3\nrow y s w slug=old @2\nrow z s v slug=old @1";
    becomes(text, &[W, "own a/r/old v /at/v on/v"]);
}

#[test]
fn one_worktree_in_two_slots_of_an_environment_is_asked_about() {
    let text = "task a\nenv e a -\nrepo x e w\nrepo y e w slug=b branch=on/other";
    becomes(text, &["ask owner:w x y"]);
    becomes_with(text, &["owner:w=x"], &[W, "lost w superseded y"]);
    becomes_with(text, &["owner:w=y"], &["own a/r/b w /at/w on/other", "lost w superseded x"]);
}

#[test]
fn a_higher_claim_of_one_task_beats_a_lower_one_of_another() {
    let lower = "task a\ntask b\nsession s b RUNNING @9\nrow x s w @9\nenv f b -\n";
    becomes(&format!("{lower}env e a -\nrepo c e w"), &[W]);
    becomes(&format!("{lower}env e a w"), &[W]);
    let ended = "task a\ntask b\nsession s a RUNNING\nrow x s w\nsession f b FAILED @9\nrow y f w @9";
    becomes(ended, &[W]);
}

#[test]
fn a_worktree_that_is_owned_is_out_before_lower_slots_are_elected() {
    // Task b's newest worktree belongs to a, so b's slot goes to its next one.
    let text = "task a\ntask b\nenv e a w\nsession s b RUNNING\nrow x s w @9\nrow y s v @1";
    becomes(text, &[W, "own b/r/ v /at/v on/v"]);
}

#[test]
fn a_claim_that_lost_its_slot_blocks_no_other_task() {
    // Task a's old claim on v lost against w; so v is b's alone, and nobody is asked.
    let text =
        "task a\ntask b\nsession s a RUNNING\nrow x s w @9\nrow y s v @1\nsession t b RUNNING\nrow z t v @1";
    becomes(text, &[W, "own b/r/ v /at/v on/v"]);
}

#[test]
fn equal_claims_of_two_tasks_are_asked_about_whatever_their_times() {
    for (kind, rows) in [
        ("canonical", "env e a -\nrepo x e w @1\nenv f b -\nrepo y f w @9"),
        ("live", "session s a RUNNING\nrow x s w @1\nsession t b IDLE\nrow y t w @9"),
        ("ended", "session s a FAILED\nrow x s w @1\nsession t b COMPLETED\nrow y t w @9 merged"),
    ] {
        let text = format!("task a\ntask b\n{rows}");
        let open = outcome(&text, &[]).open;
        assert_eq!(open.len(), 1, "{kind}");
        assert_eq!((open[0].id.as_str(), open[0].kind), ("owner:w", ConflictKind::Owner), "{kind}");
        let told: Vec<_> = open[0].claims.iter().map(|claim| (&*claim.choice, &*claim.task_title)).collect();
        assert_eq!(told, [("x", "Title of a"), ("y", "Title of b")], "{kind}");
        becomes_with(&text, &["owner:w=x"], &[W]);
        becomes_with(&text, &["owner:w=y"], &["own b/r/ w /at/w on/w"]);
    }
    let flat = "task a\ntask b\nenv e a w\nenv f b w @9";
    becomes(flat, &["ask owner:w e f"]);
    becomes_with(flat, &["owner:w=f"], &["own b/r/ w /at/w on/w"]);
}

#[test]
fn an_answer_frees_the_slot_of_the_one_that_lost() {
    let text =
        "task a\ntask b\nsession s a RUNNING\nrow x s w @9\nrow y s v @1\nsession t b RUNNING\nrow z t w @9";
    becomes_with(text, &["owner:w=z"], &["own a/r/ v /at/v on/v", "own b/r/ w /at/w on/w"]);
}

#[test]
fn an_answer_can_raise_the_next_question() {
    let text = "task a\ntask b\ntask c\nsession s a RUNNING\nrow x s w @9\nrow y s v @1\n\
                session t b RUNNING\nrow z t w @9\nsession u c RUNNING\nrow q u v @9";
    becomes_with(text, &["owner:w=x"], &[W, "own c/r/ v /at/v on/v"]);
    becomes_with(text, &["owner:w=z"], &["ask owner:v q y"]);
    becomes_with(text, &["owner:w=z", "owner:v=q"], &["own b/r/ w /at/w on/w", "own c/r/ v /at/v on/v"]);
}

#[test]
fn an_answer_means_the_claim_of_its_rank_also_where_ids_repeat() {
    // A row of a session has the id of the environment that is chosen, and the other way round.
    let text = "task a\ntask b\nenv e a w\nenv f b w\nsession s b RUNNING\nrow e s v slug=x";
    becomes_with(text, &["owner:w=e"], &[W, "own b/r/x v /at/v on/v"]);
    let text =
        "task a\ntask b\nenv x a v\nsession s a RUNNING\nrow x s w slug=b\nsession t b RUNNING\nrow y t w";
    becomes_with(text, &["owner:w=x"], &["own a/r/ v /at/v on/v", "own a/r/b w /at/w on/w"]);
}

#[test]
fn a_deleted_row_claims_nothing_and_beats_nobody() {
    for how in ["deleted", "status=deleted"] {
        let text = format!("task a\nsession s a RUNNING\nrow x s w @1\nrow y s v @9 {how}");
        becomes(&text, &[W, "lost v deleted y"]);
        let text = format!("task a\nenv e a w\nrepo c e v @9 {how}");
        becomes(&text, &[W, "lost v deleted c"]);
        let text = format!("task a\nenv e a -\nrepo c e v @9 {how}\nsession s a IDLE\nrow x s w");
        becomes(&text, &[W, "lost v deleted c"]);
    }
}

#[test]
fn a_worktree_whose_canonical_row_was_deleted_lives_on_with_whoever_uses_it() {
    becomes("task a\nenv e a -\nrepo c e w deleted\nsession s a IDLE\nrow x s w", &[W]);
    becomes("task a\nenv e a w\nrepo c e w deleted", &[W]);
    becomes(
        "task a\ntask b\nenv e a -\nrepo c e w deleted\nsession s b IDLE\nrow x s w",
        &["own b/r/ w /at/w on/w"],
    );
}

#[test]
fn a_deleted_row_stays_where_nobody_takes_its_slot() {
    becomes("task a\nenv e a -\nrepo c e w deleted", &["kept c w"]);
    // Of two environments that become one, the newest of a slot stays.
    let text = "task a\nenv e a -\nenv f a - @1\nrepo c e w deleted @1\nrepo d f v deleted @2";
    becomes(text, &["kept d v", "lost w deleted c"]);
}

#[test]
fn a_preparation_that_failed_stays_unless_a_worktree_takes_its_slot() {
    becomes("task a\nenv e a -\nrepo c e - error=no", &["kept c"]);
    becomes("task a\nenv e a -\nrepo c e - error=no\nsession s a IDLE\nrow x s w", &[W]);
}

#[test]
fn an_active_row_of_a_missing_session_is_asked_about_last() {
    becomes("task a\nrow x gone w", &["ask orphan:x record"]);
    becomes_with("task a\nrow x gone w", &["orphan:x=record"], &["lost w missing_session x"]);
    // It is history when the worktree has an owner, of whatever rank.
    becomes("task a\nsession s a FAILED\nrow y s w\nrow x gone w @9", &[W]);
    becomes("task a\nenv e a w\nrow x gone w @9", &[W]);
    becomes("task a\nenv e a -\nrepo c e w\nrow x gone w @9", &[W]);
    // A row that is deleted is history in any case, and one without a worktree says nothing.
    becomes("task a\nrow x gone w deleted", &["lost w deleted x"]);
    becomes("task a\nrow x gone -", &[]);
    // The owner was found only by the last rank, after an answer.
    let text = "task a\ntask b\nsession s a FAILED\nrow y s w\nsession t b FAILED\nrow z t w\nrow x gone w";
    becomes_with(text, &["owner:w=y"], &[W]);
}

#[test]
fn an_orphan_of_a_worktree_whose_row_was_deleted_is_asked_about() {
    let text = "task a\nenv e a -\nrepo c e w deleted\nrow x gone w";
    becomes(text, &["ask orphan:x record"]);
    becomes_with(text, &["orphan:x=record"], &["kept c w", "lost w missing_session x"]);
}

#[test]
fn a_session_that_uses_the_environment_of_another_task_claims_for_that_task() {
    let lent = "task a\ntask b\nenv e a w\nsession s b RUNNING env=e\n";
    becomes(&format!("{lent}row x s w @9"), &[W]);
    becomes(&format!("{lent}row x s v @9"), &[W, "lost v demoted x"]);
    let without_data = "task a\ntask b\nenv e a -\nsession s b RUNNING env=e\nrow x s w";
    becomes(without_data, &[W]);
    let own_too =
        "task a\ntask b\nenv e a w\nsession s b RUNNING env=e\nrow x s w\nsession t b RUNNING\nrow y t v";
    becomes(own_too, &[W, "own b/r/ v /at/v on/v"]);
    // An environment that nobody has is none: the session works for its own task.
    becomes("task a\nsession s a RUNNING env=gone\nrow x s w", &[W]);
}

#[test]
fn rows_whose_task_or_environment_is_missing_are_recorded_and_block_nobody() {
    let text = "task a\nenv e gone v\nrepo c e u\nrepo d nowhere t\nsession s gone RUNNING\nrow x s z\n\
                session l a RUNNING\nrow y l w";
    becomes(
        text,
        &[
            W,
            "lost v missing_task e",
            "lost u missing_task c",
            "lost t missing_environment d",
            "lost z missing_task x",
        ],
    );
    // What has an owner elsewhere is not lost.
    becomes("task a\nenv e gone w\nsession s a RUNNING\nrow x s w", &[W]);
}

#[test]
fn of_the_environments_of_a_task_the_newest_stays_and_takes_over_the_rest() {
    becomes(
        "task a\nenv old a v @1\nenv new a w @2\nrepo c old u slug=x @1",
        &[W, "own a/r/x u /at/u on/u", "lost v collapsed_environment old"],
    );
    // A row of either beats flat columns, and among rows of both the newest wins.
    becomes("task a\nenv old a -\nenv new a v @2\nrepo c old w @1", &[W, "lost v demoted new"]);
    becomes(
        "task a\nenv old a -\nenv new a - @2\nrepo c old w @9\nrepo d new v @1",
        &[W, "lost v demoted d"],
    );
    // One worktree in the same slot of both is one worktree; what the older row said of it is recorded.
    becomes(
        "task a\nenv old a -\nenv new a - @2\nrepo c old w @1 path=/moved\nrepo d new w @2",
        &[W, "lost w superseded c"],
    );
    becomes("task a\nenv old a -\nenv new a - @2\nrepo c old w @1\nrepo d new w @2", &[W]);
}

#[test]
fn the_data_of_a_worktree_come_from_its_highest_row_and_gaps_are_filled_from_the_next() {
    becomes(
        "task a\nenv e a w path= branch=on/flat\nsession s a RUNNING\nrow x s w branch=on/other",
        &["own a/r/ w /at/w on/flat"],
    );
    becomes(
        "task a\nenv e a w path=/flat\nrepo c e w path= @1\nsession s a RUNNING\nrow x s w path=/live",
        &["own a/r/ w /flat on/w"],
    );
    // A row that lost its own slot has no say, however much it weighs.
    becomes(
        "task a\nenv e a w path=/flat\nrepo c e v\nsession s a RUNNING\nrow x s w slug=t path=/live",
        &["own a/r/ v /at/v on/v", "own a/r/t w /live on/w"],
    );
    // Another task's memory fills nothing.
    becomes("task a\ntask b\nenv e a w path=\nsession s b RUNNING\nrow x s w", &["own a/r/ w  on/w"]);
}

#[test]
fn live_sessions_that_remember_a_worktree_differently_are_asked_about() {
    for other in ["path=/other", "branch=on/other"] {
        let text =
            format!("task a\nsession s a RUNNING\nrow x s w @1\nsession t a IDLE\nrow y t w @2 {other}");
        let open = outcome(&text, &[]).open;
        assert_eq!((open[0].id.as_str(), open[0].kind), ("data:w", ConflictKind::Data), "{other}");
        becomes_with(&text, &["data:w=x"], &[W]);
        let (path, branch) =
            if other.starts_with("path") { ("/other", "on/w") } else { ("/at/w", "on/other") };
        becomes_with(&text, &["data:w=y"], &[&format!("own a/r/ w {path} {branch}")]);
    }
    // A gap is no difference.
    becomes("task a\nsession s a RUNNING\nrow x s w\nsession t a IDLE\nrow y t w path= @9", &[W]);
}

#[test]
fn a_difference_that_a_rule_decides_is_not_asked_about() {
    let rivals = "session s a RUNNING\nrow x s w @1\nsession t a IDLE\nrow y t w @2 path=/other\n";
    becomes(&format!("task a\nenv e a w\n{rivals}"), &[W]);
    becomes(&format!("task a\nenv e a -\nrepo c e w\n{rivals}"), &[W]);
    // A live row beats an ended one; of two ended ones the newest counts, and the other is recorded.
    becomes("task a\nsession s a RUNNING\nrow x s w @1\nsession t a FAILED\nrow y t w @9 path=/other", &[W]);
    becomes(
        "task a\nsession s a FAILED\nrow x s w @9\nsession t a FAILED\nrow y t w @1 path=/other",
        &[W, "lost w superseded y"],
    );
    // Nor is one inside a worktree that lost.
    becomes(
        "task a\nsession q a RUNNING\nrow z q w @9\nsession s a RUNNING\nrow x s v @1\nsession t a IDLE\n\
         row y t v @2 path=/other",
        &[W, "lost v demoted x", "lost v demoted y"],
    );
}

#[test]
fn an_empty_worktree_id_contributes_nothing() {
    becomes("task a\nenv e a - path=/somewhere\nsession s a RUNNING\nrow x s - path=/elsewhere", &[]);
}
