"""The administrator's door: slurmdbd's books by sacctmgr, read in two commands and changed over one connection.

What Slurm 22.05 was seen to do:
* A command's time is round trips. Client and slurmdbd write a message in two parts without TCP_NODELAY, so that each
  way waits 44 ms for the other's delayed acknowledgement, on loopback too: 0.3 to 0.4 s for a line about a QOS, 0.4 to
  0.7 s about an account or a person, idle or loaded, however much the line changes. Hence lines are put together.
* A line that is refused (an unknown QOS, a default that is not in the list) changes nothing and the next one is read;
  the exit status is 1 then, and also after "Nothing modified".
* `modify user where name= account=` without a partition changes all of the user's rows; `partition=''` means the row
  without one. A QOS list and its default must be set in one line when the old default leaves the list.
* `list associations` prints what a row inherits as if it were its own; with WOPLimits it does not, and is quicker.
* 9,000 rows and 1,200 QOS are read in 4 to 6 s. Deleting people takes 0.1 s each and holds up who reads meanwhile.
* A limit of an association counts only where the job's QOS does not limit the same TRES (slurm.books.Limits); a QOS
  with MaxSubmitJobsPerUser lets a person with MaxSubmitJobs=0 submit. GrpSubmitJobs of the QOS overrules nothing.
* Names and descriptions become lower case. readline echoes what it reads and leaves control codes in it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

from slurm import lines, naming, rows
from slurm.base import Base
from slurm.books import Books
from slurm.contract import Unanswered
from slurm.orders import Order
from slurm.steps import Step

_PIECE = 500  # steps over one connection
_PATIENCE = 3.0  # seconds for a line, beside the deadline of a command
_MOST_NAMES = 500  # asked for by name: a command's word ends at 128 KiB


@dataclasses.dataclass(frozen=True)
class Sacctmgr:
    """Works through a gateway's commands and connections, with the token of Slurm's user `bancada`.

    `cluster` is its name in slurmdbd, needed where that serves several.
    """

    gateway: Base
    cluster: str = ""

    def books(self, accounts: Collection[str] | None = None, qos: Collection[str] = ()) -> Books:
        """Both commands at once: each is mostly waiting. root's row is asked for too, so that no answer is empty."""
        for name in (*(accounts or ()), *qos):
            naming.checked(name)
        with ThreadPoolExecutor(2) as two:
            people = two.submit(self._associations, accounts)
            kinds = two.submit(self._qos, None if accounts is None else qos)
            found, of_qos = people.result(), kinds.result()
        books = Books.of(rows.accounts(found), rows.qos(of_qos), rows.associations(found), governed=())
        return books if accounts is None else _only(books, accounts, qos)

    def _associations(self, accounts: Collection[str] | None) -> list[rows.Row]:
        where = _where("account", None if accounts is None else {"root", *accounts})
        where += [f"cluster={self.cluster}"] if self.cluster else []
        found = self._list("associations", rows.ASSOCIATION, ["where", "WOPLimits", *where])
        if not any(row["Account"] == "root" and not row["User"] for row in found):
            raise Unanswered("sacctmgr's answer lacks Slurm's own root account")
        return rows.of_one_cluster(found, self.cluster)

    def _qos(self, qos: Collection[str] | None) -> list[rows.Row]:
        return [] if qos is not None and not qos else self._list("qos", rows.QOS, _where("name", qos))

    def _list(self, what: str, fields: Sequence[str], where: Sequence[str]) -> list[rows.Row]:
        asked = ("-n", "-P", "list", what, *where, f"format={','.join(fields)}")
        return rows.of(self.gateway.commands.read(self.gateway.tokens.admin(), "sacctmgr", *asked), fields)

    def carry_out(self, steps: Sequence[Step]) -> Sequence[str]:
        """Many steps to a line; where a line of those is refused, each step has one of its own.

        slurmctld knows when the line ends: slurmdbd tells it at the commit, before sacctmgr is answered.
        """
        alone = [lines.line(step, self.cluster) for step in steps]  # raises before anything is said
        complaints: list[str] = []
        for at in range(0, len(steps), _PIECE):
            said = self._say(lines.merged(steps[at : at + _PIECE], self.cluster))
            complaints += self._say(alone[at : at + _PIECE]) if said else []
        return complaints

    def _say(self, words: Sequence[str]) -> list[str]:
        patience = self.gateway.commands.deadline + _PATIENCE * len(words)
        return self.gateway.commands.tell(
            self.gateway.tokens.admin(), "sacctmgr", "-i", lines=[*words, "quit"], deadline=patience
        )

    def cancel_any(self, job_id: int) -> None:
        self.gateway.cancel_with(self.gateway.tokens.admin(), job_id)

    def hold_any(self, job_id: int) -> None:
        self.gateway.hold_with(self.gateway.tokens.admin(), job_id)

    def order_any(self, order: Order) -> None:
        self.gateway.order_with(self.gateway.tokens.admin(), order)


def _where(word: str, names: Collection[str] | None) -> list[str]:
    """Nothing for all, which is also how very many are asked for."""
    if names is None or len(names) > _MOST_NAMES:
        return []
    return [f"{word}={','.join(sorted(names))}"]


def _only(books: Books, accounts: Collection[str], qos: Collection[str]) -> Books:
    return Books.of(
        (one for one in books.accounts.values() if one.name in accounts),
        (one for one in books.qos.values() if one.name in qos),
        (one for one in books.associations.values() if one.account in accounts),
        governed=(),
    )
