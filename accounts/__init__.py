"""who is asking: users as the directory knows them, API tokens, sessions."""
