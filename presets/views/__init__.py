"""Pages about presets and environments; views are verbs for acts, nouns for pages."""
