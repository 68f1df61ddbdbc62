"""What is done with the trail: sealing it, signing where it stands."""
