"""A plain reader of sbatch scripts: what each directive says, as sbatch itself would read it."""

from slurm.sbatch.options import OPTIONS, Fate, Option
from slurm.sbatch.reading import Directive, Fault, Script, read

__all__ = ["OPTIONS", "Directive", "Fate", "Fault", "Option", "Script", "read"]
