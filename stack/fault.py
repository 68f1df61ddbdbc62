"""The one error a person sees: a sentence that says what is wrong."""


class Fault(Exception):
    """Something the person at the terminal has to know, in one sentence."""
