"""How datasets, permissions, agreements and security incidents are asked for over the API."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Field
from pydantic import StrictBool, StrictInt

from access.typed import Day, Moment, Text
from datasets.models import (
    Access,
    DutyKind,
    LegalBasis,
    NoticeTo,
    Purpose,
    Transfer,
)
from projects.api_schemas import Asking, ClassName

UNSAID: Any = None  # of a field that may be left out and is never null
PurposeName = Literal[*Purpose.values]  # type: ignore[valid-type]
AccessName = Literal[*Access.values]  # type: ignore[valid-type]
BasisName = Literal["", *LegalBasis.values]  # type: ignore[valid-type]
TransferName = Literal["", *Transfer.values]  # type: ignore[valid-type]
Long = Annotated[Text, Field(max_length=4000)]
Short = Annotated[Text, Field(max_length=300)]
Name = Annotated[Text, Field(min_length=1, max_length=120)]
Line = Annotated[Text, Field(max_length=200)]
Why = Annotated[Text, Field(min_length=1, max_length=300)]


class DatasetChanges(Asking):
    """What may be changed; what is left out stays as it is."""

    name: Name = UNSAID
    description: Long = UNSAID
    classification: ClassName = UNSAID
    licence: Line = UNSAID
    retention: Short = UNSAID
    is_listed: StrictBool = UNSAID
    downloads: StrictBool = UNSAID
    agreement: UUID | None = None
    legal_basis: BasisName = UNSAID
    controller: Line = UNSAID
    processor: Line = UNSAID
    ethics: Line = UNSAID
    ethics_not_applicable: Short = UNSAID
    transfer: TransferName = UNSAID
    transfer_details: Short = UNSAID


class DatasetIn(DatasetChanges):
    """A new draft of a project; `steward`: the login of somebody who has used the portal."""

    project: Text = Field(max_length=31)
    code: Text = Field(max_length=31)
    name: Name
    steward: Text = Field(max_length=150)


class StewardIn(Asking):
    """Who answers for it from now on, by login."""

    steward: Text = Field(max_length=150)
    why: Short = ""


class VersionIn(Asking):
    """Another version: never changed afterwards."""

    label: Text = Field(max_length=31)
    path: Text = Field(max_length=300)
    note: Short = ""


class TermsIn(Asking):
    """New terms of use; everybody accepts them anew."""

    text: Text = Field(min_length=1, max_length=20_000)


class AcceptIn(Asking):
    """The number of the terms that were read."""

    number: Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]


class WishIn(Asking):
    """Ask for a permission: for a project whose members one manages, or (null) for oneself."""

    project: Text | None = Field(None, max_length=31)
    purpose: PurposeName
    access: AccessName = Access.READ.value
    starts_on: Day
    ends_on: Day
    why: Annotated[Text, Field(min_length=1, max_length=4000)]


class GiveIn(Asking):
    """Yes, until the day asked for or an earlier one."""

    ends_on: Day = UNSAID
    answer: Long = ""


class TurnDownIn(Asking):
    """No, with words."""

    answer: Annotated[Text, Field(min_length=1, max_length=4000)]


class RevokeIn(Asking):
    """Why; those who used it read it."""

    why: Why


class AgreementChanges(Asking):
    """What may be changed; an earlier end takes permissions with it."""

    title: Name = UNSAID
    parties: Annotated[Text, Field(min_length=1, max_length=2000)] = UNSAID
    document: Annotated[Text, Field(min_length=1, max_length=300)] = UNSAID
    document_digest: Text = Field(UNSAID, max_length=64, description="SHA-256 of the signed document, in hex.")
    ends_on: Day = UNSAID
    purposes: list[PurposeName] = Field(UNSAID, min_length=1, max_length=len(Purpose.values))
    duties: Annotated[Text, Field(min_length=1, max_length=4000)] = UNSAID


class AgreementIn(AgreementChanges):
    """A new sharing agreement of a project."""

    title: Name
    parties: Annotated[Text, Field(min_length=1, max_length=2000)]
    document: Annotated[Text, Field(min_length=1, max_length=300)]
    document_digest: Text = Field(max_length=64, description="SHA-256 of the signed document, in hex.")
    starts_on: Day
    ends_on: Day
    purposes: list[PurposeName] = Field(min_length=1, max_length=len(Purpose.values))
    duties: Annotated[Text, Field(min_length=1, max_length=4000)]


class DutyIn(Asking):
    """What was done."""

    kind: Literal[*DutyKind.values]  # type: ignore[valid-type]
    how: Annotated[Text, Field(min_length=1, max_length=2000)]


class IncidentChanges(Asking):
    """What was found out since; what is left out stays as it is."""

    title: Name = UNSAID
    what: Annotated[Text, Field(min_length=1, max_length=8000)] = UNSAID
    happened_at: Moment | None = None
    known_at: Moment = UNSAID
    datasets: list[Text] = Field(UNSAID, max_length=200)
    subjects: Annotated[Text, Field(min_length=1, max_length=4000)] = UNSAID
    people: Annotated[StrictInt, Field(ge=0, le=2**31 - 1)] | None = None
    risks: Long = UNSAID
    measures: Annotated[Text, Field(max_length=8000)] = UNSAID


class IncidentIn(IncidentChanges):
    """A new entry of the register."""

    title: Name
    what: Annotated[Text, Field(min_length=1, max_length=8000)]
    known_at: Moment
    subjects: Annotated[Text, Field(min_length=1, max_length=4000)]


class NoticeIn(Asking):
    """Somebody was told."""

    to: Literal[*NoticeTo.values]  # type: ignore[valid-type]
    at: Moment
    text: Annotated[Text, Field(min_length=1, max_length=8000)]
