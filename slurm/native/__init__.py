"""Slurm by its own C library (pyslurm): for a site without slurmrestd whose Slurm is of pyslurm's release.

gateway.py    what the portal calls, as slurm.contract.Gateway says
children.py   one short-lived process for each identity, with that user's token in its environment
child.py      such a process: libslurm reads the token once, and a wrong call may end it, not us
calls.py      what it does with pyslurm, on a short list of calls that were tried
submission.py our request in pyslurm's words
facts.py      pyslurm's objects in the words of slurmrestd's JSON, which slurm.adapters.common reads
"""
