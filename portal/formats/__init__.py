"""How dates are written where Django's own way would be taken for another day, one module a language."""
