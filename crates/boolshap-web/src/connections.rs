//! The open connections, at most a fixed number. To make room for a new one, the server closes a connection of the peer
//! that has most of them: the one that has kept the server waiting longest. So slow heads, slow bodies, unread answers
//! and idle connections cannot lock others out. Connections whose requests compute are never closed, nor is any
//! connection before the server has looked at what came, or in the first moments after that.

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Connections that were closed, but whose tasks have not ended yet.
const ENDING: usize = 64;
/// The grace period of each peer in microseconds: without it, while many requests compute, peers that have only just
/// connected would be pushed out. It is short, because later peers wait to be accepted meanwhile.
const GRACE: u64 = 20_000;
/// Instead of a time: the server waits for nothing.
const WORKING: u64 = u64::MAX;
/// Instead of a time: the server has not yet checked whether something came.
const NEW: u64 = u64::MAX - 1;

/// All connections.
pub(crate) struct Connections {
    most: usize,
    start: Instant,
    /// For each place, since when the server waits for its peer, in microseconds.
    since: Box<[AtomicU64]>,
    places: Mutex<Places>,
    /// Wakes the task that waits for a place.
    freed: Notify,
}

struct Places {
    open: Vec<Option<Open>>,
    free: Vec<usize>,
    /// How many connections each peer has.
    of_peer: HashMap<IpAddr, usize>,
}

struct Open {
    peer: IpAddr,
    task: Option<AbortHandle>,
}

/// The place of one connection, given back when dropped.
pub(crate) struct Place {
    connections: Arc<Connections>,
    number: usize,
}

impl Connections {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let all = most.max(1) + ENDING;
        let places =
            Places { open: (0..all).map(|_| None).collect(), free: (0..all).collect(), of_peer: HashMap::new() };
        let since = (0..all).map(|_| AtomicU64::new(WORKING)).collect();
        let (places, freed) = (Mutex::new(places), Notify::new());
        Arc::new(Connections { most: most.max(1), start: Instant::now(), since, places, freed })
    }

    /// A place for a peer, for which another connection may be closed; nothing if none can be closed, or too many
    /// closed ones have not ended yet.
    pub(crate) fn enter(self: &Arc<Self>, peer: IpAddr) -> Option<Place> {
        self.enter_at(peer, self.now())
    }

    /// Waits until a place is given back, or at most this long.
    pub(crate) async fn freed(&self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.freed.notified()).await;
    }

    fn enter_at(self: &Arc<Self>, peer: IpAddr, now: u64) -> Option<Place> {
        let peer = network(peer);
        let mut places = self.places();
        if places.open.len() - places.free.len() >= self.most {
            self.close_one(&mut places, now.saturating_sub(GRACE));
        }
        let number = places.free.pop()?;
        places.open[number] = Some(Open { peer, task: None });
        *places.of_peer.entry(peer).or_default() += 1;
        drop(places);
        let place = Place { connections: self.clone(), number };
        self.since[number].store(NEW, Relaxed);
        Some(place)
    }

    /// Records which task serves a place.
    pub(crate) fn served_by(&self, number: usize, task: AbortHandle) {
        if let Some(open) = &mut self.places().open[number] {
            open.task = Some(task);
        }
    }

    /// Closes one connection whose peer keeps the server waiting, because the system has no room for more.
    pub(crate) fn make_room(&self) {
        self.close_one(&mut self.places(), self.now().saturating_sub(GRACE));
    }

    /// Closes one connection whose peer has kept the server waiting since that time or longer.
    fn close_one(&self, places: &mut Places, until: u64) {
        let Some((&most, _)) = places.of_peer.iter().max_by_key(|(_, count)| **count) else { return };
        let since = |number: usize| self.since[number].load(Relaxed);
        let waiting = places.open.iter().enumerate().filter_map(|(number, open)| {
            let open = open.as_ref().filter(|open| open.task.is_some() && since(number) <= until)?;
            Some((open.peer != most, since(number), number))
        });
        if let Some((_, _, number)) = waiting.min()
            && let Some(task) = places.open[number].as_ref().and_then(|open| open.task.as_ref())
        {
            self.since[number].store(WORKING, Relaxed);
            task.abort();
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(NEW - 1)
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The number of this place.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn now(&self) -> u64 {
        self.connections.now()
    }

    /// Since this time the server waits for the peer: to send a head or a body, or to read an answer.
    pub(crate) fn waits(&self, since: u64) {
        self.connections.since[self.number].store(since, Relaxed);
    }

    /// Nothing more has come; the server waits for a new peer from now on.
    pub(crate) fn nothing_came(&self) {
        let _ = self.connections.since[self.number].compare_exchange(NEW, self.now(), Relaxed, Relaxed);
    }

    /// From now on the peer waits for the server.
    pub(crate) fn works(&self) {
        self.connections.since[self.number].store(WORKING, Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = self.connections.places();
        let Some(open) = places.open[self.number].take() else { return };
        places.free.push(self.number);
        self.connections.freed.notify_one();
        if let Some(count) = places.of_peer.get_mut(&open.peer) {
            *count -= 1;
            if *count == 0 {
                places.of_peer.remove(&open.peer);
            }
        }
    }
}

/// The address that identifies a peer: in IPv6 a host has a whole network of addresses.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

/// The body of a request, which records when the server waits for its peer.
pub(crate) struct WatchedBody {
    body: Incoming,
    place: Arc<Place>,
    /// When its head had come: bytes that trickle in do not restart the clock.
    since: u64,
}

impl WatchedBody {
    pub(crate) fn new(body: Incoming, place: Arc<Place>) -> Self {
        let since = place.now();
        WatchedBody { body, place, since }
    }
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        match frame {
            Poll::Ready(_) => self.place.works(),
            Poll::Pending => self.place.waits(self.since),
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u8) -> IpAddr {
        [10, 0, 0, number].into()
    }

    /// Connections whose tasks wait for ever, and which of them are closed.
    struct Crowd {
        connections: Arc<Connections>,
        open: Vec<(Place, tokio::task::JoinHandle<()>)>,
    }

    impl Crowd {
        /// Enters at this second, after the grace period of all earlier ones.
        fn enter(&mut self, from: IpAddr, second: u64) {
            let since = second * 1_000_000;
            let place = self.connections.enter_at(from, since).unwrap();
            let task = tokio::spawn(std::future::pending());
            self.connections.served_by(place.number(), task.abort_handle());
            place.waits(since);
            self.open.push((place, task));
        }

        /// The positions of the connections that were closed since the last call; their places are given back.
        async fn closed(&mut self) -> Vec<usize> {
            tokio::task::yield_now().await;
            let closed: Vec<usize> = (0..self.open.len()).filter(|&one| self.open[one].1.is_finished()).collect();
            closed.iter().rev().for_each(|&one| drop(self.open.remove(one)));
            closed
        }
    }

    #[tokio::test]
    async fn who_is_waited_for_longest_makes_room() {
        let mut crowd = Crowd { connections: Connections::new(4), open: Vec::new() };
        for (from, second) in [(1, 50), (2, 10), (1, 30), (1, 20)] {
            crowd.enter(peer(from), second);
        }
        assert!(crowd.closed().await.is_empty());
        // Peer 1 has most, and its oldest is the last one; the connection of peer 2 is older, but it is its only one.
        crowd.enter(peer(3), 60);
        assert_eq!(crowd.closed().await, [3]);
        crowd.open[2].0.works();
        crowd.enter(peer(3), 70);
        assert_eq!(crowd.closed().await, [0]);
        // Now 2 and 1 have one each, and 3 has two.
        crowd.enter(peer(4), 80);
        assert_eq!(crowd.closed().await, [2]);
        crowd.open.iter().for_each(|(place, _)| place.works());
        crowd.enter(peer(4), 90);
        assert!(crowd.closed().await.is_empty(), "requests that compute are not closed");
    }

    #[tokio::test]
    async fn nobody_is_closed_in_the_first_moments() {
        let mut crowd = Crowd { connections: Connections::new(2), open: Vec::new() };
        crowd.enter(peer(1), 10);
        crowd.enter(peer(2), 10);
        // The only connection that could be closed has just come; the other one computes.
        crowd.open[0].0.works();
        let just_after = 10_000_000 + GRACE - 1;
        let third = crowd.connections.enter_at(peer(3), just_after);
        assert!(third.is_some() && crowd.closed().await.is_empty());
        let more: Vec<Place> = (1..ENDING).map_while(|_| crowd.connections.enter_at(peer(3), just_after)).collect();
        assert_eq!(more.len(), ENDING - 1);
        assert!(crowd.connections.enter_at(peer(3), just_after).is_none(), "who comes now waits to be accepted");
        drop(more);
        assert!(crowd.connections.enter_at(peer(3), just_after + 1).is_some());
        assert_eq!(crowd.closed().await, [1]);
    }

    #[tokio::test]
    async fn places_are_given_back() {
        let mut crowd = Crowd { connections: Connections::new(2), open: Vec::new() };
        for round in 0..1000 {
            crowd.enter(peer(round as u8 % 3), round);
            crowd.closed().await;
        }
        assert_eq!(crowd.open.len(), 2);
        crowd.open.clear();
        let places = crowd.connections.places();
        assert_eq!((places.free.len(), places.of_peer.len()), (2 + ENDING, 0));
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer() {
        let [a, b, c] =
            ["2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"].map(|text| network(text.parse().unwrap()));
        assert!(a == b && a != c);
        assert_eq!(network("::ffff:10.0.0.1".parse().unwrap()), peer(1));
    }
}
