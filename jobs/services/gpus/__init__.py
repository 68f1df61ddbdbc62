"""What the GPUs of a job do: live, over time, and what is kept of it."""
