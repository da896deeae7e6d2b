//! The list of cases, and how one is run.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::fixture::Fixture;
use super::world::World;

/// Hands the list of cases to another macro. One list serves the tests and the
/// table below, so that a case that is missing here is dead code.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_case {
    ($then:ident $args:tt) => {
        $crate::$then! { $args
            sessions {
                an_opened_session_is_found_by_id_and_by_name,
                an_unknown_session_is_none,
                a_session_name_is_unique_in_its_space,
                a_session_id_is_used_once,
                s6_4_a_sweep_is_part_of_the_session_record,
                a_session_changes_only_from_the_record_it_was_decided_on,
                sessions_are_listed_oldest_first_and_once,
                one_worker_at_a_time_claims_a_store_for_one,
            }
            removal {
                a_session_with_live_tasks_is_not_removed,
                a_session_that_is_being_removed_takes_nothing_new,
                only_a_session_that_is_being_removed_is_removed,
                nothing_of_a_removed_session_is_left_and_nothing_of_another_is_missing,
                nobody_writes_to_a_session_that_is_gone,
                a_removal_goes_in_bounded_steps,
                a_removal_that_was_interrupted_goes_on,
                the_name_of_a_session_is_free_once_it_is_gone_and_not_before,
                a_removed_session_takes_its_count_along,
                sessions_opened_after_a_removal_share_nothing,
                who_follows_a_log_hears_that_its_session_is_gone,
                of_a_spawn_and_a_removal_at_once_one_is_refused,
                unread_rows_are_counted_up_to_a_limit,
            }
            spawn {
                s2_4_a_spawned_task_is_there_when_the_commit_answers,
                a_task_that_starts_at_once_is_one_event,
                s1_1_a_task_id_is_used_once,
                a_spawn_needs_its_session,
                a_spawn_needs_its_parent,
                s2_9_a_task_that_has_ended_spawns_nothing,
                s2_9_a_task_that_has_returned_spawns_nothing,
                s6_3_a_spawn_under_a_cancelled_task_is_refused,
                s6_3_a_spawn_anywhere_below_a_cancelled_task_is_refused,
                s6_3_a_spawn_into_a_session_that_is_being_cancelled_is_refused,
                s6_5_a_sweep_of_some_tasks_leaves_the_session_open,
                s2_9_a_detached_task_belongs_to_its_session,
                preconditions_are_judged_against_the_state_before_the_batch,
            }
            names {
                s1_4_a_name_is_unique_among_the_live_tasks_of_one_owner,
                s1_3_names_are_compared_by_their_folded_form,
                s1_4_a_name_is_free_once_its_task_has_ended,
                s1_4_the_same_name_under_another_owner_is_fine,
                s1_7_a_name_finds_the_live_task_else_the_one_that_ended_last,
                a_name_nobody_has_finds_nobody,
            }
            namesakes {
                s10_1_a_list_by_name_reaches_as_far_as_it_is_asked_to,
                s1_2_a_counted_name_is_found_in_every_session,
                s1_7_of_each_owner_the_last_is_meant,
                s1_7_when_the_last_is_deleted_the_one_before_is_meant,
                s10_1_a_namesake_that_stays_is_listed_once_while_others_come_and_go,
                s10_1_lists_by_name_are_right_after_anything,
                a_name_that_nobody_has_is_nobodys_anywhere,
            }
            keys {
                s9_4_a_key_finds_its_task_alive_and_ended,
                s9_4_a_key_makes_one_task_even_after_it_ended,
                s9_4_a_used_key_is_told_before_any_other_refusal,
                s9_4_the_same_key_under_another_owner_is_another_task,
            }
            caps {
                s8_1_the_depth_cap_refuses,
                s8_1_the_live_cap_refuses_at_every_level,
                s8_1_the_total_cap_refuses_at_every_level,
                s8_1_the_queued_cap_refuses_what_would_queue,
                s8_1_an_end_gives_back_the_live_place_but_not_the_total,
            }
            transitions {
                s2_1_every_state_is_read_back_as_it_was_decided,
                s2_6_every_end_is_read_back_with_its_outcome,
                s1_6_a_spec_is_read_back_whole,
                s2_2_a_record_changes_only_from_the_one_it_was_decided_on,
                a_record_that_was_never_spawned_cannot_change,
                several_records_change_in_one_commit,
                s9_5_of_two_decisions_on_one_record_one_is_refused,
            }
            fence {
                s9_1_the_holder_of_the_lease_writes,
                s9_1_a_stale_epoch_is_refused,
                s9_1_a_lease_is_over_when_nobody_holds_it,
                s9_1_a_body_that_returned_has_no_lease,
                a_fence_needs_its_task,
                s9_1_a_fence_guards_writes_on_others_too,
            }
            guards {
                s2_9_childless_means_no_live_task_is_owned,
                s2_9_a_queued_child_is_a_live_one,
                s2_9_a_detached_child_does_not_count,
                s2_9_grandchildren_do_not_count,
                s2_9_only_child_means_this_one_and_no_other,
                s2_9_an_owner_that_has_not_returned_stays,
                s2_9_a_returned_owner_stays_for_its_other_children_only,
                s2_9_an_owner_ends_with_its_last_child_in_one_commit,
            }
            inbox {
                s4_1_result_state_and_row_are_one_commit,
                s4_1_a_refused_settle_delivers_nothing,
                s3_5_rows_come_in_completion_order,
                s3_5_an_inbox_holds_only_its_owners_rows,
                an_inbox_is_read_in_parts,
                s3_4_reading_changes_nothing,
                s5_5_a_question_is_a_row_of_the_owner,
                s5_2_a_task_is_spawned_with_its_first_message,
                s4_1_a_task_that_never_started_is_told_of_too,
            }
            acks {
                s4_2_rows_enter_the_history_and_leave_the_inbox_in_one_commit,
                s4_2_an_acknowledgement_that_fails_leaves_the_rows_pending,
                s3_4_a_lenient_acknowledgement_may_be_repeated,
                s3_4_an_acknowledged_result_stays_readable_by_id,
                s3_5_nobody_acknowledges_rows_of_another,
                a_row_is_known_by_its_number_and_its_id,
                rows_are_acknowledged_in_any_order,
                s4_7_a_tasks_acknowledgement_is_told_of_the_task,
            }
            heirs {
                s2_9_unread_results_move_to_the_heir_in_completion_order,
                s2_9_a_moved_row_is_acknowledged_by_its_heir_only,
                s2_9_rows_move_up_through_every_generation,
                s2_9_an_unread_question_moves_to_the_heir,
                s5_1_unread_messages_return_to_their_senders,
                s5_1_a_consumed_message_does_not_return,
                s2_9_a_message_whose_sender_has_ended_moves_to_the_heir,
                s2_9_a_message_passes_owners_that_end_in_the_same_commit,
                s2_9_a_row_that_went_straight_to_the_heir_is_found_there,
                s8_5_an_inherited_message_takes_no_room_and_uses_no_key,
                s5_1_a_message_to_oneself_is_not_left_in_a_closed_inbox,
                an_empty_inbox_closes_without_a_trace,
            }
            messages {
                s5_3_a_sent_message_is_in_the_inbox,
                s5_3_a_consumed_message_is_neither_queued_nor_returned,
                s5_3_a_key_sends_one_message_even_after_it_is_read,
                s5_3_a_key_is_its_senders_own,
                s5_3_a_key_that_is_used_for_something_else_is_told_apart,
                s5_3_a_key_to_a_session_holds_until_its_sender_is_deleted,
                s5_3_messages_without_a_key_are_all_sent,
                s5_1_a_message_to_a_session_is_found_by_its_id,
                s5_4_a_message_to_a_session_nobody_opened_is_refused,
                s5_4_a_message_to_nobody_is_refused,
                s5_4_a_message_to_a_task_that_has_ended_is_refused,
                s8_5_a_full_inbox_refuses_messages_until_one_is_read,
                s8_5_results_are_never_refused_and_take_no_room,
                s8_5_a_sessions_inbox_is_bounded_too,
                s5_1_a_queued_task_takes_messages,
            }
            history {
                s10_2_blocks_are_read_back_as_they_were_appended,
                s10_2_a_history_is_read_from_any_position,
                an_owner_without_a_history_has_an_empty_one,
                s3_5_histories_are_apart,
                s5_2_a_successor_starts_with_the_history_of_the_old_task,
                s5_2_an_empty_history_is_adopted_as_one,
            }
            steps {
                s9_6_a_step_begins_and_commits,
                s9_6_a_committed_step_is_final,
                s9_6_steps_are_per_task_and_key,
                s9_6_a_step_of_nothing_is_committed_too,
                s9_6_steps_outlive_the_attempt,
            }
            questions {
                s5_5_questions_are_kept_in_order_with_their_answers,
                s5_5_a_question_has_the_next_number,
                s5_5_a_question_is_closed_once,
            }
            timers {
                s9_1_a_timer_keeps_its_due_time,
                a_timer_replaces_one_of_the_same_key,
                a_timer_ends_once_and_ending_it_again_is_nothing,
            }
            counters {
                s8_2_a_counter_goes_up_and_down,
                s8_2_a_counter_stays_within_its_limit,
                s8_2_a_counter_never_goes_below_zero,
            }
            blobs {
                s8_5_a_blob_is_read_back_as_it_was_put,
                s8_5_every_blob_is_its_own,
                s8_5_a_blob_may_come_before_its_task,
                s8_5_a_large_result_is_a_reference_in_the_record,
                a_blob_nobody_put_is_none,
                s1_5_a_deleted_blob_is_gone_and_no_other,
            }
            events {
                s3_7_the_log_is_the_commits_in_their_order,
                s3_7_the_events_of_a_commit_are_in_the_order_of_its_writes,
                s4_7_events_never_cross_sessions,
                s3_7_a_page_of_the_log_says_where_to_go_on,
                s3_7_a_cursor_into_the_future_has_nothing_yet,
                s3_6_the_bell_rings_after_a_commit,
                s3_7_a_cursor_older_than_the_log_is_told_that_it_expired,
                s3_7_one_sessions_chatter_does_not_expire_anothers_log,
                s3_7_the_log_of_all_goes_on_from_one_oldest_cursor,
            }
            paging {
                s10_1_every_task_is_listed_once_in_either_order,
                s10_1_tasks_of_one_commit_are_listed_in_its_order,
                s10_1_cursors_stand_as_their_tasks_were_spawned_in_either_order,
                s10_1_a_task_that_stays_is_listed_once_while_others_come_and_go,
                s10_1_filters_admit_what_they_say,
                a_list_of_nothing_is_empty,
            }
            counts {
                s8_1_counts_lists_and_inboxes_are_right_after_anything,
                nobody_owns_nothing,
            }
            retention {
                s10_4_a_read_result_is_deleted_after_its_retention,
                s10_4_an_unread_result_is_kept_longer,
                s10_4_a_result_whose_owner_ended_counts_as_read,
                s10_4_age_counts_from_the_end_whenever_it_was_read,
                s10_4_live_tasks_are_never_deleted,
                s10_4_deleting_goes_in_bounded_steps,
                s10_4_nothing_of_a_deleted_task_is_left,
                s9_4_a_key_lives_as_long_as_its_task,
                s8_1_a_deleted_task_still_counts_as_spawned,
                s1_7_a_name_finds_an_older_task_when_the_newer_is_deleted,
            }
            reopen {
                s4_3_everything_acknowledged_is_there_after_a_crash,
                s4_3_everything_acknowledged_is_there_after_a_close,
                s4_3_a_commit_under_way_at_a_crash_is_whole_or_absent,
                s4_3_every_refusal_holds_after_a_crash,
                s3_7_the_log_goes_on_where_it_stood,
                s3_4_a_row_keeps_its_number_and_later_ones_get_higher,
                s10_1_a_page_cursor_survives,
                s8_5_blobs_are_not_numbered_twice,
                s10_4_what_is_deleted_stays_deleted_and_counted,
                a_store_that_was_left_empty_opens_empty,
            }
            atomicity {
                a_batch_with_one_impossible_write_leaves_nothing,
                a_batch_behind_a_guard_that_fails_leaves_nothing,
                a_batch_with_one_of_every_write_is_one_commit,
                an_empty_batch_changes_nothing,
            }
            concurrency {
                s1_4_n_concurrent_spawns_of_one_name_give_one_winner,
                s9_4_n_concurrent_spawns_of_one_key_make_one_task,
                s9_5_two_recoverers_one_winner,
                s9_5_two_workers_start_one_attempt,
                s8_1_concurrent_spawns_never_break_a_cap,
                s5_3_concurrent_sends_of_one_key_queue_one_message,
                s4_2_concurrent_readers_take_a_row_once,
                s8_2_concurrent_counts_never_pass_the_limit,
                one_conflict_does_not_fail_its_neighbours,
                s3_7_a_follower_misses_no_commit_of_many_writers,
                a_read_sees_whole_commits,
                s2_3_no_reader_sees_a_row_without_its_result,
                s1_5_dropping_the_answer_does_not_take_the_commit_back,
            }
            faults {
                s4_3_an_error_before_a_write_leaves_nothing_of_it,
                s4_3_an_error_after_a_write_leaves_all_of_it,
                s4_3_a_lost_reply_leaves_all_of_the_write,
                s4_3_an_answer_that_never_comes_leaves_all_of_the_write,
                s4_3_a_crash_before_a_write_leaves_nothing_of_it,
                s4_3_a_crash_after_a_write_leaves_all_of_it,
                s4_3_any_run_of_faults_comes_to_the_same_end,
                s8_5_a_blob_that_failed_is_put_again,
                a_store_that_crashed_answers_nothing,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __tests {
    (($fixture:expr) $($module:ident { $($case:ident,)* })*) => {$(
        mod $module {
            #[allow(unused_imports)]
            use super::*;

            $(
                #[test]
                fn $case() {
                    $crate::conformance::run(stringify!($module), stringify!($case), || {
                        ::std::sync::Arc::new($fixture)
                    });
                }
            )*
        }
    )*};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __table {
    (() $($module:ident { $($case:ident,)* })*) => {
        &[$($((
            stringify!($module),
            stringify!($case),
            |world| Box::pin(super::$module::$case(world)),
        ),)*)*]
    };
}

/// Turns every case of the suite into a `#[test]`, in a module per noun.
///
/// The expression makes a [`Fixture`](crate::conformance::Fixture) without
/// data; it is evaluated for each store that a case needs.
#[macro_export]
macro_rules! conformance {
    ($fixture:expr) => {
        $crate::__for_each_case! { __tests ($fixture) }
    };
}

type Case = fn(World) -> Pin<Box<dyn Future<Output = ()>>>;

const CASES: &[(&str, &str, Case)] = crate::__for_each_case! { __table () };

/// Runs one case on fixtures that `make` makes, each without data. Panics if it does not hold.
///
/// [`conformance!`](crate::conformance!) calls it; so may a runner of its own.
pub fn run(module: &str, case: &str, make: impl Fn() -> Arc<dyn Fixture> + 'static) {
    let found = CASES.iter().find(|(of, name, _)| *of == module && *name == case);
    let (_, _, run) = found.expect("the case is in the list");
    block_on(async move { run(World::new(Arc::new(make)).await).await });
}

/// Runs a future on this thread.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(future)
}
