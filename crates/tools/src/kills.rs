//! Kills process trees on a thread of its own, because finding their processes takes a look at every process of the
//! machine. Trees that are to be killed while a search runs wait for it, and then share the next one.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::command_logs;
use crate::orphans;
use crate::process_tree::{self, ProcessTree};
use crate::watch;

/// The trees that wait, and whether there is a thread that will take them.
#[derive(Default)]
struct Queue {
    waiting: Vec<Kill>,
    is_served: bool,
}

struct Kill {
    tree: ProcessTree,
    /// Dropped when the tree is dead.
    _done: oneshot::Sender<()>,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { waiting: Vec::new(), is_served: false });

/// Notified when the queue is no longer served.
static SERVED: Condvar = Condvar::new();

/// Kills a tree soon. The receiver ends when it is dead.
pub(crate) fn request(tree: ProcessTree) -> oneshot::Receiver<()> {
    let (done, receiver) = oneshot::channel();
    orphans::forget(tree.mark);
    process_tree::stop_group(&tree);
    let mut queue = lock();
    queue.waiting.push(Kill { tree, _done: done });
    if !queue.is_served {
        queue.is_served = true;
        drop(queue);
        let thread = std::thread::Builder::new().name("kills".to_owned());
        // Without a thread it happens here: late is better than never.
        if thread.spawn(serve).is_err() {
            serve();
        }
    }
    receiver
}

/// Ends everything that has to do with commands, when the process ends: waits, up to a limit, until what is to be killed is
/// dead and the process that watches this one has ended, and removes the logs that nobody needs any longer.
pub fn finish_commands(limit: Duration) {
    let deadline = Instant::now() + limit;
    if let Some(rest) = orphans::close() {
        drop(request(rest));
    }
    let mut queue = lock();
    while queue.is_served
        && let Some(left) = deadline.checked_duration_since(Instant::now())
    {
        queue = SERVED.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    drop(queue);
    watch::dismiss(deadline);
    orphans::reap();
    command_logs::remove_ending();
}

/// Kills what is in the queue until it is empty.
fn serve() {
    loop {
        let mut queue = lock();
        if queue.waiting.is_empty() {
            queue.is_served = false;
            SERVED.notify_all();
            return;
        }
        let kills = std::mem::take(&mut queue.waiting);
        drop(queue);
        let trees: Vec<_> = kills.iter().map(|kill| kill.tree).collect();
        process_tree::kill(&trees);
        for tree in &trees {
            watch::end(tree.mark);
        }
    }
}

fn lock() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}
