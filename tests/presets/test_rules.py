"""What a preset makes of what somebody gives; no database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import translation
from hypothesis import given, settings
from hypothesis import strategies as st

from presets import rules

RULES: dict[str, Any] = {
    "gpus": {"mode": "default", "value": 1, "min": 1, "max": 4},
    "nodes": {"mode": "fixed", "value": 1},
    "cpus": {"mode": "default", "value": 4, "choices": [2, 4, 8]},
    "requeue": {"mode": "hidden", "value": True},
    "script": {"mode": "fixed", "value": "#!/bin/bash\ntrue\n"},
    "constraint": {"mode": "default", "value": ""},
}


@pytest.fixture(autouse=True, scope="module")
def english() -> Iterator[None]:
    with translation.override("en"):
        yield


def test_what_is_not_given_is_the_presets() -> None:
    raw, errors = rules.settle(RULES, {"name": "run", "gpus": "", "cpus": None})
    assert errors == {}
    assert raw["gpus"] == 1 and raw["cpus"] == 4 and raw["nodes"] == 1 and raw["requeue"] is True
    assert raw["script"] == "#!/bin/bash\ntrue\n" and raw["name"] == "run"


@pytest.mark.parametrize(
    ("field", "given", "said"),
    [
        ("gpus", "5", "1 to 4"), ("gpus", 0, "1 to 4"), ("gpus", "many", "1 to 4"), ("gpus", True, "1 to 4"),
        ("gpus", -1, "1 to 4"), ("nodes", 2, "sets this to 1"), ("cpus", 16, "2, 4, 8"), ("requeue", False, "sets this"),
        ("requeue", "off", "sets this"), ("script", "#!/bin/sh\n", "its own script"), ("gpus", "9" * 30, "1 to 4"),
    ],
)  # fmt: skip
def test_what_it_does_not_allow_is_refused_by_field(field: str, given: Any, said: str) -> None:
    _raw, errors = rules.settle(RULES, {field: given})
    assert list(errors) == [field] and said in errors[field][0]


def test_the_same_value_in_another_form_is_no_other() -> None:
    same = {"nodes": " 1 ", "requeue": "on", "script": "#!/bin/bash\r\ntrue\r\n", "gpus": 4, "cpus": "8"}
    assert rules.settle(RULES, same)[1] == {}


values = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 20), st.text(max_size=5), st.sampled_from(["on", "1", "4"])
)


@given(st.dictionaries(st.sampled_from([*rules.FIELDS, "environment"]), values, max_size=8))
@settings(max_examples=100)
def test_what_passes_is_within_the_rules(asked: dict[str, Any]) -> None:
    """Whatever comes: without an error each fixed field has its value and each number lies in its range."""
    raw, errors = rules.settle(RULES, asked)
    if errors:
        assert set(errors) <= set(RULES)
        return
    assert rules.plain("nodes", raw["nodes"]) == 1 and rules.plain("requeue", raw["requeue"]) is True
    assert 1 <= rules.plain("gpus", raw["gpus"]) <= 4 and rules.plain("cpus", raw["cpus"]) in (2, 4, 8)


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ("gpu", {"mode": "fixed", "value": 1}), ("gpus", {"mode": "often", "value": 1}), ("gpus", None),
        ("gpus", {"mode": "fixed"}), ("gpus", {"mode": "default", "value": 9, "max": 4}),
        ("gpus", {"mode": "default", "min": 4, "max": 1}), ("gpus", {"mode": "default", "value": "four"}),
        ("partition", {"mode": "default", "min": 1}), ("gpus", {"mode": "default", "min": 1, "choices": [1]}),
        ("requeue", {"mode": "fixed", "value": "yes"}), ("gpus", {"mode": "default", "choices": ["x"]}),
        ("script", {"mode": "default", "value": "#" * 70_000}), ("gpus", {"mode": "default", "step": 2}),
    ],
)  # fmt: skip
def test_rules_that_cannot_be_are_named(field: str, rule: Any) -> None:
    assert list(rules.faults({field: rule})) == [field]


def test_good_rules_have_no_fault() -> None:
    assert rules.faults(RULES) == {}
