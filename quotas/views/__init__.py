"""Pages of allocations: one of them, funding sources, requests, reports, and where Slurm differs."""
