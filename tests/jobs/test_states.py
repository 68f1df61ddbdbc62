"""Every state of Slurm has a word, and different ends stay different."""

import pytest

from jobs import states
from jobs.states import NEXT, Phase, State, from_slurm, is_over, view, word

SLURM = [
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "CONFIGURING",
    "COMPLETING",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PENDING",
    "PREEMPTED",
    "RUNNING",
    "RESV_DEL_HOLD",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "REQUEUED",
    "RESIZING",
    "REVOKED",
    "SIGNALING",
    "SPECIAL_EXIT",
    "STAGE_OUT",
    "STOPPED",
    "SUSPENDED",
    "TIMEOUT",
    "LAUNCH_FAILED",
    "RECONFIG_FAIL",
    "POWER_UP_NODE",
    "UPDATE_DB",
]


@pytest.mark.parametrize("name", SLURM)
def test_every_state_of_slurm_has_a_word_and_a_look(name: str) -> None:
    state = from_slurm({name})
    assert state is not State.UNKNOWN
    assert view(state).label and view(state).icon


def test_the_ends_are_told_apart() -> None:
    ends = ["FAILED", "OUT_OF_MEMORY", "TIMEOUT", "NODE_FAIL", "CANCELLED", "PREEMPTED", "COMPLETED"]
    assert len({from_slurm({end}) for end in ends}) == len(ends)


def test_a_flag_says_more_than_the_base_state() -> None:
    assert from_slurm({"COMPLETED", "COMPLETING"}) is State.ENDING
    assert from_slurm({"PENDING", "REQUEUED"}) is State.REQUEUED
    assert from_slurm({"PENDING"}, "JobHeldUser") is State.HELD
    assert not is_over({"COMPLETED", "COMPLETING"})
    assert is_over({"CANCELLED"})


def test_what_we_do_not_know_is_said_so() -> None:
    assert from_slurm({"BRAND_NEW"}) is State.UNKNOWN


@pytest.mark.parametrize("phase", list(Phase))
def test_every_phase_has_a_word_and_followers(phase: Phase) -> None:
    assert word(phase, {"PENDING"}) in State
    assert phase in NEXT
    assert {view(s).key for s in State} == set(State.values) == {s.value for s in states._LOOK}
