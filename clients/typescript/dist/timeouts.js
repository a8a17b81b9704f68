/** Waits as long as it takes. */
export const FOREVER = 0;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** For commands that bowline answers at once. */
export const DEFAULT_TIMEOUT = 30 * SECOND;
/** For commands that wait: for a model, a shell command, the end of a run, or files. */
export const TIMEOUTS = {
    // As long as the model or the shell command takes; bowline has limits for these.
    bash: FOREVER,
    compact: FOREVER,
    navigate_tree: FOREVER,
    // As long as the user takes.
    login: FOREVER,
    // A conversation that is full is compacted first, and images are resized.
    prompt: FOREVER,
    steer: 2 * MINUTE,
    follow_up: 2 * MINUTE,
    // A tool that has not stopped after 2 seconds is abandoned, but a run writes its end.
    abort: 2 * MINUTE,
    abort_retry: 2 * MINUTE,
    // They end a run first, and read or copy files.
    new_session: 2 * MINUTE,
    switch_session: 5 * MINUTE,
    fork: 5 * MINUTE,
    clone: 5 * MINUTE,
    list_sessions: 5 * MINUTE,
    delete_session: 5 * MINUTE,
    export_html: 5 * MINUTE,
    get_sandbox: 2 * MINUTE,
    set_sandbox: 2 * MINUTE,
    get_changes: 5 * MINUTE,
    undo: 10 * MINUTE,
    redo: 10 * MINUTE,
    get_pending_changes: 5 * MINUTE,
    accept_changes: 10 * MINUTE,
    discard_changes: 10 * MINUTE,
};
/** The commands that end the work of another one early. Closing a signal sends them. */
export const CANCELLED_BY = {
    bash: "abort_bash",
    compact: "abort",
    navigate_tree: "abort",
    switch_session: "abort",
};
