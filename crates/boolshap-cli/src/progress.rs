//! Progress on a terminal: a percentage if the end is known, otherwise the count so far. A percentage never falls, and
//! stays below 100 % until the work is done.

use crate::memory;
use crate::terminal::{STOP, is_quiet, thousands};
use boolshap::lit::{Progress, Watch, duration};
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The least time between two updates of the line.
const PAUSE: Duration = Duration::from_millis(50);
/// The remaining time is estimated from at least this much time of work.
const ENOUGH: Duration = Duration::from_secs(1);
/// The number of steps of the bar.
const PARTS: u64 = 1000;

/// The last report of the last long work.
static LAST: Mutex<Option<Progress>> = Mutex::new(None);

/// Runs work that reports progress, with a bar on a terminal and silently in a pipe.
pub(crate) fn with_progress<T>(what: &'static str, work: impl FnOnce(&Watch<'_>) -> T) -> T {
    with_timeout(what, None, work)
}

/// The same with a time limit.
pub(crate) fn with_timeout<T>(what: &'static str, limit: Option<Duration>, work: impl FnOnce(&Watch<'_>) -> T) -> T {
    let bar = if is_quiet() { ProgressBar::hidden() } else { ProgressBar::new(PARTS) };
    let line = Mutex::new(Line::new(what));
    *last() = None;
    bar.set_style(style(false));
    bar.set_message(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    let report = |progress: Progress| {
        *last() = Some(progress);
        let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shown) = line.next(progress, Instant::now()) {
            bar.set_style(style(shown.share.is_some()));
            bar.set_position(shown.share.unwrap_or(0));
            bar.set_message(shown.name);
            bar.set_prefix(shown.text);
        }
    };
    let watch = Watch::unlimited().stop_flag(&STOP).memory_flag(&memory::IS_FULL).progress(&report);
    let result = work(&limit.map_or(watch, |limit| watch.timeout(limit)));
    bar.finish_and_clear();
    result
}

fn last() -> MutexGuard<'static, Option<Progress>> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How far the last work got, if it reported progress.
pub(crate) fn how_far() -> Option<String> {
    let progress = (*last())?;
    match progress.share() {
        Some(share) => Some(format!("after {:.1} % of the work", 100.0 * share)),
        // A search, or the reader of a pipe, does not know its end.
        None if progress.done > 0.0 => Some(format!("after {} {}", thousands(progress.done as u64), unit(&progress))),
        None => None,
    }
}

fn unit(progress: &Progress) -> &'static str {
    if progress.unit.is_empty() { "steps" } else { progress.unit }
}

fn style(is_known: bool) -> ProgressStyle {
    let template = if is_known { "{msg} {wide_bar} {prefix}" } else { "{msg} {spinner} {prefix}{elapsed}" };
    ProgressStyle::with_template(template).expect("the template is well formed")
}

/// What the line shows now.
struct Line {
    what: &'static str,
    stage: &'static str,
    /// When the stage began, and how much was done at its first report.
    begin: Instant,
    first: f64,
    share: f64,
    changed: Option<Instant>,
}

/// A line to show; the share is in thousandths, if the end is known.
#[derive(Debug, PartialEq)]
struct Shown {
    name: &'static str,
    share: Option<u64>,
    text: String,
}

impl Line {
    fn new(what: &'static str) -> Self {
        Line { what, stage: "", begin: Instant::now(), first: 0.0, share: 0.0, changed: None }
    }

    /// The line after a report, if it is time for another.
    fn next(&mut self, progress: Progress, now: Instant) -> Option<Shown> {
        if progress.stage != self.stage {
            *self = Line { stage: progress.stage, begin: now, first: progress.done, ..Line::new(self.what) };
        }
        if self.changed.is_some_and(|changed| now.duration_since(changed) < PAUSE) {
            return None;
        }
        self.changed = Some(now);
        let elapsed = now.duration_since(self.begin);
        let counted = (!progress.unit.is_empty() || progress.total.is_none())
            .then(|| format!("{} {}", thousands(progress.done as u64), unit(&progress)));
        let rate = || {
            let rate = (progress.done - self.first) / elapsed.as_secs_f64();
            format!("{} {}/s", thousands(rate as u64), unit(&progress))
        };
        let rate = (counted.is_some() && elapsed >= ENOUGH).then(rate);
        let share = progress.share().map(|share| share.max(self.share));
        self.share = share.unwrap_or(0.0);
        let percent = share.map(|share| format!("{}%", ((100.0 * share) as u64).min(99)));
        let left = share.filter(|share| elapsed >= ENOUGH && *share > 0.005).map(|share| {
            let left = elapsed.as_secs_f64() * (1.0 - share) / share;
            format!("{} left", duration(left.round()))
        });
        let texts: Vec<String> = [percent, counted, rate, left].into_iter().flatten().collect();
        let end = if share.is_none() { ", " } else { "" };
        Some(Shown {
            name: if self.stage.is_empty() { self.what } else { self.stage },
            share: share.map(|share| ((share * PARTS as f64) as u64).min(PARTS - 1)),
            text: texts.join(", ") + end,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(stage: &'static str, done: f64, total: Option<f64>, unit: &'static str) -> Progress {
        Progress { stage, done, total, unit }
    }

    #[test]
    fn a_share_never_goes_back_and_is_not_complete_before_the_end() {
        let mut line = Line::new("compiling");
        let begin = line.begin;
        let mut at = |seconds: u64, done: f64, stage| {
            let shown = line.next(progress(stage, done, Some(1.0), ""), begin + Duration::from_secs(seconds)).unwrap();
            (shown.name, shown.share.unwrap(), shown.text)
        };
        assert_eq!(at(0, 0.0, ""), ("compiling", 0, "0%".into()));
        assert_eq!(at(10, 0.5, ""), ("compiling", 500, "50%, 10 s left".into()));
        assert_eq!(at(20, 0.25, "").1, 500);
        assert_eq!(at(30, 1.0, ""), ("compiling", 999, "99%, 0 s left".into()));
        assert_eq!(at(31, 0.1, "proving"), ("proving", 100, "10%".into()));
        // The first moments give no estimate.
        assert_eq!(at(41, 0.2, "proving"), ("proving", 200, "20%, 40 s left".into()));
    }

    #[test]
    fn where_the_end_is_not_known_there_is_no_share() {
        let mut line = Line::new("compiling");
        let begin = line.begin;
        let shown = line.next(progress("", 2_000_000.0, None, "states"), begin + Duration::from_secs(4)).unwrap();
        assert_eq!((shown.share, shown.text.as_str()), (None, "2,000,000 states, 500,000 states/s, "));
        assert_eq!(line.next(progress("", 3e6, None, "states"), begin + Duration::from_millis(4010)), None);
        let rows = line.next(progress("", 50.0, Some(200.0), "rows"), begin + Duration::from_secs(5)).unwrap();
        assert_eq!((rows.share, rows.text.as_str()), (Some(250), "25%, 50 rows, 10 rows/s, 15 s left"));
    }
}
