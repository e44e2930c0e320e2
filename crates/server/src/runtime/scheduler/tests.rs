use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Fails a test rather than letting it hang.
const DEADLINE: Duration = Duration::from_secs(60);

fn scheduler() -> Scheduler {
    Scheduler::new(RequestCounter::default())
}

/// A job that reports its start, and then waits until it is released or interrupted.
struct Gate {
    started: mpsc::Receiver<()>,
    release: mpsc::Sender<()>,
}

fn gated(scheduler: &Scheduler, kind: JobKind, key: &str) -> (Submission, Gate) {
    let (start, started) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let job = Job::new(kind, key, move |stop| {
        let _ = start.send(());
        while !stop.is_raised() {
            let waited = released.recv_timeout(Duration::from_millis(1));
            if waited != Err(mpsc::RecvTimeoutError::Timeout) {
                return;
            }
        }
    });
    (scheduler.submit(job), Gate { started, release })
}

impl Gate {
    fn wait_until_started(&self) {
        self.started.recv_timeout(DEADLINE).unwrap();
    }

    fn has_started(&self) -> bool {
        self.started.try_recv().is_ok()
    }
}

#[tokio::test]
async fn a_queued_job_is_replaced_by_one_with_its_key_and_others_stay_in_order() {
    let scheduler = scheduler();
    let (_, first) = gated(&scheduler, JobKind::Compaction, "first");
    first.wait_until_started();
    let (sender, order) = mpsc::channel();
    for (key, word) in [("a", "a1"), ("b", "b1"), ("a", "a2")] {
        let sender = sender.clone();
        let job = Job::new(JobKind::Compaction, key, move |_| {
            sender.send(word).unwrap();
        });
        assert_eq!(scheduler.submit(job), Submission::Queued);
    }
    drop(sender);
    assert!(scheduler.has(JobKind::Compaction, "a") && !scheduler.has(JobKind::AutoIndex, "a"));
    drop(first.release);
    assert!(scheduler.wait_until_idle(DEADLINE).await);
    assert_eq!(order.iter().collect::<Vec<_>>(), ["a2", "b1"]);
    assert!(!scheduler.has(JobKind::Compaction, "a"));
}

#[tokio::test]
async fn a_key_that_runs_is_queued_again_only_where_its_kind_says_so() {
    let scheduler = scheduler();
    for (kind, submission) in [
        (JobKind::Compaction, Submission::Runs),
        (JobKind::CloneBundle, Submission::Queued),
        (JobKind::IndexBuild, Submission::Queued),
    ] {
        let (_, first) = gated(&scheduler, kind, "key");
        first.wait_until_started();
        let (again, second) = gated(&scheduler, kind, "key");
        assert_eq!(again, submission, "{kind:?}");
        // A kind with several workers runs another key meanwhile, but not this one twice.
        if kind == JobKind::IndexBuild {
            let (_, other) = gated(&scheduler, kind, "other");
            other.wait_until_started();
        }
        assert!(!second.has_started());
        first.release.send(()).unwrap();
        // The second job is gone if its key was not queued again.
        let _ = second.release.send(());
        assert!(scheduler.wait_until_idle(DEADLINE).await);
        assert_eq!(second.has_started(), submission == Submission::Queued);
    }
}

#[tokio::test]
async fn a_kind_never_has_more_workers_than_it_may() {
    let scheduler = scheduler();
    scheduler.set_workers(JobKind::AutoIndex, 3);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let barrier = Arc::new(std::sync::Barrier::new(3));
    for number in 0..60 {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        let barrier = Arc::clone(&barrier);
        let job = Job::new(JobKind::AutoIndex, number.to_string(), move |_| {
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            // All three workers are in use at one time, or the first jobs never end.
            barrier.wait();
            running.fetch_sub(1, Ordering::SeqCst);
        });
        assert_eq!(scheduler.submit(job), Submission::Queued);
    }
    assert!(scheduler.wait_until_idle(DEADLINE).await);
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn kinds_do_not_wait_for_each_other() {
    let scheduler = scheduler();
    let gates = JobKind::ALL.map(|kind| gated(&scheduler, kind, "key").1);
    gates.iter().for_each(Gate::wait_until_started);
    assert_eq!(*scheduler.0.workers.borrow(), JobKind::ALL.len());
    drop(gates);
    assert!(scheduler.wait_until_idle(DEADLINE).await);
}

#[tokio::test]
async fn a_panic_fails_its_job_and_the_next_one_runs() {
    let scheduler = scheduler();
    let died = scheduler.run(JobKind::Compaction, "a", |_| -> u8 { panic!("bug") });
    assert_eq!(died.await, None);
    let done = scheduler.run(JobKind::Compaction, "b", |_| 7).await;
    assert_eq!(done, Some(7));
    assert!(scheduler.wait_until_idle(DEADLINE).await);
}

#[tokio::test]
async fn stopping_interrupts_background_work_first_and_builds_for_requests_last() {
    let scheduler = scheduler();
    let (_, build) = gated(&scheduler, JobKind::IndexBuild, "build");
    let (_, compaction) = gated(&scheduler, JobKind::Compaction, "compaction");
    build.wait_until_started();
    compaction.wait_until_started();
    let (_, queued) = gated(&scheduler, JobKind::Compaction, "queued");
    scheduler.stop_background();
    // The interrupted job ends by itself, and its worker takes nothing more.
    let mut workers = scheduler.0.workers.subscribe();
    let one_left = workers.wait_for(|workers| *workers == 1);
    tokio::time::timeout(DEADLINE, one_left)
        .await
        .unwrap()
        .unwrap();
    assert!(!queued.has_started());
    let (late, _) = gated(&scheduler, JobKind::AutoIndex, "late");
    assert_eq!(late, Submission::Refused);
    let (other, _gate) = gated(&scheduler, JobKind::IndexBuild, "other");
    assert_eq!(other, Submission::Queued);
    scheduler.stop();
    assert!(scheduler.wait_until_idle(DEADLINE).await);
    // The phase never goes back.
    scheduler.stop_background();
    let (late, _) = gated(&scheduler, JobKind::IndexBuild, "late");
    assert_eq!(late, Submission::Refused);
    let refused = scheduler.run(JobKind::IndexBuild, "late", |_| 1).await;
    assert_eq!(refused, None);
}

#[tokio::test]
async fn waiting_for_the_end_has_a_limit() {
    let scheduler = scheduler();
    let (sender, held) = mpsc::channel::<()>();
    let (start, started) = mpsc::channel();
    let deaf = Job::new(JobKind::Compaction, "deaf", move |_| {
        start.send(()).unwrap();
        let _ = held.recv();
    });
    scheduler.submit(deaf);
    started.recv_timeout(DEADLINE).unwrap();
    scheduler.stop();
    assert!(!scheduler.wait_until_idle(Duration::from_millis(1)).await);
    drop(sender);
}

/// Submits another job when it is dropped, as a builder may that fails its waiters.
struct SubmitsWhenDropped(Scheduler);

impl Drop for SubmitsWhenDropped {
    fn drop(&mut self) {
        self.0
            .submit(Job::new(JobKind::CloneBundle, "dropped", |_| {}));
    }
}

#[tokio::test]
async fn a_job_that_is_dropped_may_submit_another() {
    let scheduler = scheduler();
    let (_, first) = gated(&scheduler, JobKind::Compaction, "first");
    first.wait_until_started();
    let submits = || {
        let held = SubmitsWhenDropped(scheduler.clone());
        Job::new(JobKind::Compaction, "key", move |_| drop(held))
    };
    scheduler.submit(submits());
    scheduler.submit(submits());
    scheduler.stop();
    scheduler.submit(submits());
    drop(first.release);
    assert!(scheduler.wait_until_idle(DEADLINE).await);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn low_priority_belongs_to_the_kind_and_to_the_thread_that_asks_for_it() {
    fn niceness() -> i32 {
        rustix::process::getpriority_process(None).unwrap()
    }
    let scheduler = scheduler();
    let before = niceness();
    let bundles = scheduler.run(JobKind::CloneBundle, "a", |_| niceness());
    assert_eq!(bundles.await, Some(19));
    let compaction = scheduler.run(JobKind::Compaction, "a", |_| {
        (
            niceness(),
            with_low_priority("copying", niceness),
            niceness(),
        )
    });
    let copying = Some(LOW_PRIORITY.max(before));
    assert_eq!(compaction.await, Some((before, copying, before)));
    assert_eq!(
        with_low_priority("copying", || -> u8 { panic!("bug") }),
        None
    );
}
