#!/bin/bash
#SBATCH --gpus=1
# One part of a run: sbatch --array=1-4 part.sh --model hf-prefix --model_args ... --tasks hbb
set -eu
lm_eval "$@" --metadata "shard=$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
    --log_samples --output_path "parts/$SLURM_ARRAY_TASK_ID"
