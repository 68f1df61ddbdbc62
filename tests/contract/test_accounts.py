"""The administrator's door: what is planned and carried out is what the books then say and what Slurm then enforces."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets

import pytest

from slurm.books import Account, Association, Books, Limits, Qos
from slurm.contract import Refused, Unanswered, Unreachable
from slurm.plan import Plan, differences, plan
from slurm.steps import Kind, Step
from tests.contract.lab import Lab, is_over, is_running, submission

HOSTILE = 'A, "test"; of=mine | it\'s\nquit\n\tação 电脑 \u2028\\ $(id) `id`'


def submit(lab: Lab, account: str, **changes: object) -> int:
    """As davi, under his own project's QOS or that which is called as the account."""
    qos = lab.davi.qos if account == lab.davi.account else account
    asked = submission(lab, lab.davi, **{"account": account, "qos": qos, **changes})
    return lab.gateway.submit(asked, as_user="davi")


@dataclasses.dataclass
class Ground:
    """A new account with a QOS of the same name, and what is wanted of both."""

    lab: Lab
    name: str

    def row(self, partition: str = "gpu", limits: Limits | None = None, user: str = "davi") -> Association:
        return Association(self.name, user, partition, frozenset({self.name}), self.name, limits or Limits())

    def wanted(self, *rows: Association, limits: Limits | None = None, deny_on_limit: bool = False) -> Books:
        qos = Qos(self.name, limits or Limits(gpus_at_once=2, longest_minutes=30), deny_on_limit, HOSTILE)
        return Books.of([Account(self.name, HOSTILE, HOSTILE)], [qos], rows)

    def there(self) -> Books:
        return self.lab.accounts.books([self.name], [self.name])

    def make(self, wanted: Books) -> Plan:
        """Carried out, and nothing is left to do then."""
        done = plan(wanted, self.there())
        assert self.lab.accounts.carry_out(done.steps) == []
        assert plan(wanted, self.there()) == Plan()
        return done

    def submit(self, **changes: object) -> int:
        return submit(self.lab, self.name, **changes)

    def refuses(self, **changes: object) -> int:
        """Slurm's code for the refusal."""
        with pytest.raises(Refused) as refused:
            self.submit(**changes)
        return refused.value.code

    def reason(self, job_id: int) -> str:
        record = self.lab.gateway.job(job_id)
        return record.reason if record else ""


@pytest.fixture
def ground(lab: Lab) -> Ground:
    ground = Ground(lab, f"t{secrets.token_hex(4)}")
    ground.make(ground.wanted(ground.row()))
    return ground


def test_what_is_planned_is_there_and_enforced_at_once(lab: Lab, ground: Ground) -> None:
    rows = {key[1:]: row for key, row in ground.there().associations.items()}
    assert rows == {("", ""): rows["", ""], ("davi", "gpu"): ground.row()}
    assert ground.submit()
    assert ground.refuses(partition="prep", gpus=0, gpu_type="") == 2045


def test_in_several_partitions_with_a_share_in_each(lab: Lab, ground: Ground) -> None:
    share = Limits(1, {"a100": 1}, 600, {"a100": 300}, 20, 3, 2)
    wanted = ground.wanted(ground.row("gpu", share), ground.row("large"), ground.row("prep", Limits(jobs_submitted=1)))
    ground.make(wanted)
    assert ground.submit(partition="prep", gpus=0, gpu_type="")
    assert ground.refuses(partition="prep", gpus=0, gpu_type="") == 2050
    assert ground.submit()
    clear = Limits(gpus_by_type={"h100": 4}, gpu_minutes=1200)
    kinds = [step.kind for step in ground.make(ground.wanted(ground.row("gpu", clear), ground.row("prep"))).steps]
    assert kinds == [Kind.CHANGE_USER, Kind.CHANGE_USER, Kind.STOP_USER]
    assert ground.there().associations[ground.name, "davi", "large"].is_stopped
    assert ground.refuses(partition="large", gpu_type="h100") == 2050
    assert ground.submit(partition="prep", gpus=0, gpu_type="")


def test_a_share_holds_a_person_and_lets_through_again(lab: Lab, ground: Ground) -> None:
    ground.make(ground.wanted(ground.row(limits=Limits(gpus_at_once=1))))
    first, second = lab.sbatch(lab.davi, ground.name), lab.sbatch(lab.davi, ground.name)
    lab.until(is_running(lab, first))
    lab.until(lambda: ground.reason(second) == "AssocGrpBilling")
    ground.make(ground.wanted(ground.row(limits=Limits(gpus_at_once=2))))
    lab.until(is_running(lab, second), seconds=60)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(gpus_by_type={"a100": 0}), "AssocGrpGRES"),
        (Limits(jobs_running=0), "AssocMaxJobsLimit"),
        (Limits(longest_minutes=2), "AssocMaxWallDurationPerJobLimit"),
    ],
)
def test_each_limit_of_a_person_holds_a_job_from_a_shell(lab: Lab, ground: Ground, limits: Limits, reason: str) -> None:
    """Where the QOS limits something else."""
    ground.make(ground.wanted(ground.row(limits=limits), limits=Limits(gpus_at_once=8)))
    job_id = lab.sbatch(lab.davi, ground.name)
    assert job_id
    lab.until(lambda: ground.reason(job_id) == reason)


def test_what_the_qos_limits_too_is_not_looked_at(lab: Lab, ground: Ground) -> None:
    """Slurm's way, and why a share is counted in another TRES than the allocation."""
    share = Limits(gpus_by_type={"a100": 0}, longest_minutes=2)
    wanted = ground.wanted(ground.row(limits=share), limits=Limits(gpus_by_type={"a100": 4}, longest_minutes=30))
    ground.make(wanted)
    key = ground.row().key
    assert wanted.overruled() == [(key, "longest_minutes", ground.name), (key, "gpus_by_type", ground.name)]
    lab.until(is_running(lab, lab.sbatch(lab.davi, ground.name)))


def test_the_limit_is_a_wall_that_lets_through_again(lab: Lab, ground: Ground) -> None:
    first, second = ground.submit(gpus=2), ground.submit()
    for job_id in (first, second):
        lab.gateway.release(job_id, as_user="davi")
    lab.until(is_running(lab, first))
    lab.until(lambda: ground.reason(second) == "QOSGrpGRES")
    ground.make(ground.wanted(ground.row(), limits=Limits(gpus_at_once=3)))
    lab.until(is_running(lab, second), seconds=60)


def test_deny_on_limit_refuses_what_breaks_it_alone(lab: Lab, ground: Ground) -> None:
    ground.make(
        ground.wanted(ground.row(), limits=Limits(gpus_at_once=2, gpus_by_type={"a100": 1}), deny_on_limit=True)
    )
    assert ground.refuses(gpus=2) == 2050
    assert ground.submit(gpus=1)


def test_somebody_stopped_submits_nothing_and_keeps_what_runs(lab: Lab, ground: Ground) -> None:
    running = ground.submit()
    lab.gateway.release(running, as_user="davi")
    lab.until(is_running(lab, running))
    (step,) = ground.make(ground.wanted()).steps
    assert step.kind is Kind.STOP_USER and step.removes
    assert ground.refuses() == 2050 and lab.sbatch(lab.davi, ground.name) == 0
    assert lab.gateway.job(running).states == {"RUNNING"}  # type: ignore[union-attr]
    ground.make(ground.wanted(ground.row()))
    assert ground.submit() and lab.sbatch(lab.davi, ground.name)


def test_a_limit_of_the_qos_that_lets_the_stopped_submit_is_taken_away(lab: Lab, ground: Ground) -> None:
    """Slurm looks at MaxSubmitJobs of a person only where the QOS has no limit per user or account."""
    ground.make(ground.wanted())
    for word in ("MaxSubmitJobsPerUser", "MaxSubmitJobsPerAccount"):
        lab.another_limit(ground.name, word, 5)
        assert lab.sbatch(lab.davi, ground.name)
        (step,) = ground.make(ground.wanted()).steps
        assert step.kind is Kind.CHANGE_QOS and ground.refuses() == 2050


def test_a_closed_qos_takes_nothing(lab: Lab, ground: Ground) -> None:
    ground.make(ground.wanted(ground.row(), limits=Limits(jobs_submitted=0)))
    assert ground.there().qos[ground.name].is_closed
    assert ground.refuses() == 2050 and lab.sbatch(lab.davi, ground.name) == 0
    ground.make(ground.wanted(ground.row(), limits=Limits(jobs_submitted=1)))
    assert ground.submit() and ground.refuses() == 2050


def test_from_one_qos_to_the_next(lab: Lab, ground: Ground) -> None:
    """The default changes with the list, and the old one is closed last."""
    old, new = ground.name, f"{ground.name}-2"
    row = dataclasses.replace(ground.row(), qos=frozenset({new}), default_qos=new)
    wanted = Books.of([Account(old)], [Qos(new, Limits(gpus_at_once=1)), Qos(old, Limits(jobs_submitted=0))], [row])
    done = plan(wanted, lab.accounts.books([old], [old, new]))
    assert [step.kind for step in done.steps] == [Kind.ADD_QOS, Kind.CHANGE_USER, Kind.CHANGE_QOS]
    assert lab.accounts.carry_out(done.steps) == []
    assert plan(wanted, lab.accounts.books([old], [old, new])) == Plan()
    assert ground.refuses() == 2066 and ground.submit(qos=new)


def test_a_row_for_every_partition_is_not_the_others(lab: Lab, ground: Ground) -> None:
    ground.make(ground.wanted(ground.row(""), ground.row("gpu")))
    ground.make(ground.wanted(ground.row("gpu")))
    stopped = {key[2]: row.is_stopped for key, row in ground.there().associations.items() if key[1]}
    assert stopped == {"": True, "gpu": False}


def test_limits_of_an_accounts_own_row(lab: Lab, ground: Ground) -> None:
    own = Association(ground.name, limits=Limits(gpus_at_once=0))
    ground.make(ground.wanted(ground.row(), own))
    job_id = lab.sbatch(lab.davi, ground.name)
    lab.until(lambda: ground.reason(job_id) == "AssocGrpBilling")
    assert ground.there().associations[ground.row().key] == ground.row()  # its own, without what it inherits


def test_what_another_hand_changed_is_seen_and_restored(lab: Lab, ground: Ground) -> None:
    wanted = ground.wanted(ground.row(limits=Limits(gpus_at_once=1)))
    ground.make(wanted)
    lab.another_hand(ground.name, "davi", gpus=8)
    (seen,) = differences(wanted, ground.there())
    assert (seen.account, seen.user, seen.partition) == (ground.name, "davi", "gpu")
    assert (seen.field, seen.wanted, seen.there) == ("gpus_at_once", 1, 8)
    ground.make(wanted)
    assert differences(wanted, ground.there()) == []


def test_steps_done_twice_and_steps_that_cannot_be_done(lab: Lab, ground: Ground) -> None:
    """One line's refusal keeps no other from being done, not even those put together with it."""
    done = plan(ground.wanted(ground.row("prep")), ground.there())
    for _ in range(2):
        assert lab.accounts.carry_out(done.steps) == []
    nowhere = dataclasses.replace(ground.row(), account="no-such-account")
    no_qos = dataclasses.replace(ground.row("large"), qos=frozenset({"no-such-qos"}), default_qos="no-such-qos")
    absent = ground.row("prep", user="felipe")
    good = ground.row("gpu", user="felipe")
    steps = [Step(Kind.ADD_USER, row) for row in (nowhere, no_qos, good)] + [Step(Kind.STOP_USER, absent, absent)]
    said = lab.accounts.carry_out(steps)
    assert any("no-such-account" in words for words in said) and any("no-such-qos" in words for words in said)
    assert good.key in ground.there().associations and absent.key not in ground.there().associations


def test_broken_off_in_the_middle_it_arrives_in_the_end(lab: Lab, ground: Ground) -> None:
    """Each time a bit further, from whatever was done; nothing is done twice that matters."""
    people = ("davi", "felipe", "elisa", "ana")
    rows = [ground.row("gpu", Limits(gpus_at_once=1 + number), user) for number, user in enumerate(people)]
    wanted, left = ground.wanted(*rows, limits=Limits(gpus_at_once=7)), []
    while (steps := plan(wanted, ground.there()).steps) and len(left) < 8:
        left.append(len(steps))
        # at first before it can have begun, however quick the machine
        with lab.sacctmgr_killed(0.0025 * 4 ** len(left)), contextlib.suppress(Unanswered):
            lab.accounts.carry_out(steps)
    assert left == sorted(left, reverse=True) and 1 < len(left) < 8
    ground.make(wanted)


def test_without_slurmdbd_nothing_is_changed(lab: Lab, ground: Ground) -> None:
    steps = plan(ground.wanted(), ground.there()).steps
    with lab.slurmdbd_down():
        with pytest.raises(Unreachable):
            lab.accounts.carry_out(steps)
        with pytest.raises((Unreachable, Unanswered)):
            ground.there()
    assert plan(ground.wanted(), ground.there()).steps == steps


def test_what_cannot_be_a_name_is_refused_before_anything_is_done(lab: Lab, ground: Ground) -> None:
    good = Step(Kind.ADD_USER, ground.row("prep"))
    for name in ("", "A", "x y", "a,b", "a=b", "-i", "x\n", "é"):
        with pytest.raises(Refused):
            lab.accounts.carry_out([good, Step(Kind.ADD_ACCOUNT, Account(name))])
        with pytest.raises(Refused):
            lab.accounts.books([name])
    assert good.after.key not in ground.there().associations  # type: ignore[union-attr]


def test_all_the_books(lab: Lab, ground: Ground) -> None:
    books = lab.accounts.books()
    assert {"root", "visao", ground.name} <= books.accounts.keys() and {"normal", ground.name} <= books.qos.keys()
    assert books.associations[ground.row().key] == ground.row()
    assert lab.accounts.books(["no-such-account"], ["no-such-qos"]) == Books()


def test_the_administrator_cancels_anybody(lab: Lab, ground: Ground) -> None:
    job_id = ground.submit()
    lab.accounts.cancel_any(job_id)
    over = lab.until(is_over(lab, job_id))
    assert over is not None and over.states == {"CANCELLED"}
    for number in (job_id, 60_000_000):
        with pytest.raises(Refused):
            lab.accounts.cancel_any(number)
