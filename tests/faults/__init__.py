"""What breaks in the middle of a submission or a reading, with the portal and a cluster running as they do for people."""
