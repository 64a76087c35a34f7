"""The process that draws: V8 ends its process where it gets no memory."""

import pickle
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import Any

SECONDS = 120
"""How long a step of a figure may take."""
CHILD = Path(__file__).with_name("child.py")


class Drawing:
    """why: the process ended, and draws no more."""

    why = ""
    process: Any = None

    def call(self, function: str, *arguments: Any, **named: Any) -> Any:
        """A function of vl-convert. Raises ValueError."""
        if self.why:
            raise ValueError(self.why)
        try:
            self.process = self.process or subprocess.Popen(
                [sys.executable, "-P", CHILD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            timer = Timer(SECONDS, self.process.kill)
            timer.start()
            try:
                pickle.dump((function, arguments, named), self.process.stdin)
                self.process.stdin.flush()
                answer = pickle.load(self.process.stdout)
            finally:
                timer.cancel()
        except Exception as failure:  # such as half an answer, and no memory for one
            self.end()
            self.why = "the process that draws figures ended"
            raise ValueError(self.why) from failure
        if isinstance(answer, ValueError):
            raise answer
        return answer

    def end(self) -> None:
        """End the process; the next call starts another."""
        process, self.why, self.process = self.process, "", None
        if process:
            process.kill()
            process.communicate()


drawing = Drawing()
"""The only one."""
