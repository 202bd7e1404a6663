"""A relay in front of an object store, which answers some requests wrongly, slowly, or not to their end."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Fault = Literal["", "busy", "cut", "slow", "expired"]
# Enough to break a capture in its middle.
CUT_BYTES = 100_000
# Before each fourth of an answer.
SLOW_SECONDS = 0.05


@dataclass
class Relay:
    """Passes requests to `store` and answers back. `decide` chooses the fault of each request by its number."""

    store: tuple[str, int]
    decide: Callable[[int], Fault]
    asked: int = 0

    def __enter__(self) -> str:
        """Starts the relay. Returns its URL."""
        relay, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                # A reader that fails closes its connections.
                with contextlib.suppress(ConnectionError):
                    self.answer_or_fail()

            def answer_or_fail(self) -> None:
                with lock:
                    fault = relay.decide(relay.asked)
                    relay.asked += 1
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                match fault:
                    case "busy":
                        self.send(503, [], b"<Error><Code>SlowDown</Code></Error>")
                    case "expired":
                        self.send(403, [], b"<Error><Code>ExpiredToken</Code></Error>")
                    case _:
                        self.pass_on(body, fault)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

            def pass_on(self, body: bytes, fault: Fault) -> None:
                server = HTTPConnection(*relay.store)
                # The headers are signed, with the name of the relay among them.
                server.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    server.putheader(name, value)
                server.endheaders(body)
                answer = server.getresponse()
                content = answer.read()
                self.send(answer.status, answer.getheaders(), content, fault)
                server.close()

            def send(self, status: int, headers: list[Any], content: bytes, fault: Fault = "") -> None:
                self.send_response(status)
                lengths = [value for name, value in headers if name == "Content-Length"]
                for name, value in headers:
                    if name not in ("Content-Length", "Transfer-Encoding", "Connection"):
                        self.send_header(name, value)
                # The answer to HEAD has a length and no content.
                self.send_header("Content-Length", lengths[0] if self.command == "HEAD" and lengths else str(len(content)))
                self.end_headers()
                if fault == "cut":
                    self.wfile.write(content[:CUT_BYTES])
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                part = -(-len(content) // 4) or 1
                for begin in range(0, len(content), part):
                    if fault == "slow":
                        time.sleep(SLOW_SECONDS)
                    self.wfile.write(content[begin : begin + part])

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
