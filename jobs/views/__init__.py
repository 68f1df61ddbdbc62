"""Pages of jobs: home, lists, one job, its output, asking for one."""
