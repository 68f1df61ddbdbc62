"""When a request would start, estimated from the picture of the cluster that everybody sees; Slurm is not asked."""

from jobs.services.planning.advising import Advice, advise
from jobs.services.planning.picture import Picture
from jobs.services.planning.rooms import Demand, Rooms

__all__ = ["Advice", "Demand", "Picture", "Rooms", "advise"]
