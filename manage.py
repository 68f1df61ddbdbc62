#!/usr/bin/env python3
"""Django's entry point."""

import os

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    from portal.commanding import main

    main()
