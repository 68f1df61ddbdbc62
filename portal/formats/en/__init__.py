"""English as it is read everywhere: no month in figures before its day."""
