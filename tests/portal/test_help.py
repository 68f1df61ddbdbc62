"""Help is made from the tables the portal works by, and open to whoever has not signed in yet."""

from __future__ import annotations

import pytest
from django.test import Client

from access.permissions import Permission
from access.roles import Role, grants_of
from jobs.reason_words import WAITING
from jobs.states import State
from portal.help_words import STATES
from portal.views import rights

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("language", ["en", "pt-br"])
def test_the_page_is_there_for_everybody(client: Client, language: str) -> None:
    response = client.get("/help", headers={"accept-language": language})
    assert response.status_code == 200
    text = response.content.decode()
    assert f'lang="{language}"' in text
    assert all(code.replace("'", "&#x27;") in text for code in WAITING)


def test_every_state_is_explained() -> None:
    assert set(STATES) == set(State)


def test_the_table_of_roles_says_what_the_gate_does() -> None:
    submit = next(row for row in rights() if str(row["label"]) in ("Submit jobs", "Enviar jobs"))
    yes = [cell == "yes" for _label, cell in submit["cells"][:4]]
    assert yes == [str(Permission.JOB_SUBMIT) in grants_of(role) for role in Role]
    cancel = next(row for row in rights() if row["own_label"])
    assert [cell for _label, cell in cancel["cells"]] == ["yes", "yes", "own", "", "yes", ""]
