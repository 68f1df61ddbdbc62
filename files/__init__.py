"""How a person's files are reached: by their own uid, beneath one root, with a signed ticket; no Django in it."""
