"""A process that is killed, or whose disk is full, at one of its writes; a cache that is full."""

import os
import resource
import sqlite3
import sys
import traceback
from errno import ENOSPC
from itertools import count

WRITES = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir")


def cut_off(act, folder, at, full=False):
    """Calls `act` in a fork: its status and what it prints. The fork is killed before its write
    number `at` below `folder`, or finds a full disk there; at 0, no file may have more than 20
    bytes."""
    read, write = os.pipe()
    if not (child := os.fork()):
        writes = count(1)

        def hook(event, given):
            if (
                event in WRITES[: 2 if full else None]
                and (event != "open" or given[2] & (os.O_WRONLY | os.O_RDWR))
                and os.path.abspath(str(given[0])).startswith(str(folder))
                and next(writes) == at
            ):
                if not full:
                    os._exit(9)
                raise OSError(ENOSPC, os.strerror(ENOSPC))

        try:
            os.chdir(folder)
            sys.stdout = sys.stderr = os.fdopen(write, "w", 1)
            if not at:
                resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
            sys.addaudithook(hook)
            os._exit(act() or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(99)
    os.close(write)
    with os.fdopen(read) as printed:
        text = printed.read()
    return os.waitpid(child, 0)[1], text


def full_cache(path, rows):
    """A file for the harness's cache that takes so many answers; returns a count of them."""
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE unnamed (key TEXT PRIMARY KEY, value BLOB)")
    database.execute(
        "CREATE TRIGGER full BEFORE INSERT ON unnamed "
        f"WHEN (SELECT COUNT(*) FROM unnamed) >= {rows} "
        "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
    )
    return lambda: database.execute("SELECT COUNT(*) FROM unnamed").fetchone()[0]


def contents(folder):
    """The files below a folder: name -> content."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}
