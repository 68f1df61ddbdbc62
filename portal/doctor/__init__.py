"""`manage.py doctor`: whether each thing the portal leans on is as it should be, and what to do where it is not."""
