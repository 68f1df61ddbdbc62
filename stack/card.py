"""What a stack tells about itself: var/stack.json for scripts, the sign-ins as a table for people."""

from __future__ import annotations

import json
import shlex

from stack import control, demo
from stack.layout import PYTHON, Stack


def write(stack: Stack) -> None:
    """Only root can enter the stack, so only root needs it; the passwords are the demo's, known to everybody."""
    words = [PYTHON, "-m", "stack", "manage", "--var", str(stack.var)]
    facts = {
        "address": stack.address,
        "manage": f"env PYTHONPATH={shlex.quote(str(stack.checkout))} {shlex.join(words)}",
        "var": str(stack.var),
        "namespace_pid": control.supervisor(stack),  # root reaches its sockets under /proc/PID/root/srv/var/run
        "sign_ins": [_sign_in(person) for person in demo.PEOPLE if not (person.must_change or person.locked)],
        "refused_sign_ins": [
            _sign_in(person) | {"why": "locked" if person.locked else "must change the password first"}
            for person in demo.PEOPLE
            if person.must_change or person.locked
        ],
    }
    (stack.var / "stack.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")


def _sign_in(person: demo.Person) -> dict[str, object]:
    return {"user": person.user, "password": person.password, "site_role": person.site_role, "projects": person.roles}


def show(stack: Stack) -> None:
    print(f"\nBancada answers at {stack.address}\n")
    print(f"{'user':<8} {'password':<18} may")
    for person in demo.PEOPLE:
        roles = [f"{role} in {code}" for code, role in person.roles.items()] + (
            [person.site_role] if person.site_role else []
        )
        note = " (locked)" if person.locked else " (must change the password first)" if person.must_change else ""
        print(f"{person.user:<8} {person.password:<18} {', '.join(roles) or 'in no project'}{note}")
    print(f"\nThe same for scripts: {stack.var}/stack.json")
