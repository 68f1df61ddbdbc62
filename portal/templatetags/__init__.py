"""Template tags of the frame and the visual vocabulary."""
