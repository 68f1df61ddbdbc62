"""Every reason people meet has a sentence of its own, in words a researcher knows, in both languages."""

from __future__ import annotations

import re

import pytest
from django.utils import translation

from jobs import reasons
from jobs.reason_words import FAMILIES, FAMILY, THINGS, WAITING
from jobs.states import State

# The commonest of Slurm's reasons, from its manual and its source.
COMMON = re.findall(
    r"\w+",
    """
Resources Priority Dependency DependencyNeverSatisfied BeginTime JobHeldUser JobHeldAdmin JobHoldMaxRequeue
JobArrayTaskLimit Licenses Cleaning Prolog NodeDown ReqNodeNotAvail Reservation ReservationDeleted PartitionDown
PartitionInactive PartitionNodeLimit PartitionTimeLimit PartitionConfig BadConstraints AccountNotAllowed InvalidAccount
InvalidQOS QOSNotAllowed QOSUsageThreshold QOSGrpGRES QOSGrpGRESMinutes QOSMaxGRESPerUser QOSMaxGRESPerJob QOSMinGRES
AssocGrpGRES AssocGrpGRESMinutes QOSMaxJobsPerUserLimit QOSGrpJobsLimit QOSGrpSubmitJobsLimit AssocMaxJobsLimit
AssocGrpJobsLimit QOSMaxWallDurationPerJobLimit AssociationJobLimit AssociationResourceLimit QOSResourceLimit
QOSJobLimit JobLaunchFailure WaitingForScheduling SystemFailure
""",
)
# Words for the administrator's pages only.
JARGON = re.compile(
    r"\b(association|account|QOS|TRES|GRES|slurmdbd|slurmctld|cgroup|unknown|adopt|quota|operator)\b", re.IGNORECASE
)
NODES = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"


def said(reason: reasons.Reason) -> list[str]:
    return [str(reason.sentence), str(reason.who), str(reason.hint)]


def test_the_commonest_forty_are_there() -> None:
    assert len(COMMON) >= 40
    assert [code for code in COMMON if code not in WAITING] == []


@pytest.mark.parametrize("code", sorted(WAITING))
def test_each_says_what_who_and_what_to_try_without_jargon(code: str) -> None:
    with translation.override("en"):
        reason = reasons.explain(code)
        assert reason is not None
        for text in said(reason):
            assert text and not JARGON.search(text), text


@pytest.mark.parametrize("code", sorted({*WAITING, "QOSGrpCpuLimit", "AssocMaxMemPerJob", "SomethingNew"}))
def test_each_is_translated(code: str) -> None:
    reason = reasons.explain(code)
    assert reason is not None
    with translation.override("en"):
        english = said(reason)
    with translation.override("pt-br"):
        assert all(a != b for a, b in zip(english, said(reason), strict=True)), said(reason)


@pytest.mark.parametrize("text", ["", "None", " ", "(None)"])
def test_no_reason_is_no_reason(text: str) -> None:
    assert reasons.explain(text) is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(Resources)", "Resources"),
        ("ReqNodeNotAvail, UnavailableNodes:gpu[01-02]", "ReqNodeNotAvail"),
        ("ReqNodeNotAvail,_UnavailableNodes:gpu01", "ReqNodeNotAvail"),
        ("ReqNodeNotAvail, May be reserved for other job", "ReqNodeNotAvail"),
        (NODES, "NodesUnavailable"),
        (NODES.replace(" ", "_"), "NodesUnavailable"),
        ("launch_failed_requeued_held", "launch failed requeued held"),
        ("Job's account not permitted to use this partition (big allows a not b)", "AccountNotAllowed"),
    ],
)
def test_every_form_slurm_writes_is_recognised(text: str, code: str) -> None:
    reason = reasons.explain(text)
    assert reason is not None
    assert reason.code == code


def test_the_nodes_slurm_names_are_named() -> None:
    reason = reasons.explain("ReqNodeNotAvail, UnavailableNodes:gpu[01-02]")
    assert reason is not None
    with translation.override("en"):
        assert str(reason.sentence) == "These nodes cannot be used now: gpu[01-02]."


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("QOSGrpCpuLimit", "in use: CPUs"),
        ("AssocGrpMemLimit", "in use: memory"),
        ("AssocGrpCPUMinutesLimit", "not enough for this job: CPUs"),
        ("QOSGrpWallLimit", "not enough for this job: time"),
        ("QOSMaxMemoryPerUser", "one person may use at once: memory"),
        ("QOSMaxCpuPerJobLimit", "more than one job may have: CPUs"),
        ("MaxNodePerAccount", "in use: nodes"),
        ("QOSMinCpuNotSatisfied", "less than a job must ask for here: CPUs"),
    ],
)
def test_limits_named_by_pattern_fall_into_their_family(code: str, part: str) -> None:
    reason = reasons.explain(code)
    assert reason is not None
    with translation.override("en"):
        assert part in str(reason.sentence)


def test_a_family_exists_for_every_thing_and_kind() -> None:
    for thing in re.findall(r"\w+", "BB Billing Cpu CPU Energy GRES License Mem Memory Node Wall Unknown"):
        assert FAMILY.fullmatch(f"QOSGrp{thing}Limit")
        assert thing.lower() in THINGS
    assert set(FAMILIES) == {"total", "hours", "person", "job", "least"}


def test_what_we_have_no_sentence_for_keeps_slurms_own_word() -> None:
    reason = reasons.explain("FedJobLock")
    assert reason is not None
    with translation.override("en"):
        assert "FedJobLock" in str(reason.sentence)


@pytest.mark.parametrize(
    ("state", "code", "number", "part"),
    [
        (State.FAILED, 1, 0, "exit code 1"),
        (State.FAILED, 127, None, "does not exist on the node"),
        (State.FAILED, 0, 9, "signal 9"),
        (State.FAILED, 0, 15, "SIGTERM"),
        (State.FAILED, 0, 53, "could not open the file"),
        (State.FAILED, 0, 99, "signal 99"),
        (State.FAILED, None, None, "no exit code"),
        (State.OUT_OF_MEMORY, 0, 125, "memory"),
        (State.TIMEOUT, 0, 15, "time limit"),
        (State.NODE_FAILURE, None, None, "node failed"),
        (State.PREEMPTED, None, None, "higher priority"),
        (State.REFUSED, None, None, "did not accept"),
        (State.LOST, None, None, "no record"),
    ],
)
def test_each_end_has_its_own_words(state: State, code: int | None, number: int | None, part: str) -> None:
    reason = reasons.explain_end(state, code, number)
    assert reason is not None
    with translation.override("en"):
        english = said(reason)
    assert part in english[0]
    with translation.override("pt-br"):
        assert english[0] != said(reason)[0]


def test_cancelled_says_by_whom() -> None:
    known, by_nobody = reasons.explain_end("cancelled", by="Ana"), reasons.explain_end("cancelled")
    assert known and by_nobody
    with translation.override("en"):
        assert str(known.sentence) == "It was cancelled by Ana."
        assert str(by_nobody.sentence) == "It was cancelled."


@pytest.mark.parametrize("state", [State.COMPLETED, State.RUNNING, State.WAITING, State.HANDING])
def test_nothing_to_explain_about_what_went_well_or_goes_on(state: State) -> None:
    assert reasons.explain_end(state, 0, 0) is None
