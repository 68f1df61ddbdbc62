"""one row per cluster; its nodes and partitions as one picture."""
