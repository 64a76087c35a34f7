"""A local web page to accept, edit or reject items.

A model's text is untrusted: it is shown as plain text. The server requires a secret token.
"""

import hmac
import json
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

from lm_eval_bias import writing
from lm_eval_bias.authoring import pipeline as pipelines
from lm_eval_bias.authoring.drafts import Entry, Journal, drafts, journal_of, json_lines, review_of
from lm_eval_bias.data.bounds import Json, json_of, loads
from lm_eval_bias.data.content import read
from lm_eval_bias.usage import UsageError

HOST = "127.0.0.1"
LARGEST = 64 << 20
"""Most bytes of a request."""
DECISIONS = ("open", "accepted", "rejected", "refused")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_PAGES = {
    "/": ("review.html", "text/html; charset=utf-8"),
    "/page.css": ("review.css", "text/css; charset=utf-8"),
    "/page.js": ("review.js", "text/javascript; charset=utf-8"),
}


class Conflict(UsageError):
    """The page is out of date."""


class Review:
    """Items of a file and those that a check rejected.

    entries: dicts with fields (the item), decision, refused (by a check), row (id in the journal).
    unsaved: a save was cut off after its decisions.
    """

    unsaved = False

    def __init__(self, file: Path, pipeline: str | None = None, groups: str | None = None) -> None:
        """Raises UsageError for an unreadable file or unknown pipeline."""
        if file.suffix != ".jsonl":
            raise UsageError(f"{file}: expected a file that ends in .jsonl")
        self.file, self.groups = file, groups
        self.version = 0
        journal = Journal(journal_of(file))
        lines = journal.lines() if journal.path.exists() else []
        name = pipeline or (lines[0]["pipeline"] if lines else None)
        if name is None:
            raise UsageError(
                f"{file}: there is no journal {journal.path.name} beside it; name the "
                "benchmark with --for NAME"
            )
        self.pipeline = pipelines.pipeline(name)
        self.pipeline.problems([], groups)  # raises if the file of groups is wrong
        self._content = _bytes(file)
        decided = self._decided()
        self.entries = self._undecided(lines[1:]) if decided is None else decided
        steps: dict[str, list[Entry]] = {}
        for line in lines[1:]:
            step = {key: line[key] for key in ("step", "try", "prompt", "answer")}
            step["refused"] = ": ".join(line.get("refused", ()))
            steps.setdefault(line["row"], []).append(step)
        for entry in self.entries:
            entry["steps"] = steps.get(entry["row"], [])

    def _decided(self) -> list[Entry] | None:
        """The saved entries. Raises UsageError if the file has changed since."""
        path = review_of(self.file)
        if not path.exists():
            return None
        try:
            saved = json_of(path)
            content, entries = saved["content"], [_kept(entry) for entry in saved["entries"]]
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{path} is not a readable review ({type(error).__name__}); move it away to "
                "start again"
            ) from error
        self.unsaved = content != self._content.decode()
        if self.unsaved and saved.get("replaces") != sha256(self._content).hexdigest():
            raise UsageError(
                f"{self.file} has changed since its review; bring back the reviewed one, or move "
                f"{path.name} away to start again"
            )
        return entries

    def _undecided(self, lines: list[Entry]) -> list[Entry]:
        items: list[dict[str, str]] = []
        if self._content.strip():
            content = read(self.file)
            for problem in content.problems:
                raise UsageError(content.message(*problem))
            items = [{str(k): str(v) for k, v in row.items()} for row in content.data]
        rows = {line["row"]: line["given"] for line in lines if "given" in line}
        key = self.pipeline.fields[0]
        ids = {item.get(key) for item in items}
        rejected = [
            self.pipeline.item(draft.known)
            for draft in drafts(list(rows.values()), self.pipeline, lines, self.file)
            if draft.known["id"] not in ids
        ]
        return [
            {
                "fields": item,
                "decision": "refused" if i >= len(items) else "open",
                "refused": i >= len(items),
                "row": item.get(key, ""),
            }
            for i, item in enumerate([*items, *rejected])
        ]

    def state(self) -> Entry:
        first, *others = self.pipeline.fields
        used = {name for entry in self.entries for name in entry["fields"]}
        optional = [name for name in self.pipeline.optional if name in used]
        more = sorted(used - {first, *optional, *others})
        return {
            "file": self.file.name,
            "version": self.version,
            "unsaved": self.unsaved,
            "fields": [first, *optional, *others, *more],
            "entries": self.entries,
        }

    def look(self, fields: Mapping[str, str]) -> Entry:
        item = _tidy(fields)
        (problems,) = self.pipeline.problems([item], self.groups)
        shown = [] if problems else self.pipeline.shown(item, self.groups)
        return {"problems": problems, "notes": self.pipeline.notes(item), "shown": shown}

    def save(self, version: int, edited: list[Json]) -> Entry:
        """Write accepted and undecided items, and all decisions. Undecided items with problems are
        left out; accepted ones raise Refusal.
        """
        if version != self.version or _bytes(self.file) != self._content:
            raise Conflict(
                f"{self.file.name} was saved elsewhere since this page was loaded; load it again"
            )
        if len(edited) != len(self.entries):
            raise Conflict("the page shows other items; load it again")
        entries = [
            {**old, "fields": _tidy(new["fields"]), "decision": _decision(new["decision"])}
            for old, new in zip(self.entries, edited, strict=True)
        ]
        # Accepted items first: of two with the same id, the undecided one gets the problem.
        order = [
            i
            for decision in ("accepted", "open")
            for i, entry in enumerate(entries)
            if entry["decision"] == decision
        ]
        checked = self.pipeline.problems([entries[i]["fields"] for i in order], self.groups)
        problems = dict(zip(order, checked, strict=True))
        wrong = {i: p for i, p in problems.items() if p and entries[i]["decision"] == "accepted"}
        if wrong:
            raise Refusal([entry["fields"].get("id", "") for entry in entries], wrong)
        saved = sorted(i for i in order if not problems[i])
        content = writing.encoded(json_lines(entries[i]["fields"] for i in saved))
        decided = {
            "content": content.decode(),
            "replaces": sha256(self._content).hexdigest(),
            "entries": [_kept(e) for e in entries],
        }
        review = json.dumps(decided, ensure_ascii=False, indent=1) + "\n"
        # The decisions first: after a crash between the two, they tell which items file to expect.
        writing.together({review_of(self.file): review, self.file: content})
        self._content, self.entries, self.unsaved = content, entries, False
        self.version += 1
        message = f"Saved {self.file.name}: {len(saved)} items"
        if left_out := len(order) - len(saved):
            message += f"; {left_out} undecided ones with problems are left out"
        return {"version": self.version, "message": message}

    def summary(self) -> str:
        counted = Counter(entry["decision"] for entry in self.entries)
        return (
            f"{self.file}: {counted['accepted']} accepted, {counted['rejected']} rejected, "
            f"{counted['open']} undecided, {counted['refused']} refused by a check"
        )


class Refusal(UsageError):
    """problems: index of the entry -> its problems."""

    def __init__(self, ids: list[str], problems: Mapping[int, list[str]]) -> None:
        lines = [f"{ids[i]}: {problem}" for i, of_item in problems.items() for problem in of_item]
        first = "Not saved: accepted items have problems. Fix or reject them."
        super().__init__("\n".join([first, *lines]))
        self.problems = problems


def _kept(entry: Json) -> Entry:
    return {key: entry[key] for key in ("fields", "decision", "refused", "row")}


def _tidy(fields: Json) -> dict[str, str]:
    tidy = {str(name): " ".join(str(value).split()) for name, value in fields.items()}
    return {name: value for name, value in tidy.items() if value}


def _decision(decision: object) -> str:
    if decision not in DECISIONS:
        raise UsageError(f"{decision!r} is not a decision")
    return str(decision)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error


# ---- The server


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about a page that was closed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def server(review: Review, port: int = 0) -> tuple[ThreadingHTTPServer, str]:
    token = secrets.token_urlsafe(32)
    lock = Lock()
    acts: dict[tuple[str, str], Callable[[Any], Any]] = {
        ("GET", "/entries"): lambda _: review.state(),
        ("POST", "/look"): lambda sent: review.look(sent["fields"]),
        ("POST", "/save"): lambda sent: review.save(int(sent["version"]), sent["entries"]),
    }

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "review", ""

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            act = acts.get((self.command, path))
            json_sent = self.headers.get_content_type() == "application/json"
            if not self._is_ours():
                self._refuse(HTTPStatus.FORBIDDEN, "this server answers its own page alone")
            elif self.command == "GET" and path in _PAGES:
                name, kind = _PAGES[path]
                self._send(HTTPStatus.OK, (files(__package__) / name).read_bytes(), kind)
            elif act is None:
                self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")
            elif self.command == "POST" and not json_sent:
                self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected JSON")
            else:
                self._answer(act)

        do_POST = do_GET

        def _is_ours(self) -> bool:
            """Prevent DNS rebinding and requests from other sites."""
            names = [f"{name}:{listening.server_port}" for name in (HOST, "localhost")]
            origins = (None, *(f"http://{name}" for name in names))
            return self.headers.get("Host") in names and self.headers.get("Origin") in origins

        def _answer(self, act: Callable[[Any], Any]) -> None:
            sent_token = self.headers.get("X-Review-Token", "")
            if not hmac.compare_digest(sent_token.encode(), token.encode()):
                problem = "the token is missing; open the address that the command printed"
                return self._refuse(HTTPStatus.FORBIDDEN, problem)
            try:
                length = int(self.headers.get("Content-Length") or 0)
                if not 0 <= length <= LARGEST:
                    raise ValueError("too long")
                sent = loads(self.rfile.read(length)) if length else None
                with lock:
                    content = act(sent)
            except Refusal as refusal:
                status, problems = HTTPStatus.UNPROCESSABLE_ENTITY, dict(refusal.problems)
                self._refuse(status, str(refusal), problems=problems)
            except Conflict as conflict:
                self._refuse(HTTPStatus.CONFLICT, str(conflict))
            except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                self._refuse(HTTPStatus.BAD_REQUEST, str(error))
            else:
                self._send(HTTPStatus.OK, json.dumps(content).encode(), "application/json")

        def _refuse(self, status: HTTPStatus, message: str, **more: Any) -> None:
            # Otherwise the unread rest would be parsed as the next request.
            self.close_connection = True
            self._send(status, json.dumps({"error": message, **more}).encode(), "application/json")

        def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
            self.send_response(status)
            size = {"Content-Type": kind, "Content-Length": str(len(content))}
            for name, value in {**size, **HEADERS}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    try:
        listening = _Server((HOST, port), Handler)
    except (OSError, OverflowError) as error:
        raise UsageError(f"--port {port}: {getattr(error, 'strerror', None) or error}") from error
    return listening, f"http://{HOST}:{listening.server_port}/#{token}"


def serve(review: Review, port: int, ready: Callable[[str], None]) -> None:
    """Serve until Ctrl+C. ready: called with the address."""
    listening, address = server(review, port)
    with listening:
        try:
            ready(address)
            listening.serve_forever()
        except KeyboardInterrupt:
            print()
