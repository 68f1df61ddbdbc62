"""At build: the names of service users and demo people, and the empty folders of /srv/var, into the image."""

from __future__ import annotations

import shutil

from house import STACK

from stack import folders

if __name__ == "__main__":
    STACK.var.mkdir(parents=True, exist_ok=True)
    folders.make(STACK)
    for name in ("passwd", "group"):
        shutil.copyfile(STACK.var / "etc" / name, f"/etc/{name}")
