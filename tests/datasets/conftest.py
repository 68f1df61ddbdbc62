"""A dataset with its steward, a project that would use it, and everything a permission takes."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from django.utils import timezone

from access.roles import Role
from datasets.models import Agreement, Dataset, Grant
from datasets.services import agreements, asking, registering, terms, versions
from projects.models import Classification
from tests.factories import make_member, make_project, make_user

WHOLE = {"description": "Scans of the demo.", "licence": "CC BY 4.0", "retention": "Until the end of 2030."}
PERSONAL = WHOLE | {
    "classification": Classification.PERSONAL, "legal_basis": "7-IV", "controller": "Demo University",
    "processor": "Demo Centre", "ethics": "CAAE 0", "transfer": "no",
}  # fmt: skip


def today(days: int = 0) -> date:
    """So many days from now (UTC)."""
    return timezone.now().date() + timedelta(days=days)


class Shelf:
    """A project that owns the dataset `atlas`, its steward, and the project `users` with a PI and a member."""

    def __init__(self) -> None:
        self.home = make_project("arquivo")
        self.steward = make_user("curadora")
        self.owner_pi = make_member(self.home, Role.PI)
        self.users = make_project("leitores")
        self.pi = make_member(self.users, Role.PI, username="coordenador")
        self.member = make_member(self.users, username="membro")
        self.stranger = make_member(make_project("outros"))
        self.dataset = self.register("atlas")
        self.version = versions.add(dataset=self.dataset, label="v1", path="/srv/data/atlas/v1", by=self.steward)

    def register(self, code: str, **fields: Any) -> Dataset:
        """A draft."""
        return registering.register(
            project=self.home, steward=self.steward, by=self.owner_pi, code=code, name=code.title(), **(WHOLE | fields)
        )

    def approved(self, **fields: Any) -> Dataset:
        """`atlas`, approved."""
        if fields:
            self.dataset = registering.change(dataset=self.dataset, by=self.steward, **fields)
        if terms.in_force(self.dataset) is None:
            self.under_terms(self.dataset)
        self.dataset = registering.approve(dataset=self.dataset, by=self.steward)
        return self.dataset

    def under_terms(self, dataset: Dataset) -> None:
        """Terms that the two of the project that would use it have accepted."""
        found = terms.put_in_force(dataset=dataset, text="Be careful.", by=self.steward)
        for person in (self.pi, self.member):
            terms.accept(dataset=dataset, number=found.number, by=person)

    def personal(self, text: str = "Be careful.") -> Dataset:
        """The same, of personal data, with terms."""
        terms.put_in_force(dataset=self.dataset, text=text, by=self.steward)
        return self.approved(**PERSONAL)

    def grant(self, *, to_person: Any = None, **fields: Any) -> Grant:
        """Asked for by the project's PI (or the person), given by the steward."""
        facts: dict[str, Any] = {
            "purpose": "research", "starts_on": today(), "ends_on": today(90), "why": "For the paper.",
        }  # fmt: skip
        who = to_person or self.pi
        project = None if to_person else self.users
        wish = asking.ask(dataset=self.dataset, by=who, project=project, **(facts | fields))
        return asking.approve(request=wish, by=self.steward)

    def agreement(self, **fields: Any) -> Agreement:
        """One that governs `atlas`."""
        facts: dict[str, Any] = {
            "title": "Sharing", "parties": "Demo University; Demo Hospital", "document": "Archive, box 1",
            "document_digest": "a" * 64, "starts_on": today(-1), "ends_on": today(200), "purposes": ["research"],
            "duties": "Delete all copies.",
        }  # fmt: skip
        row = agreements.add(project=self.home, by=self.owner_pi, **(facts | fields))
        self.dataset = registering.change(dataset=self.dataset, by=self.steward, agreement=row)
        return row


@pytest.fixture
def shelf(db: None) -> Shelf:
    return Shelf()
