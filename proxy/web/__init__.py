"""HTTP for operators and their tools: health, status, metrics. Reads snapshots, nothing else."""
