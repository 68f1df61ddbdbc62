"""What is kept of files: the signed passes to them, uploads at their end, and how much there was each day. Files are
where they are."""

from storage.models.file_pass import FilePass
from storage.models.measure import Measure
from storage.models.upload import Upload

__all__ = ["FilePass", "Measure", "Upload"]
