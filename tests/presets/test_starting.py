"""A table of parameters in a preset: text there, rows in the request."""

from __future__ import annotations

import pytest

from jobs.services import prepare
from jobs.specs import BadSpec
from tests.presets.conftest import RULES, Bench


def test_a_table_of_the_preset_and_rows_of_ones_own(bench: Bench) -> None:
    table = {"mode": "default", "value": "rate,name\n0.1,a\n0.2,b"}
    bench.preset("table", rules=RULES | {"parameters": table})
    spec, _chosen = prepare({"preset": "table", "name": "s"}, project=bench.project, by=bench.member)
    assert spec.options.parameters == ({"rate": 0.1, "name": "a"}, {"rate": 0.2, "name": "b"})
    assert spec.options.array == "0-1"
    own = [{"rate": "1"}, {"rate": "2"}, {"rate": "3"}]  # text stays text
    spec, _chosen = prepare({"preset": "table", "name": "s", "parameters": own}, project=bench.project, by=bench.member)
    assert list(spec.options.parameters) == own
    bench.preset("fixed", rules=RULES | {"parameters": table | {"mode": "fixed"}})
    with pytest.raises(BadSpec) as bad:
        prepare({"preset": "fixed", "name": "s", "parameters": own}, project=bench.project, by=bench.member)
    assert set(bad.value.errors) == {"parameters"}
    bench.preset("broken", rules=RULES | {"parameters": table | {"value": "rate,rate\n1,2"}})
    with pytest.raises(BadSpec) as bad:
        prepare({"preset": "broken", "name": "s"}, project=bench.project, by=bench.member)
    assert set(bad.value.errors) == {"parameters"}
