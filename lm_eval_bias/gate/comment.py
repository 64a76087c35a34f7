"""The verdicts as one comment on a pull request of GitHub, updated in place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from lm_eval_bias.usage import UsageError

LONGEST = 60_000
"""Characters; GitHub refuses more than 65,536."""
_TIMEOUT, _PAGE = 30, 100


def post(markdown: str, rules: str, environ: Mapping[str, str]) -> str:
    """Write the comment of these rules, or replace it; returns its address.

    environ: GITHUB_TOKEN, GITHUB_REPOSITORY, GITHUB_EVENT_PATH and GITHUB_API_URL, as in a job.
    Raises UsageError.
    """
    missing = [key for key in ("GITHUB_TOKEN", "GITHUB_REPOSITORY") if not environ.get(key)]
    if missing:
        raise UsageError(f"no comment: {' and '.join(missing)} not set")
    number = _pull_request(environ.get("GITHUB_EVENT_PATH", ""))
    api = environ.get("GITHUB_API_URL", "https://api.github.com")
    issues = f"{api}/repos/{environ['GITHUB_REPOSITORY']}/issues"
    mark = f"<!-- lm-eval-bias gate {rules} -->"
    body = {"body": f"{mark}\n{markdown}"[:LONGEST]}

    def call(method: str, address: str, data: Mapping[str, str] | None = None) -> Any:
        headers = {
            "Authorization": f"Bearer {environ['GITHUB_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        }
        content = json.dumps(data).encode() if data else None
        try:
            with urlopen(Request(address, content, headers, method=method), timeout=_TIMEOUT) as of:
                return json.loads(of.read())
        except (URLError, OSError, ValueError) as error:
            raise UsageError(f"no comment: {method} {address}: {error}") from None

    page = 1
    while True:
        comments = call("GET", f"{issues}/{number}/comments?per_page={_PAGE}&page={page}")
        for comment in comments:
            if str(comment.get("body", "")).startswith(mark):
                return str(call("PATCH", f"{issues}/comments/{comment['id']}", body)["html_url"])
        if len(comments) < _PAGE:
            return str(call("POST", f"{issues}/{number}/comments", body)["html_url"])
        page += 1


def _pull_request(event: str) -> int:
    try:
        return int(json.loads(Path(event).read_text(encoding="utf-8"))["pull_request"]["number"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError("no comment: this job is of no pull request") from None
