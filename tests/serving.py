"""Servers on the loopback address: of files, with interruptions, and of a chat model."""

import json
import socket
import threading
from collections.abc import Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Files:
    """files: path -> content. breaks_after: so many bytes of an answer are sent, and then the
    connection is closed. asked: the path of every request. refuses: a status in place of all that.
    endless: is sent again and again. drips: "headers" or "body", of which a byte comes now and
    then, until `go_on` is set. sends_to: path -> another one."""

    def __init__(self):
        self.files, self.asked, self.go_on = {}, [], threading.Event()
        self.breaks_after = self.refuses = self.endless = self.drips = None
        self.sends_to = {}

    def answer(self, handler):
        self.asked.append(handler.path)
        if handler.path in self.sends_to:
            handler.send_response(302)
            handler.send_header("Location", self.sends_to[handler.path])
            handler.end_headers()
            return
        while self.drips == "headers" and not self.go_on.wait(0.05):
            handler.wfile.write(b"H")
        content = self.files.get(handler.path)
        if content is None or self.refuses:
            handler.send_error(self.refuses or 404)
            return
        handler.send_response(200)
        if not self.endless:
            handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        while self.endless:
            handler.wfile.write(self.endless)
        while self.drips and not self.go_on.wait(0.05):
            handler.wfile.write(content[:1])
        handler.wfile.write(content[: self.breaks_after])


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


@contextmanager
def running(handler):
    """The address of a server with this handler."""
    handler.log_message = lambda *_: None
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@contextmanager
def serving():
    """`Files`, with the address of the server as `address`."""
    files = Files()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            try:
                files.answer(self)
            except (BrokenPipeError, ConnectionResetError):  # the one who asked was killed
                self.close_connection = True

    with running(Handler) as files.address:
        yield files
        files.go_on.set()


class Raw(NamedTuple):
    """An answer that need be no chat completion."""

    status: int
    content: bytes
    headers: Mapping[str, str] = {}


@contextmanager
def chatting(answer):
    """The address of a server with the OpenAI protocol. answer: body of a request -> text or None,
    or a whole reply, or `Raw`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = answer(body)
            if not isinstance(reply, (dict, Raw)):
                message = {"role": "assistant", "content": reply}
                reply = {"choices": [{"index": 0, "message": message}]}
            if isinstance(reply, dict):
                reply = Raw(200, json.dumps(reply).encode())
            try:
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply.content)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.content)
            except (BrokenPipeError, ConnectionResetError):  # it was asked for too long
                self.close_connection = True

    with running(Handler) as address:
        yield f"{address}/v1/chat/completions"
