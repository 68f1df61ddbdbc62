"""Pages of the trail."""

from audit.views.events import page

__all__ = ["page"]
