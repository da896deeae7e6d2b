//! The list of cases, and the runner of a case.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::fixture::Fixture;
use super::world::StoreWorld;

/// Passes the list of cases to another macro. The list serves the tests and the table
/// below, so a missing case is reported as dead code.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_case {
    ($then:ident $args:tt) => {
        $crate::$then! { $args
            sessions {
                an_opened_session_is_found_by_id_and_by_name,
                a_read_of_an_unknown_session_is_none,
                a_session_name_is_unique_in_its_space,
                a_session_id_is_used_once,
                s6_4_a_sweep_is_part_of_the_session_record,
                a_session_record_replaces_only_its_predecessor,
                sessions_are_listed_oldest_first_and_once,
                an_exclusive_store_refuses_a_second_claim,
            }
            removal {
                a_session_with_live_tasks_is_not_removed,
                a_session_that_is_being_removed_takes_nothing_new,
                a_session_is_deleted_only_after_its_removal_began,
                a_removal_deletes_all_of_one_session_and_nothing_of_another,
                writes_to_a_removed_session_are_refused,
                a_removal_deletes_at_most_the_limit_at_a_time,
                an_interrupted_removal_continues,
                a_session_name_is_free_after_the_removal_and_not_before,
                a_removal_subtracts_the_counts_of_the_session,
                a_session_opened_after_a_removal_starts_empty,
                watchers_of_a_log_are_notified_of_the_removal,
                a_concurrent_spawn_or_removal_is_refused,
                unread_rows_are_counted_up_to_a_limit,
            }
            spawn {
                s2_4_a_spawned_task_is_visible_when_the_commit_is_answered,
                a_spawn_that_starts_at_once_logs_one_event,
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
                a_lookup_of_an_unused_name_is_none,
            }
            namesakes {
                s10_1_a_list_by_name_covers_exactly_its_scope,
                s1_2_a_generated_name_is_found_in_every_session,
                s1_7_a_name_refers_to_the_last_task_of_each_owner,
                s1_7_after_a_deletion_a_name_refers_to_the_task_before,
                s10_1_a_list_by_name_has_a_lasting_task_once_during_changes,
                s10_1_lists_by_name_match_a_model_after_random_changes,
                an_unused_name_is_found_in_no_scope,
            }
            keys {
                s9_4_a_key_finds_its_task_alive_and_ended,
                s9_4_a_key_makes_one_task_even_after_it_ended,
                s9_4_a_used_key_is_reported_before_any_other_refusal,
                s9_4_the_same_key_under_another_owner_is_another_task,
            }
            caps {
                s8_1_the_depth_cap_refuses,
                s8_1_the_live_cap_refuses_at_every_level,
                s8_1_the_total_cap_refuses_at_every_level,
                s8_1_the_queued_cap_refuses_tasks_that_would_queue,
                s8_1_an_end_frees_the_live_cap_but_not_the_total_cap,
            }
            transitions {
                s2_1_every_state_is_read_back_unchanged,
                s2_6_every_end_is_read_back_with_its_outcome,
                s1_6_a_spec_is_read_back_whole,
                s2_2_a_record_replaces_only_its_predecessor,
                a_record_that_was_never_spawned_cannot_change,
                several_records_change_in_one_commit,
                s9_5_of_two_decisions_on_one_record_one_is_refused,
            }
            fence {
                s9_1_the_holder_of_the_lease_writes,
                s9_1_a_stale_epoch_is_refused,
                s9_1_a_released_lease_has_ended,
                s9_1_a_body_that_returned_has_no_lease,
                a_fence_needs_its_task,
                s9_1_a_fence_covers_writes_to_other_tasks,
            }
            guards {
                s2_9_childless_means_without_live_children,
                s2_9_a_queued_child_is_live,
                s2_9_a_detached_child_does_not_count,
                s2_9_grandchildren_do_not_count,
                s2_9_only_child_means_no_other_live_child,
                s2_9_an_owner_that_has_not_returned_stays,
                s2_9_a_returned_owner_stays_for_its_other_children_only,
                s2_9_an_owner_ends_with_its_last_child_in_one_commit,
            }
            inbox {
                s4_1_the_end_and_its_row_are_one_commit,
                s4_1_a_refused_settle_delivers_nothing,
                s3_5_rows_come_in_completion_order,
                s3_5_an_inbox_holds_only_its_owners_rows,
                an_inbox_is_read_in_pages,
                s3_4_reading_changes_nothing,
                s5_5_a_question_is_a_row_of_the_owner,
                s5_2_a_task_is_spawned_with_its_first_message,
                s4_1_the_owner_gets_a_row_for_a_task_that_never_started,
            }
            acks {
                s4_2_rows_enter_the_history_and_leave_the_inbox_in_one_commit,
                s4_2_an_acknowledgement_that_fails_leaves_the_rows_pending,
                s3_4_a_lenient_acknowledgement_may_be_repeated,
                s3_4_an_acknowledged_result_stays_readable_by_id,
                s3_5_rows_of_another_owner_cannot_be_acknowledged,
                a_row_is_identified_by_its_number_and_its_id,
                rows_are_acknowledged_in_any_order,
                s4_7_an_acknowledgement_by_a_task_is_logged_for_the_task,
            }
            recipients {
                s2_9_unread_results_move_to_the_recipient_in_completion_order,
                s2_9_only_the_recipient_can_acknowledge_a_moved_row,
                s2_9_rows_move_up_when_owner_after_owner_ends,
                s2_9_an_unread_question_moves_to_the_recipient,
                s5_1_unread_messages_return_to_their_senders,
                s5_1_a_consumed_message_does_not_return,
                s2_9_a_message_whose_sender_has_ended_moves_to_the_recipient,
                s2_9_a_message_skips_owners_that_end_in_the_same_commit,
                s2_9_a_row_delivered_to_an_ancestor_is_found_there,
                s8_5_an_inherited_message_is_not_counted_and_uses_no_key,
                s5_1_a_message_to_oneself_is_not_left_in_a_closed_inbox,
                an_empty_inbox_closes_without_a_trace,
            }
            messages {
                s5_3_a_sent_message_is_in_the_inbox,
                s5_3_a_consumed_message_is_neither_queued_nor_returned,
                s5_3_a_key_sends_one_message_even_after_it_is_read,
                s5_3_each_sender_has_its_own_keys,
                s5_3_a_key_reused_for_another_message_is_reported,
                s5_3_a_key_in_a_session_inbox_lives_as_long_as_its_sender,
                s5_3_messages_without_a_key_are_all_sent,
                s5_1_a_message_to_a_session_is_found_by_its_id,
                s5_4_a_message_to_an_unknown_session_is_refused,
                s5_4_a_message_to_an_unknown_task_is_refused,
                s5_4_a_message_to_a_task_that_has_ended_is_refused,
                s8_5_a_full_inbox_refuses_messages_until_one_is_read,
                s8_5_results_are_never_refused_and_not_counted,
                s8_5_a_sessions_inbox_is_bounded_too,
                s5_1_a_queued_task_takes_messages,
            }
            history {
                s10_2_blocks_are_read_back_as_they_were_appended,
                s10_2_a_history_is_read_from_any_position,
                an_owner_without_a_history_has_an_empty_one,
                s3_5_each_owner_has_its_own_history,
                s5_2_a_successor_starts_with_the_history_of_the_old_task,
                s5_2_an_empty_history_is_adopted_as_one,
            }
            steps {
                s9_6_a_step_begins_and_commits,
                s9_6_a_committed_step_is_final,
                s9_6_steps_are_per_task_and_key,
                s9_6_a_step_can_commit_an_empty_value,
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
                ending_a_timer_twice_is_no_error,
            }
            counters {
                s8_2_a_counter_goes_up_and_down,
                s8_2_a_counter_stays_within_its_limit,
                s8_2_a_counter_never_goes_below_zero,
            }
            blobs {
                s8_5_a_blob_is_read_back_unchanged,
                s8_5_every_blob_has_its_own_number,
                s8_5_a_blob_may_come_before_its_task,
                s8_5_a_large_result_is_a_reference_in_the_record,
                a_read_of_an_unknown_blob_is_none,
                s1_5_deleting_a_blob_leaves_the_others,
            }
            events {
                s3_7_the_log_has_commit_order,
                s3_7_the_events_of_a_commit_have_the_order_of_its_writes,
                s4_7_events_never_cross_sessions,
                s3_7_a_page_of_the_log_has_the_cursor_to_continue_from,
                s3_7_a_future_cursor_reads_nothing_yet,
                s3_6_watchers_are_notified_after_a_commit,
                s3_7_a_cursor_older_than_the_log_is_expired,
                s3_7_a_busy_session_does_not_expire_the_log_of_another,
                s3_7_the_log_of_all_sessions_has_one_oldest_cursor,
            }
            paging {
                s10_1_every_task_is_listed_once_in_either_order,
                s10_1_tasks_of_one_commit_are_listed_in_its_order,
                s10_1_page_cursors_follow_spawn_order_in_either_order,
                s10_1_a_lasting_task_is_listed_once_during_changes,
                s10_1_every_filter_selects_its_tasks,
                a_list_without_matches_is_empty,
            }
            task_counts {
                s8_1_counts_lists_and_inboxes_match_a_model_after_random_changes,
                an_unknown_owner_has_no_tasks,
            }
            retention {
                s10_4_a_read_result_is_deleted_after_its_retention,
                s10_4_an_unread_result_is_kept_longer,
                s10_4_a_result_whose_owner_ended_counts_as_read,
                s10_4_age_counts_from_the_end_and_not_from_the_read,
                s10_4_live_tasks_are_never_deleted,
                s10_4_expiry_deletes_at_most_the_limit_at_a_time,
                s10_4_a_deletion_removes_all_data_of_the_task,
                s9_4_a_key_lives_as_long_as_its_task,
                s8_1_a_deleted_task_still_counts_as_spawned,
                s1_7_a_name_finds_an_older_task_when_the_newer_is_deleted,
            }
            reopen {
                s4_3_all_answered_commits_survive_a_crash,
                s4_3_all_answered_commits_survive_a_close,
                s4_3_a_pending_commit_is_whole_or_absent_after_a_crash,
                s4_3_every_precondition_holds_after_a_crash,
                s3_7_the_log_continues_after_a_reopen,
                s3_4_a_row_keeps_its_number_and_later_ones_get_higher,
                s10_1_a_page_cursor_survives_a_reopen,
                s8_5_blob_numbers_are_not_reused_after_a_reopen,
                s10_4_deleted_tasks_stay_deleted_and_counted,
                an_empty_store_opens_empty,
            }
            atomicity {
                a_batch_with_one_refused_write_writes_nothing,
                a_batch_with_a_failed_guard_writes_nothing,
                a_batch_with_one_of_every_write_is_one_commit,
                an_empty_batch_changes_nothing,
            }
            concurrency {
                s1_4_of_concurrent_spawns_with_one_name_one_succeeds,
                s9_4_concurrent_spawns_with_one_key_make_one_task,
                s9_5_of_two_concurrent_recoveries_one_succeeds,
                s9_5_of_two_concurrent_starts_one_succeeds,
                s8_1_concurrent_spawns_never_exceed_a_cap,
                s5_3_concurrent_sends_with_one_key_queue_one_message,
                s4_2_concurrent_readers_take_a_row_once,
                s8_2_concurrent_changes_keep_a_counter_within_its_limit,
                a_conflict_does_not_affect_concurrent_commits,
                s3_7_a_watcher_sees_every_commit_of_many_writers,
                a_read_sees_whole_commits,
                s2_3_no_reader_sees_a_row_without_its_result,
                s1_5_dropping_the_future_does_not_undo_the_commit,
            }
            faults {
                s4_3_after_an_error_before_a_write_nothing_is_written,
                s4_3_after_an_error_after_a_write_all_is_written,
                s4_3_after_a_lost_reply_all_is_written,
                s4_3_after_a_missing_reply_all_is_written,
                s4_3_after_a_crash_before_a_write_nothing_is_written,
                s4_3_after_a_crash_after_a_write_all_is_written,
                s4_3_any_sequence_of_faults_leads_to_the_same_end,
                s8_5_a_failed_blob_can_be_stored_again,
                a_crashed_store_answers_every_call_with_an_error,
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

/// Turns every case of the suite into a `#[test]`, with a module for each noun.
///
/// The expression creates a [`Fixture`](crate::conformance::Fixture) without data. It is
/// evaluated for each store that a case needs.
#[macro_export]
macro_rules! conformance {
    ($fixture:expr) => {
        $crate::__for_each_case! { __tests ($fixture) }
    };
}

type CaseFn = fn(StoreWorld) -> Pin<Box<dyn Future<Output = ()>>>;

const CASES: &[(&str, &str, CaseFn)] = crate::__for_each_case! { __table () };

/// Runs one case on fixtures without data that `make` creates. Panics if the case fails.
///
/// [`conformance!`](crate::conformance!) calls it. Custom runners can call it, too.
pub fn run(module: &str, case: &str, make: impl Fn() -> Arc<dyn Fixture> + 'static) {
    let found = CASES.iter().find(|(of, name, _)| *of == module && *name == case);
    let (_, _, run) = found.expect("the case is in the list");
    block_on(async move { run(StoreWorld::new(Arc::new(make)).await).await });
}

/// Runs a future to completion on this thread.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(future)
}
