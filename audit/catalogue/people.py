"""Events about people: sign-ins, sessions, tokens, what the directory says, what somebody was denied. 1xxx, 2xxx."""

from audit.actions import Action as A
from audit.catalogue.entry import D, Entry, F, Kind, R, RetentionClass

SESSION, ACCESS = RetentionClass.SESSION, RetentionClass.ACCESS
GOVERNANCE, INCIDENT = RetentionClass.GOVERNANCE, RetentionClass.INCIDENT

ENTRIES = (
    Entry(A.SIGNED_IN, 1001, SESSION, Kind.LOGON, D, "directory_id site_role session",
          "Who was in the portal, since when and from where; the first thing asked after a stolen password."),
    Entry(A.SIGN_IN_REFUSED, 1002, SESSION, Kind.LOGON, R + F, "reason login typed cause",
          "Guessing and locked or missing people are seen with their reason; what was typed only as a digest."),
    Entry(A.SIGNED_OUT, 1003, SESSION, Kind.LOGOFF, D, "session why",
          "How long somebody could act, and why it ended."),
    Entry(A.SESSIONS_ENDED, 1004, SESSION, Kind.LOGOFF, D, "sessions",
          "After a loss or a theft everything open was closed at one moment."),
    Entry(A.TOKEN_ISSUED, 1005, SESSION, Kind.RIGHT_GIVEN, D, "owner scopes expires",
          "A program may act for a person from now on, within these scopes."),
    Entry(A.TOKEN_REVOKED, 1006, SESSION, Kind.RIGHT_TAKEN, D, "owner why",
          "From here on whoever holds the secret can do nothing with it."),
    Entry(A.TOKEN_REFUSED, 1007, SESSION, Kind.REFUSAL, R, "owner why needed",
          "Somebody holds the secret of a dead token, or a program asks for more than it was given."),
    Entry(A.USER_CREATED, 2001, GOVERNANCE, Kind.ACCOUNT_MADE, D, "directory_id uid_number dn",
          "Since when the portal knows a person, and as whom in the institutional directory."),
    Entry(A.USER_CHANGED, 2002, GOVERNANCE, Kind.ACCOUNT_CHANGED, D, "username uid_number gid_number",
          "A login or a user number that moves to another person would hand over their files."),
    Entry(A.USER_CLOSED, 2003, GOVERNANCE, Kind.ACCOUNT_CLOSED, D, "why sessions tokens",
          "Who left can do nothing from this moment."),
    Entry(A.USER_REOPENED, 2004, GOVERNANCE, Kind.ACCOUNT_OPENED, D, "missing_since",
          "Who was closed can act again, and since when they had been missing."),
    Entry(A.ROLE_CHANGED, 2005, GOVERNANCE, Kind.RIGHT_GIVEN, D, "before after",
          "Site roles reach everything; each change is one line."),
    Entry(A.DIRECTORY_ALARM, 2006, INCIDENT, Kind.ALARM, F, "missing everybody people",
          "A directory that lost half of its people must not lock them out in silence."),
    Entry(A.ACCESS_REFUSED, 2007, ACCESS, Kind.REFUSAL, R, "permission subject key seen",
          "Who tried what was not theirs, page by page; probing shows as a row of these."),
)  # fmt: skip
