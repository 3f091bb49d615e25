"""Opens many misbehaving connections to a server on this machine: python crowd.py PORT KIND CONNECTIONS SECONDS [FILE].

`heads` and `bodies` send a request one byte at a time, `idle` sends nothing, `large` a body without its last byte, and
`unread` the request in the file, without reading its answer. Connections that the server closes are reopened. At the
end the result is printed as one line of JSON. This is a separate process so that it does not disturb measurements.
"""

import collections
import json
import pathlib
import resource
import select
import socket
import sys
import time

HEAD = "POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
BODY = 8 << 20
# The bytes sent immediately; after them, single bytes follow from time to time.
BEGIN = {
    "heads": b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nX: ",
    "bodies": HEAD.format(1000).encode() + b"{",
    "idle": b"",
    "large": HEAD.format(BODY).encode() + b" " * (BODY - 1),
}
# How many connections are opened in a second, at most.
RATE = 3000
PAUSE = 0.02


class Crowd:
    def __init__(self, port, kind, connections, request):
        self.address, self.kind, self.connections = ("127.0.0.1", port), kind, connections
        self.begin = memoryview(request or BEGIN[kind])
        self.poll, self.sockets, self.sent = select.epoll(), {}, {}
        self.trickling = collections.deque()
        self.opened = self.closed = self.failed = self.most = 0
        self.statuses = collections.Counter()

    def enter(self):
        try:
            one = socket.socket()
            one.setblocking(False)
            if self.kind == "unread":
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect_ex(self.address)
        except OSError:
            self.failed += 1
            return
        self.poll.register(one, select.EPOLLOUT)
        self.sockets[one.fileno()], self.sent[one.fileno()] = one, 0
        self.opened += 1
        self.most = max(self.most, len(self.sockets))

    def leave(self, number):
        self.poll.unregister(number)
        self.sockets.pop(number).close()
        self.closed += 1

    def ready(self, number, events):
        """Sends the rest of the initial bytes; then reads the server's answer, except for `unread`."""
        one = self.sockets[number]
        try:
            if events & (select.EPOLLERR | select.EPOLLHUP):
                self.leave(number)
            elif events & select.EPOLLOUT:
                begin = self.begin[self.sent[number] :][: 1 << 18]
                self.sent[number] += one.send(begin) if len(begin) else 0
                if self.sent[number] == len(self.begin):
                    self.poll.modify(number, select.EPOLLRDHUP if self.kind == "unread" else select.EPOLLIN)
                    self.trickling.append((time.monotonic() + 2, number, one))
            elif events & select.EPOLLRDHUP:
                self.leave(number)
            else:
                said = one.recv(1000)
                if said.startswith(b"HTTP/1.1 "):
                    self.statuses[said[9:12].decode()] += 1
                if not said:
                    self.leave(number)
        except BlockingIOError:
            pass
        except OSError:
            self.leave(number)

    def trickle(self):
        """Sends one more byte on each connection every two seconds."""
        now = time.monotonic()
        while self.trickling and self.trickling[0][0] <= now:
            _, number, one = self.trickling.popleft()
            if self.sockets.get(number) is not one or self.kind not in ("heads", "bodies"):
                continue
            try:
                one.send(b" ")
                self.trickling.append((now + 2, number, one))
            except BlockingIOError:
                self.trickling.append((now + 2, number, one))
            except OSError:
                self.leave(number)

    def stay(self, seconds):
        end, allowed = time.monotonic() + seconds, 0.0
        last = time.monotonic()
        while (now := time.monotonic()) < end:
            allowed, last = min(allowed + RATE * (now - last), RATE / 10), now
            while allowed >= 1 and len(self.sockets) < self.connections:
                allowed -= 1
                self.enter()
            for number, events in self.poll.poll(PAUSE, 2000):
                if number in self.sockets:
                    self.ready(number, events)
            self.trickle()


def main():
    port, kind, connections, seconds, *file = sys.argv[1:]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = int(connections) + 100
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(wanted, hard)), hard))
    crowd = Crowd(int(port), kind, int(connections), pathlib.Path(file[0]).read_bytes() if file else None)
    crowd.stay(float(seconds))
    names = ("opened", "closed", "failed", "most", "statuses")
    print(json.dumps({name: getattr(crowd, name) for name in names}))


if __name__ == "__main__":
    main()
