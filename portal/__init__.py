"""the root: settings, urls, processes; knows every app."""
