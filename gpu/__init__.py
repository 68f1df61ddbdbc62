"""The node agent: what the GPUs of a node do and for which job, as Prometheus text; plain Python, no Django."""
