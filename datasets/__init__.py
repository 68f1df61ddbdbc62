"""What data there is, who may use it for what, and who did."""
