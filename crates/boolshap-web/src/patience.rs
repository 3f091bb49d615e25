//! How long a peer may keep the server waiting: a fixed time, extended with every byte that moves.

use crate::connections::Place;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// How long a peer may make no progress.
const STILL: Duration = Duration::from_secs(10);
/// The bytes that earn a peer one more second: a slower peer is eventually given up.
const BYTES_A_SECOND: usize = 16 << 10;

/// The time that a peer has left, and the most that it may have.
pub(crate) struct Patience {
    left: Duration,
    most: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience::of(STILL)
    }
}

impl Patience {
    /// With another time limit than usual.
    pub(crate) fn of(most: Duration) -> Self {
        Patience { left: most, most }
    }

    /// How long the peer may pause from now on.
    pub(crate) fn left(&self) -> Duration {
        self.left
    }

    /// Records that after this time, this many bytes moved.
    pub(crate) fn moved(&mut self, after: Duration, bytes: usize) {
        let earned = Duration::from_secs_f64(bytes as f64 / BYTES_A_SECOND as f64);
        self.left = (self.left.saturating_sub(after) + earned).min(self.most);
    }
}

/// A connection on which writing fails if the peer does not read.
pub(crate) struct PatientStream {
    stream: TcpStream,
    patience: Patience,
    place: Arc<Place>,
    /// Since when the peer has not read, and its deadline.
    blocked: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl PatientStream {
    pub(crate) fn new(stream: TcpStream, place: Arc<Place>) -> Self {
        PatientStream { stream, patience: Patience::default(), place, blocked: None }
    }

    fn write(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match write(Pin::new(&mut self.stream), cx) {
            Poll::Ready(written) => {
                if let Some((since, _)) = self.blocked.take() {
                    self.patience.moved(since.elapsed(), *written.as_ref().unwrap_or(&0));
                }
                Poll::Ready(written)
            }
            Poll::Pending => {
                let until = || (Instant::now(), Box::pin(tokio::time::sleep(self.patience.left())));
                let (_, until) = self.blocked.get_or_insert_with(until);
                until.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl Drop for PatientStream {
    fn drop(&mut self) {
        if self.blocked.is_some() {
            // Otherwise the system would keep unread data for minutes.
            let _ = socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        }
    }
}

impl AsyncRead for PatientStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if read.is_pending() {
            self.place.nothing_came();
        }
        read
    }
}

impl AsyncWrite for PatientStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.write(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |stream, cx| stream.poll_write_vectored(cx, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_a_second_is_not_enough() {
        let mut patience = Patience::default();
        (0..9).for_each(|_| patience.moved(Duration::from_secs(1), 1));
        assert!(patience.left() < Duration::from_millis(1100));
        patience.moved(Duration::from_secs(20), 0);
        assert_eq!(patience.left(), Duration::ZERO);
        let mut patience = Patience::default();
        (0..1000).for_each(|_| patience.moved(Duration::from_secs(1), BYTES_A_SECOND));
        assert_eq!(patience.left(), STILL);
    }
}
