"""Events about keeping, proving and showing the trail: retention, holds, pseudonyms, guests, answers. 71xx."""

from audit.actions import Action as A
from audit.catalogue.entry import D, Entry, F, Kind, RetentionClass

ACCESS, TRAIL = RetentionClass.ACCESS, RetentionClass.TRAIL

ENTRIES = (
    Entry(A.TRAIL_VERIFIED, 7101, TRAIL, Kind.FINDING, D + F, "verification first last wrong",
          "That the trail was checked against its seals, by whom, and what came out."),
    Entry(A.BODIES_REMOVED, 7102, TRAIL, Kind.LOG_DELETED, D, "kind before count records digest key signature",
          "Which records lost their bodies when their time was over: signed, so that nobody else can say so."),
    Entry(A.RETENTION_CHANGED, 7103, TRAIL, Kind.LOG_CHANGED, D, "kind before after starts why",
          "Whoever shortens how long evidence is kept answers for it, and a week passes before it counts."),
    Entry(A.HOLD_PLACED, 7104, TRAIL, Kind.LOG_CHANGED, D, "reason person dataset since until ends",
          "Evidence that somebody needs is kept beyond its time."),
    Entry(A.HOLD_LIFTED, 7105, TRAIL, Kind.LOG_CHANGED, D, "reason why",
          "What was held goes the way of all others, a week later."),
    Entry(A.ACCESS_ASKED, 7106, ACCESS, Kind.READ, D, "person at count form",
          "Who asked who could see or use what, and of which day."),
    Entry(A.PERSON_REPORTED, 7107, ACCESS, Kind.READ, D, "form",
          "Who looked up all that is held on a person (LGPD art. 18)."),
    Entry(A.PSEUDONYM_ASKED, 7108, TRAIL, Kind.LOG_CHANGED, D, "pseudonym why",
          "Who had a person's data replaced, and why (LGPD art. 16 and 18)."),
    Entry(A.PSEUDONYM_GIVEN, 7109, TRAIL, Kind.LOG_CHANGED, D, "pseudonym references",
          "That the person's names and addresses beside the trail are gone."),
    Entry(A.GUEST_ADMITTED, 7110, TRAIL, Kind.RIGHT_GIVEN, D, "projects datasets since until ends why",
          "Somebody from outside may read a part of the evidence, until a day."),
    Entry(A.GUEST_ENDED, 7111, TRAIL, Kind.RIGHT_TAKEN, D, "why",
          "A guest auditor's time was ended before its day."),
    Entry(A.TRAIL_SETTINGS_CHANGED, 7112, TRAIL, Kind.LOG_CHANGED, D, "part before after settings",
          "With which key, to which places outside and for whom the trail is sealed from here on; secrets by digest."),
)  # fmt: skip
