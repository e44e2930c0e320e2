use super::*;
use crate::http::body::slot::{BodyPiece, QUEUE_BYTES, QUEUE_PIECES, Slot};
use crate::http::body::writer::{LONG_PIECE, SHORT_BODY, SMALL_BUFFER};
use crate::http::guarded::Meter;
use crate::http::sendfile::FilePiece;
use bytes::Bytes;
use http_body_util::BodyExt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;
use std::time::Duration;
use varve_base::{DiskStorage, OpenMode, Storage, StorageFile};

/// Fails a test rather than letting it hang.
const DEADLINE: Duration = Duration::from_secs(60);

async fn collect(receiver: BodyReceiver) -> Result<Bytes, io::Error> {
    let collected = tokio::time::timeout(DEADLINE, receiver.collect());
    Ok(collected.await.unwrap()?.to_bytes())
}

/// Waits for something that other threads bring about.
async fn eventually(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(DEADLINE, wait).await.unwrap();
}

#[tokio::test]
async fn small_writes_and_whole_buffers_keep_their_order() {
    let body = spawn(&Pool::for_tests(2), |mut writer| async move {
        writer.write(b"a").await?;
        writer.send(b"b".to_vec()).await?;
        writer.send(vec![b'-'; SMALL_BUFFER]).await?;
        for _ in 0..STREAM_BUFFER {
            writer.write(b"cc").await?;
        }
        writer.write(b"d").await?;
        Ok::<_, BodyError>(writer.finish())
    });
    let all = collect(body).await.unwrap();
    assert_eq!(all.len(), 3 + SMALL_BUFFER + 2 * STREAM_BUFFER);
    assert!(all.starts_with(b"ab--") && all.ends_with(b"ccd"));
}

#[tokio::test]
async fn buffers_that_are_sent_together_keep_their_order() {
    let big = |letter: u8| vec![letter; SMALL_BUFFER];
    let body = spawn(&Pool::for_tests(2), move |mut writer| async move {
        writer.write(b"a").await?;
        let buffers = [b"b".to_vec(), big(b'c'), big(b'd'), b"e".to_vec()];
        writer.send_all(buffers).await?;
        writer.send_all([b"f".to_vec()]).await?;
        Ok::<_, BodyError>(writer.finish())
    });
    let expected = [b"ab", &big(b'c')[..], &big(b'd'), b"ef"].concat();
    assert!(collect(body).await.unwrap() == expected);
}

#[test]
fn pieces_that_are_put_together_wake_the_connection_once() {
    #[derive(Default)]
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let count = Arc::<Count>::default();
    let waker = Waker::from(Arc::clone(&count));
    let mut context = Context::from_waker(&waker);
    let slot = Slot::default();
    assert!(slot.poll_take(true, &mut context).is_pending());
    let piece = || BodyPiece::Data(Bytes::from_static(b"piece"));
    slot.put_all([piece(), piece(), piece()]).unwrap();
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    for _ in 0..3 {
        let taken = slot.poll_take(true, &mut context);
        assert!(matches!(taken, Poll::Ready(Ok(BodyPiece::Data(_)))));
    }
    assert!(slot.poll_take(true, &mut context).is_pending());
}

#[tokio::test]
async fn a_body_that_fails_or_panics_never_looks_complete() {
    let pool = Pool::for_tests(1);
    let failed = spawn(&pool, |mut writer| async move {
        writer.write(&[0; STREAM_BUFFER]).await.unwrap();
        match writer.buffer().is_empty() {
            true => Err(Failure::internal("the file is damaged")),
            false => Ok(writer.finish()),
        }
    });
    let failed = collect(failed).await.unwrap_err();
    assert_eq!(failed.to_string(), "the file is damaged");
    let died = spawn(&pool, |mut writer| async move {
        writer.write(&[0; STREAM_BUFFER]).await?;
        assert!(writer.buffer().len() == 1, "bug");
        Ok::<_, BodyError>(writer.finish())
    });
    assert!(collect(died).await.is_err());
}

#[tokio::test]
async fn a_piece_is_made_when_it_is_asked_for_and_no_thread_waits_for_that() {
    let (pool, meter) = (Pool::for_tests(2), Meter::new());
    // No client keeps up, so no producer runs ahead.
    meter.given(1);
    let made = Arc::new(AtomicUsize::new(0));
    let mut bodies: Vec<_> = (0..300)
        .map(|_| {
            let made = Arc::clone(&made);
            spawn(&pool, |mut writer| async move {
                for _ in 0..10 {
                    made.fetch_add(1, Ordering::SeqCst);
                    writer.write(&[0; STREAM_BUFFER]).await?;
                }
                Ok::<_, BodyError>(writer.finish())
            })
            .on_connection(None, meter.clone())
        })
        .collect();
    for round in 1..=3 {
        eventually(|| made.load(Ordering::SeqCst) >= 300 * round && pool.busy() == 0).await;
        assert_eq!(
            (made.load(Ordering::SeqCst), pool.queued()),
            (300 * round, 0)
        );
        for body in &mut bodies {
            let piece = body.frame().await.unwrap().unwrap();
            assert_eq!(piece.data_ref().unwrap().len(), STREAM_BUFFER);
        }
        assert_eq!(
            (pool.busy(), pool.queued()),
            (0, 0),
            "no piece was asked for"
        );
        for body in &mut bodies {
            assert!(poll_once(body.frame()).is_none());
        }
    }
    drop(bodies);
    eventually(|| pool.busy() == 0 && Arc::strong_count(&made) == 1).await;
}

/// A body of thirty pieces, and how many of them were begun.
fn counted(pool: &Pool, meter: &Meter) -> (BodyReceiver, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let producing = Arc::clone(&made);
    let body = spawn(pool, |mut writer| async move {
        for _ in 0..30 {
            producing.fetch_add(1, Ordering::SeqCst);
            writer.write(&vec![0; writer.piece()]).await?;
        }
        Ok::<_, BodyError>(writer.finish())
    });
    (body.on_connection(None, meter.clone()), made)
}

async fn next_len(body: &mut BodyReceiver) -> usize {
    let piece = body.frame().await.unwrap().unwrap();
    piece.data_ref().unwrap().len()
}

#[tokio::test]
async fn a_producer_runs_ahead_of_a_client_that_keeps_up_and_waits_for_one_that_does_not() {
    let (pool, meter) = (Pool::for_tests(1), Meter::new());
    let (mut body, made) = counted(&pool, &meter);
    let is_at = |pieces| made.load(Ordering::SeqCst) == pieces && pool.busy() == 0;
    eventually(|| is_at(1)).await;
    assert_eq!(next_len(&mut body).await, STREAM_BUFFER);
    assert_eq!((pool.queued(), is_at(1)), (0, true), "it was not asked yet");
    let slot = Arc::clone(body.slot());
    let is_idle = || pool.busy() == 0 && pool.queued() == 0;
    assert_eq!(next_len(&mut body).await, LONG_PIECE);
    eventually(|| is_idle() && slot.memory() > QUEUE_BYTES / 2).await;
    let queued = slot.pieces();
    assert!(
        queued <= QUEUE_BYTES.div_ceil(LONG_PIECE),
        "{queued} pieces"
    );
    assert!(is_at(2 + queued));
    while slot.memory() > QUEUE_BYTES / 2 + LONG_PIECE {
        assert_eq!(next_len(&mut body).await, LONG_PIECE);
        assert!(is_idle() && is_at(2 + queued), "woken too early");
    }
    assert_eq!(next_len(&mut body).await, LONG_PIECE);
    eventually(|| is_idle() && made.load(Ordering::SeqCst) > 2 + queued).await;
    let most = made.load(Ordering::SeqCst);
    meter.given(1);
    while slot.pieces() > 0 {
        assert_eq!(next_len(&mut body).await, LONG_PIECE);
        assert!(is_idle() && is_at(most), "the client is behind");
    }
    assert_eq!(next_len(&mut body).await, STREAM_BUFFER);
}

#[tokio::test]
async fn files_that_are_queued_are_as_many_as_may_be_open() {
    let (pool, meter) = (Pool::for_tests(1), Meter::new());
    let directory = tempfile::tempdir().unwrap();
    let file = DiskStorage::new(directory.path()).open(Path::new("f"), OpenMode::CreateNew);
    let file: Arc<dyn StorageFile> = file.unwrap();
    file.append(&[7; 100]).unwrap();
    let made = Arc::new(AtomicUsize::new(0));
    let producing = Arc::clone(&made);
    let body = spawn(&pool, |mut writer| async move {
        for piece in (0..100).flat_map(|_| FilePiece::cut(&file, 0, 100)) {
            producing.fetch_add(1, Ordering::SeqCst);
            writer.send_piece(piece).await?;
        }
        Ok::<_, BodyError>(writer.finish())
    });
    let mut body = body.on_connection(None, meter);
    assert_eq!(next_len(&mut body).await, 100);
    assert_eq!(next_len(&mut body).await, 100);
    let slot = Arc::clone(body.slot());
    eventually(|| pool.busy() == 0 && slot.pieces() > QUEUE_PIECES / 2).await;
    let (made, queued) = (made.load(Ordering::SeqCst), slot.pieces());
    assert!(
        queued <= QUEUE_PIECES && made == 2 + queued,
        "{made}, {queued} queued"
    );
    for _ in 2..100 {
        assert_eq!(next_len(&mut body).await, 100);
    }
}

#[tokio::test]
async fn only_so_many_producers_run_ahead() {
    let (pool, meter) = (Pool::for_tests(1), Meter::new());
    let held: Vec<_> = std::iter::from_fn(|| pool.kept_buffer()).collect();
    assert!(!held.is_empty());
    let (mut body, _) = counted(&pool, &meter);
    for _ in 0..10 {
        assert_eq!(next_len(&mut body).await, STREAM_BUFFER);
    }
}

#[test]
fn a_short_body_is_one_buffer_or_would_block() {
    let body = short(|mut writer| async move {
        writer.write(b"short").await?;
        Ok::<_, BodyError>(writer.finish())
    });
    assert_eq!(body, Some(Ok(b"short".to_vec())));
    let long = short(|mut writer| async move {
        writer.write(&[7; SHORT_BODY]).await?;
        Ok(writer.finish())
    });
    assert_eq!(long, Some(Err(BodyError::WouldBlock)));
    let waits = short(|writer| async move {
        std::future::pending::<()>().await;
        Ok::<_, BodyError>(writer.finish())
    });
    assert_eq!(waits, None);
}

#[tokio::test]
async fn a_producer_that_has_nothing_to_write_sees_that_its_client_has_gone() {
    let pool = Pool::for_tests(1);
    let pauses = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&pauses);
    let body = spawn(&pool, |mut writer| async move {
        let error: BodyError = loop {
            counted.fetch_add(1, Ordering::SeqCst);
            if let Err(error) = writer.pause().await {
                break error;
            }
        };
        Err(error)
    });
    eventually(|| pauses.load(Ordering::SeqCst) > 2).await;
    assert_eq!(pool.call(|| 7).await, Ok(7), "it lets others run");
    drop(body);
    eventually(|| pool.busy() == 0 && Arc::strong_count(&pauses) == 1).await;
}

#[tokio::test]
async fn a_feed_ends_when_its_task_returns() {
    let feed = spawn_feed(|sender| async move { sender.send(b"one\n".to_vec()).await });
    assert_eq!(collect(feed).await.unwrap(), "one\n");
    let cut = spawn_feed(|sender| async move {
        sender.send(b"one\n".to_vec()).await?;
        Err(BodyClosed)
    });
    assert!(collect(cut).await.is_err());
    let (told, heard) = tokio::sync::oneshot::channel();
    let gone = spawn_feed(|sender| async move {
        sender.closed().await;
        let _ = told.send(());
        Err(BodyClosed)
    });
    drop(gone);
    tokio::time::timeout(DEADLINE, heard)
        .await
        .unwrap()
        .unwrap();
}

/// A body of so many items of a KiB, of which each counts that it was made.
fn begun(items: usize) -> (BegunBody, Arc<AtomicUsize>) {
    let made = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&made);
    let body = begin(&Pool::for_tests(1), move |mut writer| async move {
        for _ in 0..items {
            count.fetch_add(1, Ordering::Relaxed);
            writer.write(&[b'x'; 1024]).await?;
        }
        Ok::<_, BodyError>(writer.finish())
    });
    (body.unwrap(), made)
}

#[tokio::test]
async fn nothing_of_a_body_that_turns_out_long_is_made_twice() {
    let (body, made) = begun(100);
    let is_whole = matches!(&body, BegunBody::Short(bytes) if bytes.len() == 100 << 10);
    assert!(is_whole && made.load(Ordering::Relaxed) == 100);
    let (body, made) = begun(1000);
    let BegunBody::Long(receiver) = body else {
        panic!("it is longer than a piece");
    };
    assert_eq!(collect(receiver).await.unwrap().len(), 1000 << 10);
    assert_eq!(made.load(Ordering::Relaxed), 1000);
}

#[tokio::test]
async fn a_body_that_fails_before_its_first_piece_is_no_body() {
    let fail = |mut writer: BodyWriter| async move {
        writer.write(b"begun").await?;
        Err::<FinishedBody, _>(BodyError::WouldBlock)
    };
    let failed = begin(&Pool::for_tests(1), fail);
    assert!(matches!(failed, Err(BodyError::WouldBlock)));
}
