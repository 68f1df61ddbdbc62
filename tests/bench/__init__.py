"""The numbers of docs/performance.md: one module a number, every one as a ratio to something measured in the same run."""
