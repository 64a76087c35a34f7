"""lm-eval-bias: implicit social bias benchmarks for lm-evaluation-harness."""

import os

# In a source tree, tasks/ and metrics/ stand beside this package; in an installed one, inside it. This runs at every start of
# Python (autoload.py), so it imports nothing that is not there already.
if not os.path.isdir(os.path.join(__path__[0], "tasks")):
    __path__.append(os.path.dirname(__path__[0]))

del os
