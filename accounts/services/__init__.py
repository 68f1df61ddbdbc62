"""What changes a person, a session or a token; each change with its event, in one transaction."""

from accounts.services.identify import WrongPassword, identify
from accounts.services.people import Closed, Taken, claimants, deactivate, remember, step_aside
from accounts.services.sessions import end_all_sessions, end_session, expire, sign_in, sign_out
from accounts.services.tokens import TooManyTokens, issue_token, known_token, live_tokens, revoke_token, token_user

__all__ = [
    "Closed",
    "Taken",
    "TooManyTokens",
    "WrongPassword",
    "claimants",
    "deactivate",
    "end_all_sessions",
    "end_session",
    "expire",
    "identify",
    "issue_token",
    "known_token",
    "live_tokens",
    "remember",
    "revoke_token",
    "sign_in",
    "sign_out",
    "step_aside",
    "token_user",
]
