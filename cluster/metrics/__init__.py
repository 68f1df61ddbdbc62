"""What Prometheus keeps of the nodes, asked by node names, GPU numbers and Slurm's job numbers of our own rows."""
