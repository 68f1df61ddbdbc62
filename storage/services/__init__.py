"""What is done with a project's files, by whom: passes, rules of data, looking, taking out, changing."""
