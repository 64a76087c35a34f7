"""A page in the browser where a person accepts, edits or rejects items, served to this machine
alone.

What a model wrote is untrusted: it reaches the page as JSON and is put there as text; the page may
load nothing but its own two files; and nothing is told or saved without the token in the address,
which another page in the same browser cannot know.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

from lm_eval_bias.authoring import pipeline as pipelines
from lm_eval_bias.authoring.drafts import Journal, drafts, journal_of, review_of, save, whole
from lm_eval_bias.data.content import read
from lm_eval_bias.usage import UsageError

HOST = "127.0.0.1"
LARGEST = 64 << 20
"""Bytes of a request."""
DECISIONS = ("open", "accepted", "rejected", "refused")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGES = {
    "/": ("review.html", "text/html; charset=utf-8"),
    "/page.css": ("review.css", "text/css; charset=utf-8"),
    "/page.js": ("review.js", "text/javascript; charset=utf-8"),
}


class Conflict(UsageError):
    """The file, or what is known of it, is another one than the page has."""


class Review:
    """The items of a file, and those that the checks of its pipeline rejected, each with a
    decision.

    entries: fields (the item), decision (one of DECISIONS; "refused" is not in the file, as a check
    rejected it), refused (whether it was), steps (what was asked and answered, from the journal).
    """

    def __init__(self, file: Path, pipeline: str | None = None, groups: str | None = None) -> None:
        """Raises UsageError if the file cannot be read, or nobody says whose items they are."""
        if file.suffix != ".jsonl":
            raise UsageError(f"{file}: expected a file that ends in .jsonl")
        self.file, self.groups = file, groups
        self.version = 0
        journal = Journal(journal_of(file))
        lines = journal.lines() if journal.path.exists() else []
        name = pipeline or (lines[0]["pipeline"] if lines else None)
        if name is None:
            raise UsageError(
                f"{file}: there is no journal {journal.path.name} beside it; say whose items they are with --for NAME"
            )
        self.pipeline = pipelines.pipeline(name)
        self.pipeline.problems([], groups)  # the file of groups is read, and told where it is wrong
        self._content = _bytes(file)
        self.entries = self._entries(lines[1:])

    def _entries(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        items = []
        if self._content.strip():
            content = read(self.file)
            for problem in content.problems:
                raise UsageError(content.message(*problem))
            items = [
                {str(k): v if isinstance(v, str) else str(v) for k, v in row.items()}
                for row in content.data
            ]
        steps: dict[str, list[dict[str, Any]]] = {}
        rows: dict[str, dict[str, str]] = {}
        for line in lines:
            if "given" in line:
                rows[line["row"]] = line["given"]
            kept = {key: line[key] for key in ("step", "try", "prompt", "answer")}
            kept["refused"] = ": ".join(line["refused"]) if "refused" in line else ""
            steps.setdefault(line["row"], []).append(kept)
        decided = self._decided()
        if decided is not None:
            return [{**entry, "steps": steps.get(entry["row"], [])} for entry in decided]

        def entry(item: Mapping[str, str], decision: str, row: str) -> dict[str, Any]:
            return {
                "fields": dict(item),
                "decision": decision,
                "refused": decision == "refused",
                "row": row,
                "steps": steps.get(row, []),
            }

        there = {item.get(self.pipeline.fields[0]) for item in items}
        entries = [entry(item, "open", item.get(self.pipeline.fields[0], "")) for item in items]
        for draft in drafts(list(rows.values()), self.pipeline, lines, self.file):
            if draft.known["id"] not in there:
                entries.append(entry(self.pipeline.item(draft.known), "refused", draft.known["id"]))
        return entries

    def _decided(self) -> list[dict[str, Any]] | None:
        """What an earlier review saved. UsageError if the file was changed since."""
        path = review_of(self.file)
        if not path.exists():
            return None
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["content"] != self._content.decode():
                raise UsageError(
                    f"{self.file} was changed after its review; delete {path.name} to review it anew"
                )
            return [
                {key: each[key] for key in ("fields", "decision", "refused", "row")}
                for each in kept["entries"]
            ]
        except (OSError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, UsageError):
                raise
            raise UsageError(
                f"{path} is no review that this version can read ({type(error).__name__}); delete it to begin anew"
            ) from error

    def told(self) -> dict[str, Any]:
        """All that the page shows."""
        return {
            "file": self.file.name,
            "version": self.version,
            "fields": self._fields(),
            "entries": self.entries,
        }

    def _fields(self) -> list[str]:
        optional = [
            name
            for name in self.pipeline.optional
            if any(name in entry["fields"] for entry in self.entries)
        ]
        others = {name for entry in self.entries for name in entry["fields"]} - {
            *self.pipeline.fields,
            *optional,
        }
        return [self.pipeline.fields[0], *optional, *self.pipeline.fields[1:], *sorted(others)]

    def look(self, index: int, fields: Mapping[str, str]) -> dict[str, Any]:
        """What is wrong with an item as it stands in the page, what to look at, and what a model
        would be asked."""
        item = _tidy(fields)
        problems = self._problems([item])[0]
        shown = [] if problems else self.pipeline.shown(item, self.groups)
        return {"problems": problems, "notes": self.pipeline.notes(item), "shown": shown}

    def _problems(self, items: list[dict[str, str]]) -> list[list[str]]:
        return self.pipeline.problems(items, self.groups)

    def save(self, version: int, given: list[Mapping[str, Any]]) -> dict[str, Any]:
        """Write the file, with what is accepted and what is undecided, and the decisions beside it.

        An accepted item with a problem is an error, which names it; an undecided one is left out of
        the file until it is mended.
        """
        if version != self.version or _bytes(self.file) != self._content:
            raise Conflict(
                f"{self.file.name} was saved elsewhere since this page was loaded; load it again"
            )
        if len(given) != len(self.entries):
            raise Conflict("the page shows other items; load it again")
        entries = [
            {**old, "fields": _tidy(new["fields"]), "decision": _decision(new["decision"])}
            for old, new in zip(self.entries, given, strict=True)
        ]
        into = [i for i, entry in enumerate(entries) if entry["decision"] in ("accepted", "open")]
        # The accepted ones first: of two with one id, the undecided one is in the way.
        into.sort(key=lambda i: (entries[i]["decision"] != "accepted", i))
        found = dict(zip(into, self._problems([entries[i]["fields"] for i in into]), strict=True))
        wrong = {
            i: problems
            for i, problems in found.items()
            if problems and entries[i]["decision"] == "accepted"
        }
        if wrong:
            told = [
                f"{entries[i]['fields'].get('id', '')}: {problem}"
                for i, problems in wrong.items()
                for problem in problems
            ]
            raise Refusal(
                "\n".join(["Not saved: accepted items have problems. Mend or reject them.", *told]),
                wrong,
            )
        kept = sorted(i for i, problems in found.items() if not problems)
        left_out = len(into) - len(kept)
        save(self.file, [entries[i]["fields"] for i in kept])
        self._content = _bytes(self.file)
        written = [
            {key: entry[key] for key in ("fields", "decision", "refused", "row")}
            for entry in entries
        ]
        whole(
            review_of(self.file),
            json.dumps(
                {"content": self._content.decode(), "entries": written},
                ensure_ascii=False,
                indent=1,
            )
            + "\n",
        )
        self.entries, self.version = entries, self.version + 1
        said = f"Saved {self.file.name}: {len(kept)} items" + (
            f"; {left_out} undecided ones with problems are left out" if left_out else ""
        )
        return {"version": self.version, "said": said}

    def summary(self) -> str:
        """One line about the decisions that are saved."""
        counted = Counter(entry["decision"] for entry in self.entries)
        names = {
            "accepted": "accepted",
            "rejected": "rejected",
            "open": "undecided",
            "refused": "refused by a check",
        }
        return f"{self.file}: " + ", ".join(f"{counted[key]} {name}" for key, name in names.items())


class Refusal(UsageError):
    """Accepted items that cannot be asked. problems: number of the entry -> its problems."""

    def __init__(self, message: str, problems: Mapping[int, list[str]]) -> None:
        super().__init__(message)
        self.problems = problems


def _tidy(fields: Mapping[str, Any]) -> dict[str, str]:
    """Fields in one line each; an empty one is none."""
    tidy = {str(name): " ".join(str(value).split()) for name, value in fields.items()}
    return {name: value for name, value in tidy.items() if value}


def _decision(given: object) -> str:
    if given not in DECISIONS:
        raise UsageError(f"{given!r} is no decision")
    return str(given)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error


# ---- The server


def server(review: Review, port: int = 0) -> tuple[ThreadingHTTPServer, str]:
    """A server on the loopback address, which answers once `serve_forever` is called, and the
    address of its page with the token."""
    token = secrets.token_urlsafe(32)
    lock = Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "review", ""

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if not self._is_ours():
                return
            if path in _PAGES:
                name, kind = _PAGES[path]
                self._send(HTTPStatus.OK, (files(__package__) / name).read_bytes(), kind)
            elif path == "/entries":
                self._answer(lambda _: review.told())
            else:
                self._told(HTTPStatus.NOT_FOUND, "there is nothing here")

        def do_POST(self) -> None:
            if not self._is_ours():
                return
            acts: dict[str, Callable[[Any], Any]] = {
                "/look": lambda given: review.look(int(given["index"]), given["fields"]),
                "/save": lambda given: review.save(int(given["version"]), given["entries"]),
            }
            if self.path not in acts:
                self._told(HTTPStatus.NOT_FOUND, "there is nothing here")
            elif self.headers.get_content_type() != "application/json":
                self._told(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected JSON")
            else:
                self._answer(acts[self.path])

        def _is_ours(self) -> bool:
            """Whether the request is for this address by its own name, and from its own page: not
            from a name that another site has given to this machine, nor from another site's page.
            """
            names = {f"{name}:{self.server.server_address[1]}" for name in (HOST, "localhost")}
            origin = self.headers.get("Origin")
            if self.headers.get("Host") in names and origin in (
                None,
                *(f"http://{name}" for name in names),
            ):
                return True
            self._told(HTTPStatus.FORBIDDEN, "this server answers its own page alone")
            return False

        def _answer(self, act: Callable[[Any], Any]) -> None:
            if not hmac.compare_digest(
                self.headers.get("X-Review-Token", "").encode(), token.encode()
            ):
                self._told(
                    HTTPStatus.FORBIDDEN,
                    "the token is missing; open the address that the command printed",
                )
                return
            try:
                length = int(self.headers.get("Content-Length") or 0)
                if not 0 <= length <= LARGEST:
                    raise ValueError("too long")
                given = json.loads(self.rfile.read(length)) if length else None
                with lock:
                    content = act(given)
            except Refusal as refusal:
                self._told(
                    HTTPStatus.UNPROCESSABLE_ENTITY, str(refusal), problems=dict(refusal.problems)
                )
            except Conflict as conflict:
                self._told(HTTPStatus.CONFLICT, str(conflict))
            except OSError as error:
                self._told(
                    HTTPStatus.INTERNAL_SERVER_ERROR, f"not saved: {error.strerror or error}"
                )
            except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                self._told(HTTPStatus.BAD_REQUEST, str(error))
            else:
                self._send(HTTPStatus.OK, json.dumps(content).encode(), "application/json")

        def _told(self, status: HTTPStatus, message: str, **more: Any) -> None:
            # What was not read of the request would be taken for the next one.
            self.close_connection = True
            self._send(status, json.dumps({"error": message, **more}).encode(), "application/json")

        def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
            self.send_response(status)
            headers = {
                "Content-Type": kind,
                "Content-Length": str(len(content)),
                "Content-Security-Policy": POLICY,
                "X-Content-Type-Options": "nosniff",
                "X-Frame-Options": "DENY",
                "Referrer-Policy": "no-referrer",
                "Cross-Origin-Resource-Policy": "same-origin",
                "Cross-Origin-Opener-Policy": "same-origin",
                "Cache-Control": "no-store",
            }
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    try:
        made = ThreadingHTTPServer((HOST, port), Handler)
    except (OSError, OverflowError) as error:
        raise UsageError(f"--port {port}: {getattr(error, 'strerror', None) or error}") from error
    made.daemon_threads = True
    return made, f"http://{HOST}:{made.server_address[1]}/#{token}"


def serve(review: Review, port: int, ready: Callable[[str], None]) -> None:
    """Serve until Ctrl+C. ready: called with the address."""
    made, address = server(review, port)
    with made:
        try:
            ready(address)
            made.serve_forever()
        except KeyboardInterrupt:
            print()
