"""What a person sees, in Debian's Chromium."""
