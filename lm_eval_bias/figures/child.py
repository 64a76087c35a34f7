"""vl-convert as a program: reads calls from standard input, and writes what they return."""

import os
import pickle
import sys

import vl_convert

answers = os.dup(1)
os.dup2(2, 1)  # nothing else may print there
while True:
    function, arguments, named = pickle.load(sys.stdin.buffer)
    try:
        answer = getattr(vl_convert, function)(*arguments, **named)
    except ValueError as error:
        answer = error
    os.write(answers, pickle.dumps(answer))
