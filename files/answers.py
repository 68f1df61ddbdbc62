"""The words in which a file operation fails, and which error of the kernel is which."""

from __future__ import annotations

import errno

ANSWERS = frozenset(
    {
        "bad-ticket",  # not signed, past its time, another person's
        "bad-request",  # not one of the operations, or not in its form
        "bad-name",  # names nothing beneath the root, or nobody should make it
        "read-only",  # the ticket gives no right to change
        "missing",
        "denied",  # the person's own uid may not
        "not-regular",  # a link, a FIFO, a device, a socket
        "not-folder",
        "is-folder",
        "linked",  # somebody else's file under several names
        "exists",
        "not-empty",
        "full",  # no room on the file system
        "quota",  # the person's or group's quota is used up
        "too-large",
        "too-many",  # more entries, or deeper, than one act takes
        "changed",  # the file became another under way
        "offset",  # the upload stands elsewhere
        "digest",  # what arrived is not what was sent
        "busy",
        "bad-archive",  # not a zip, or a damaged one
        "bad-entry",  # one of its entries may not be made; `entry` names it
        "too-much",  # an archive holds more than is unpacked at once, or takes too long
        "failed",
    }
)
_OF = {
    errno.ENOENT: "missing",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.EROFS: "denied",
    errno.ELOOP: "not-regular",
    errno.EXDEV: "not-regular",  # openat2: it would lead out of the root
    errno.ENXIO: "not-regular",
    errno.ENODEV: "not-regular",
    errno.ENOTDIR: "not-folder",
    errno.EISDIR: "is-folder",
    errno.EEXIST: "exists",
    errno.ENOTEMPTY: "not-empty",
    errno.ENOSPC: "full",
    errno.EDQUOT: "quota",
    errno.EFBIG: "too-large",
    errno.ENAMETOOLONG: "bad-name",
    errno.EINVAL: "bad-name",
    errno.EILSEQ: "bad-name",
    errno.ESTALE: "changed",
    errno.EAGAIN: "busy",
}


class Refused(Exception):
    """Why nothing was done, as one word of ANSWERS; `facts` are numbers (and a name) that belong to it."""

    def __init__(self, answer: str, **facts: int | str) -> None:
        super().__init__(answer)
        self.answer, self.facts = answer, facts


def of(error: OSError) -> Refused:
    """The word for an error of the kernel."""
    return Refused(_OF.get(error.errno or 0, "failed"))
