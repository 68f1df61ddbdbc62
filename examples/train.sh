#!/bin/bash
#SBATCH --job-name=digits
#SBATCH --partition=gpu
#SBATCH --gres=gpu:a100:1
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
#SBATCH --time=00:10:00
# The example training, as it is: about half a minute. Runs in the project's folder.
set -euo pipefail
echo "job ${SLURM_JOB_ID:-outside Slurm} on $(hostname) as $(whoami)"
exec python3 -u examples/train_digits.py --epochs "${EPOCHS:-30}" --pause "${PAUSE:-1}" \
  --checkpoint "checkpoints/digits-${SLURM_JOB_ID:-local}.npz"
