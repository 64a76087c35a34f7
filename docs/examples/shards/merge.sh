#!/bin/bash
# When all parts have ended: bash merge.sh TASK ...
set -eu
mkdir -p merged
for task in "$@"; do
    lm-eval-bias merge "$task" parts/*/*/samples_"${task}"_2*.jsonl --output "merged/$task.json"
done
