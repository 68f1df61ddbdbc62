"""How a job's output is read: signed tickets, a root opener, an unprivileged reader and its clients."""
