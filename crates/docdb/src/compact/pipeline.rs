//! Work on several threads whose results come out in the order of its input.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Message from thread to thread.
enum Step<T, E> {
    Item(T),
    /// Everything ends here.
    Failed(E),
    /// There is no more.
    End,
}

impl<T, E> Step<T, E> {
    fn is_last(&self) -> bool {
        !matches!(self, Step::Item(_))
    }
}

/// Takes the items of `source` through workers, each made on a thread of its own, to `take`, which runs on the calling
/// thread. Few items are under way at any time.
pub(crate) fn in_order<I, O, E, W>(
    threads: usize,
    source: impl FnMut() -> Result<Option<I>, E> + Send,
    worker: impl Fn() -> Result<W, E> + Sync,
    mut take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E>
where
    I: Send,
    O: Send,
    E: Send,
    W: FnMut(I) -> Result<O, E>,
{
    std::thread::scope(|scope| {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for _ in 0..threads.max(1) {
            let (to_worker, input) = sync_channel(1);
            let (output, from_worker) = sync_channel(1);
            inputs.push(to_worker);
            outputs.push(from_worker);
            let worker = &worker;
            scope.spawn(move || work(worker, &input, &output));
        }
        scope.spawn(move || feed(source, &inputs));
        for output in outputs.iter().cycle() {
            match output.recv() {
                Ok(Step::Item(item)) => take(item)?,
                Ok(Step::Failed(error)) => return Err(error),
                // Without a last step a thread has panicked, and then the scope does so too.
                Ok(Step::End) | Err(_) => return Ok(()),
            }
        }
        Ok(())
    })
}

/// Hands out items in turn, until there are no more or the receiver is gone.
fn feed<I, E>(mut source: impl FnMut() -> Result<Option<I>, E>, inputs: &[SyncSender<Step<I, E>>]) {
    for input in inputs.iter().cycle() {
        let step = match source() {
            Ok(Some(item)) => Step::Item(item),
            Ok(None) => Step::End,
            Err(error) => Step::Failed(error),
        };
        let is_last = step.is_last();
        if input.send(step).is_err() || is_last {
            return;
        }
    }
}

fn work<I, O, E, W>(
    worker: &impl Fn() -> Result<W, E>,
    input: &Receiver<Step<I, E>>,
    output: &SyncSender<Step<O, E>>,
) where
    W: FnMut(I) -> Result<O, E>,
{
    let mut made = worker();
    for step in input {
        let step = match (step, &mut made) {
            (Step::Item(item), Ok(worker)) => match worker(item) {
                Ok(done) => Step::Item(done),
                Err(error) => Step::Failed(error),
            },
            (Step::Item(_), Err(_)) => match std::mem::replace(&mut made, worker()) {
                Err(error) => Step::Failed(error),
                Ok(_) => Step::End,
            },
            (Step::Failed(error), _) => Step::Failed(error),
            (Step::End, _) => Step::End,
        };
        let is_last = step.is_last();
        if output.send(step).is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(threads: usize, count: u32, fails_at: Option<u32>) -> (Vec<u32>, Result<(), u32>) {
        let mut numbers = 0..count;
        let mut taken = Vec::new();
        let result = in_order(
            threads,
            move || Ok(numbers.next()),
            || {
                Ok(|number: u32| {
                    // The later ones are the quicker ones.
                    std::thread::sleep(std::time::Duration::from_micros(u64::from(200 - number)));
                    match fails_at == Some(number) {
                        true => Err(number),
                        false => Ok(number),
                    }
                })
            },
            |number| {
                taken.push(number);
                Ok(())
            },
        );
        (taken, result)
    }

    #[test]
    fn results_come_in_order_and_an_error_ends_them() {
        for threads in [1, 2, 5] {
            let all: Vec<_> = (0..200).collect();
            assert_eq!(run(threads, 200, None), (all, Ok(())));
            let before: Vec<_> = (0..70).collect();
            assert_eq!(run(threads, 200, Some(70)), (before, Err(70)));
            assert_eq!(run(threads, 0, None), (Vec::new(), Ok(())));
        }
    }

    #[test]
    fn a_taker_that_stops_ends_all_threads() {
        let mut numbers = 0..;
        let result = in_order(
            3,
            move || Ok(numbers.next()),
            || Ok(Ok::<u32, u32>),
            |number| if number == 20 { Err(number) } else { Ok(()) },
        );
        assert_eq!(result, Err(20));
    }
}
