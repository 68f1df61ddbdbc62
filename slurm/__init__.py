"""How the portal speaks to Slurm: plain Python, no Django."""
