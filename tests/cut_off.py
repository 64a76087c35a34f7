"""A process that is killed, or meets an error of the system, at one of its writes."""

import io
import os
import resource
import sys
import traceback
from errno import EBUSY, ENOSPC
from itertools import count

KILLED = 9
EVENTS = {
    KILLED: {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"},
    ENOSPC: {"open", "os.mkdir"},
    EBUSY: {"os.rename"},
}


def cut_off(act, folder, at, how):
    """Calls `act` in a fork: its status and what it prints on standard error. The fork is KILLED
    before its write number `at` below `folder`, or meets the error `how` there; at 0, no file may
    have more than 20 bytes."""
    read, write = os.pipe()
    if not (child := os.fork()):
        writes = count(1)

        def hook(event, given):
            if event not in EVENTS[how]:
                return
            place = os.path.abspath(os.fsdecode(given[0]))
            if event == "open":
                counts = given[2] & (os.O_WRONLY | os.O_RDWR)
            elif event == "os.mkdir":
                counts = not os.path.isdir(place)
            else:
                counts = True
            within = event != "open" and given[-1] != -1  # named in a folder that is open
            if counts and (within or place.startswith(str(folder))) and next(writes) == at:
                if how == KILLED:
                    os._exit(KILLED)
                raise OSError(how, os.strerror(how))

        status = 99
        try:
            sys.stdout, sys.stderr = io.StringIO(), os.fdopen(write, "w")
            if at == 0:
                resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
            sys.addaudithook(hook)
            given = act()
            status = given if isinstance(given, int) else 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as error:
        text = error.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text


def contents(folder):
    """The files below a folder: name -> content."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
