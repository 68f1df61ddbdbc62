"""Pages about datasets; views are verbs for acts, nouns for pages."""
