"""The people and projects of the demo: the one table behind directory, passwd, folders, Slurm and the portal's seed."""

from __future__ import annotations

import dataclasses

SUFFIX = "dc=bancada,dc=example"
FIRST_UID = 20001
FIRST_GROUP = 21001


@dataclasses.dataclass(frozen=True)
class Person:
    """Somebody in the demo directory. `roles` maps a project's code to the role in it."""

    user: str
    given: str
    roles: dict[str, str] = dataclasses.field(default_factory=dict)
    site_role: str = ""
    must_change: bool = False
    locked: bool = False

    @property
    def name(self) -> str:
        return f"{self.given} Demo"

    @property
    def password(self) -> str:
        return f"{self.user}-demo-2026"

    @property
    def uid(self) -> int:
        return FIRST_UID + PEOPLE.index(self)

    @property
    def mail(self) -> str:
        return f"{self.user}@bancada.example"


@dataclasses.dataclass(frozen=True)
class DemoProject:
    """A project: its code is its Slurm account and names its Unix group and folder."""

    code: str
    title: str
    partitions: tuple[str, ...]

    @property
    def unix_group(self) -> str:
        return f"prj-{self.code}"

    @property
    def gid(self) -> int:
        return FIRST_GROUP + PROJECTS.index(self)

    @property
    def folder(self) -> str:
        return f"/srv/var/projects/{self.code}"

    @property
    def qos(self) -> str:
        return f"{self.code}-2026"

    def members(self) -> list[Person]:
        return [person for person in PEOPLE if self.code in person.roles]


PEOPLE = (
    Person("ana", "Ana", {"visao": "pi"}),
    Person("bruno", "Bruno", {"atlas": "pi", "clima": "pi"}),
    Person("carla", "Carla", {"visao": "manager"}),
    Person("davi", "Davi", {"visao": "researcher"}),
    Person("elisa", "Elisa", {"visao": "researcher", "atlas": "researcher"}),
    Person("felipe", "Felipe", {"atlas": "researcher"}),
    Person("gabi", "Gabi", {"clima": "researcher"}),
    Person("hugo", "Hugo", {"atlas": "viewer"}),
    Person("iara", "Iara"),
    Person("joao", "João", site_role="operator"),
    Person("kenia", "Kênia", site_role="auditor"),
    Person("livia", "Lívia", {"visao": "researcher"}, must_change=True),
    Person("mateus", "Mateus", {"clima": "researcher"}, locked=True),
)

PROJECTS = (
    DemoProject("visao", "Visão Computacional", ("gpu", "large", "prep")),
    DemoProject("atlas", "Atlas de Imagens Médicas", ("gpu", "prep")),
    DemoProject("clima", "Modelos de Clima", ("gpu", "large")),
)

# one dataset, plainly invented, so that the pages of data have something to show
DATASETS = (
    {
        "code": "torax-demo",
        "project": "atlas",
        "steward": "bruno",
        "reader": "visao",
        "asker": "ana",
        "path": "/srv/var/projects/atlas/torax-demo/v1",
        "why": "Treinar o segmentador de demonstração.",
        "terms": "Dados inventados, de demonstração. Não tente reconhecer ninguém.",
        "facts": {
            "name": "Tórax (demonstração)",
            "description": "Imagens inventadas de tórax, para mostrar o portal. Não há paciente nenhum.",
            "classification": "sensitive",
            "licence": "CC0 1.0",
            "retention": "Até o fim da demonstração; depois é apagado.",
            "is_listed": True,
            "legal_basis": "11-II-c",
            "controller": "Bancada Demo",
            "processor": "Bancada Demo",
            "ethics_not_applicable": "Dados inventados.",
            "transfer": "no",
        },
    },
)

# site role -> directory group; the operators' group holds its people through a nested one
SITE_GROUPS = {"operator": "bancada-operators", "auditor": "bancada-auditors"}
NESTED = ("bancada-operators", "hpc-team")


def as_json() -> dict[str, object]:
    """What the portal's seed reads: people and projects as plain values."""
    return {
        "people": [
            {
                "user": person.user,
                "name": person.name,
                "password": person.password,
                "uid": person.uid,
                "site_role": person.site_role,
                "must_change": person.must_change,
                "locked": person.locked,
                "projects": person.roles,
            }
            for person in PEOPLE
        ],
        "projects": [
            {
                "code": project.code,
                "title": project.title,
                "account": project.code,
                "qos": project.qos,
                "unix_group": project.unix_group,
                "gid": project.gid,
                "folder": project.folder,
                "partitions": list(project.partitions),
            }
            for project in PROJECTS
        ],
        "datasets": list(DATASETS),
    }
