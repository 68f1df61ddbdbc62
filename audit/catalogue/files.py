"""Events about files in a project's folder: each look into another's file, each taking out, each change. 52xx."""

from audit.actions import Action as A
from audit.catalogue.entry import D, Entry, F, Kind, RetentionClass

ACCESS = RetentionClass.ACCESS

ENTRIES = (
    Entry(A.FILE_READ, 5201, ACCESS, Kind.READ, D, "path size owner uid", "Whose file somebody else looked into."),
    Entry(A.FILE_DOWNLOADED, 5202, ACCESS, Kind.TAKEN_OUT, D, "path kind size",
          "Which file or folder somebody began to take out of the portal."),
    Entry(A.FILE_HANDED_OUT, 5203, ACCESS, Kind.TAKEN_OUT, D + F, "path kind bytes digest",
          "How much of it went out, and its SHA-256; failed where it broke off."),
    Entry(A.FILE_CHANGING, 5208, ACCESS, Kind.CHANGED, D, "act path to size whole",
          "What was about to be done to a file; without an event of its end nobody knows whether it was."),
    Entry(A.FILE_UPLOADED, 5204, ACCESS, Kind.FILE_MADE, D + F, "path size digest replaced why",
          "What somebody brought in, by its SHA-256, and whether it took another's place."),
    Entry(A.FOLDER_MADE, 5205, ACCESS, Kind.FILE_MADE, D + F, "path made why",
          "Since when the folder is there, by whom."),
    Entry(A.FILE_RENAMED, 5206, ACCESS, Kind.FILE_RENAMED, D + F, "path to size kind why",
          "Where something went that was there before."),
    Entry(A.FILE_DELETED, 5207, ACCESS, Kind.FILE_GONE, D + F, "path kind size uid whole why",
          "Who took away what, and whose it was."),
    Entry(A.FILE_UNPACKED, 5209, ACCESS, Kind.FILE_MADE, D + F, "path to size digest files folders bytes why",
          "Which zip became which folder, by its SHA-256, and how much came out of it."),
)  # fmt: skip
