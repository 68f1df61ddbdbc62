"""Curves out of lines: JSON, printed dictionaries, a project's pattern; anything else is nothing."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from jobs import curves


def test_json_lines_become_curves() -> None:
    data = b'start\n{"step": 1, "loss": 2.5, "acc": 0.1}\nnoise\n{"step": 2, "loss": 1.5, "acc": 0.4, "time": 17}\n'
    found = curves.parse(data)
    loss = found.curves["loss"]
    assert found.counted_by == "step" and set(found.curves) == {"loss", "acc"}
    assert [(point.x, point.y) for point in loss.drawn()] == [(1, 2.5), (2, 1.5)]
    assert data[loss.points[1].at :].startswith(b'{"step": 2')
    assert (loss.best.y, found.curves["acc"].best.y) == (1.5, 0.4)  # type: ignore[union-attr]


def test_what_a_trainer_prints_of_a_dictionary() -> None:
    found = curves.parse(b"{'loss': 0.51, 'learning_rate': 1e-05, 'epoch': 1.0}\n{'loss': 0.4, 'epoch': 2.0}\n")
    assert found.counted_by == "epoch"
    assert [(point.x, point.y) for point in found.curves["loss"].points] == [(1, 0.51), (2, 0.4)]


def test_nested_values_and_what_is_no_number() -> None:
    found = curves.parse(b'{"train": {"loss": 1}, "name": "x", "ok": true, "bad": NaN, "huge": 1e999, "list": [1]}\n')
    assert set(found.curves) == {"train/loss"}


def test_a_pattern_of_the_project() -> None:
    form = curves.pattern("epoch {epoch}/60  loss {loss}")
    found = curves.parse(b"epoch 1/60  loss 4.5\nepoch 2/60  loss 1.2e-1\nloss 9\n", form)
    assert [(point.x, point.y) for point in found.curves["loss"].points] == [(1, 4.5), (2, 0.12)]


@pytest.mark.parametrize(
    "text", ["loss", "", "{a}{a}", "{1}", "x" * 300 + "{a}", "".join(f"{{a{n}}} " for n in range(11))]
)
def test_patterns_that_are_none(text: str) -> None:
    with pytest.raises(curves.BadPattern):
        curves.pattern(text)


def test_a_long_run_is_thinned_out_and_keeps_last_and_best() -> None:
    lines = [json.dumps({"step": n, "loss": 1.0 if n != 7777 else 0.001}) for n in range(50_000)]
    curve = curves.parse("\n".join(lines).encode()).curves["loss"]
    assert len(curve.drawn()) <= 2 * curves.MOST_POINTS + 1
    assert curve.drawn()[-1].x == 49_999 and curve.best and curve.best.x == 7777


def test_the_number_of_curves_is_bounded() -> None:
    data = json.dumps({f"m{n}": n for n in range(90)}).encode()
    assert len(curves.parse(data).curves) == curves.MOST_SERIES


@given(some.binary(max_size=400))
def test_any_bytes_can_be_read(data: bytes) -> None:
    curves.parse(b"{" + data + b"}\n" + data, curves.pattern("loss {loss}"))


@pytest.mark.parametrize("text", ["a {a} b {b} c {c}", "{a} {b}x", " {a} b", "{a}1{b}1{c}1{d}1{e}1{f}x"])
def test_lines_made_to_be_slow_are_not(text: str) -> None:
    form = curves.pattern(text)
    hostile = (b"a " + b"1" * 4000 + b"\n") * 50 + b"{" * 8000 + b"}" * 100 + b"\n" + b"{'a':" * 1000 + b"}" * 1000
    hostile += (b"1" * 8000 + b"\n" + b" " * 8000 + b"y\n" + b"1 " * 4000 + b"\n") * 20
    began = time.process_time()
    assert not curves.parse(hostile, form)
    assert time.process_time() - began < 5
