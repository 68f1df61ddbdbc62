"""One form on one page, and what becomes of it: the service's refusal stands beside the field it speaks of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from datasets import refusals
from datasets.forms import blame


def form_page(request: HttpRequest, form: forms.Form, *, title: str, act: str, **more: Any) -> HttpResponse:
    """The page; `crumbs` [(address, text)], `intro`, `aside` (a template beside the form) and its context in `more`."""
    context = {"form": form, "title": title, "act": act, **more}
    return render(request, "datasets/form.html", context, status=422 if form.is_bound else 200)


def tried(form: forms.Form, act: Callable[[], Any]) -> Any:
    """What the act gives; None where the form, or the service, says no: then the form says why."""
    if not form.is_valid():
        return None
    try:
        return act() or True
    except ValidationError as error:
        blame(form, error)
    except refusals.REFUSALS as error:
        why = refusals.of(error)
        form.add_error(why.field if why.field in form.fields else None, str(why.words))
    return None


def done_or_said(request: HttpRequest, act: Callable[[], Any], done: str, to: str, *args: Any) -> HttpResponse:
    """An act of one button: what came of it stands above the page it leads to."""
    try:
        act()
        messages.success(request, done)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    except refusals.REFUSALS as error:
        messages.error(request, str(refusals.of(error).words))
    return redirect(to, *args)
