"""What is kept of files: the signed passes to them. The files themselves are where they are."""

from storage.models.file_pass import FilePass

__all__ = ["FilePass"]
