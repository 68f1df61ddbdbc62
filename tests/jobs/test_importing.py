"""sbatch scripts in and out: what each line becomes, and no loss on the way there and back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone, translation
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import User
from cluster.models import Partition
from jobs.options import Options
from jobs.services import handing, prepare
from jobs.services.importing import Became, Dictionary, Entry, Imported, read_script, to_script
from jobs.services.importing.reading import Reader
from slurm import fake
from tests.jobs.conftest import Bench
from tests.jobs.test_specs import PARTITIONS, PROJECT

PROJECT.folder = "/srv/projects/visao"
WORDS = Dictionary(
    [
        Entry("partition", "v100-long", "gpu"), Entry("account", "old", "visao"), Entry("gres", "v100", "a100"),
        Entry("module", "cuda/10", "cuda/12.4"), Entry("path", "/home/old", "/srv/projects/visao"),
    ]
)  # fmt: skip


def imported(*lines: str, words: Dictionary = WORDS, partitions: Sequence[Partition] = PARTITIONS[:2]) -> Imported:
    text = "\n".join(["#!/bin/bash", *lines, "srun python train.py", ""])
    return Reader(PROJECT, partitions, User(username="ana"), words, "train.sh").read(text)


def fields(*lines: str) -> dict[str, Any]:
    found = imported(*lines)
    assert found.state == "ready", found.in_the_way
    return dict(found.fields)


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["-J digits -t 1:30:00 -N 1 -c 4 --mem=8G --gres=gpu:a100:2"],
         {"name": "digits", "time_limit_minutes": 90, "nodes": 1, "cpus": 4, "memory_gb": 8, "gpus": 2, "gpu_type": "a100"}),
        (["-n 8"], {"nodes": 1, "tasks_per_node": 8, "cpus": 8}),
        (["-N 2 -n 8 -c 2"], {"nodes": 2, "tasks_per_node": 4, "cpus": 8}),
        (["--ntasks-per-node=4 --ntasks=8"], {"nodes": 2, "tasks_per_node": 4}),
        (["-G 4 -N 2"], {"gpus": 2, "nodes": 2}), (["--gpus-per-node=a100:3"], {"gpus": 3, "gpu_type": "a100"}),
        (["--gpus-per-task=1 --ntasks-per-node=2"], {"gpus": 2, "gpus_per_task": 1, "tasks_per_node": 2}),
        (["--gres=gpu:2 --cpus-per-gpu=3"], {"gpus": 2, "cpus": 6}),
        (["--gres=gpu:2 --ntasks-per-gpu=2"], {"gpus": 2, "tasks_per_node": 4, "cpus": 4}),
        (["--mem-per-cpu=2G -c 4"], {"memory_gb": 8}), (["--mem-per-gpu=4G -G2"], {"memory_gb": 8}),
        (["--mem=1500"], {"memory_gb": 2}), (["--mem=0 -p prep"], {"memory_gb": 31}), (["--mem=1K"], {"memory_gb": 1}),
        (["-a 1-9%2"], {"array": "1-9%2"}), (["--exclusive --requeue"], {"exclusive": True, "requeue": True}),
        (["--requeue", "--no-requeue"], {"requeue": False}), (["--signal=B:USR1@120"], {"signal": "B:USR1@120"}),
        (["-C nvme --reservation=course"], {"constraint": "nvme", "reservation": "course"}),
        (["-e x.err"], {"separate_errors": True}), (["\"--export=ALL,A=1,B='x,y'\""], {"environment": {"A": "1", "B": "x,y"}}),
        (["-p v100-long --gres=gpu:v100:1"], {"partition": "gpu", "gpu_type": "a100", "gpus": 1}),
        (["-p prep"], {"partition": "prep"}), (["-p nowhere,prep"], {"partition": "prep"}),
        (["-G 1"], {"partition": "gpu"}), (["-t 90 -J 'a/b c%d'", "-p prep"], {"name": "a_b c_d", "time_limit_minutes": 90}),
    ],
)  # fmt: skip
def test_what_the_script_says_is_in_the_form(lines: list[str], wanted: dict[str, Any]) -> None:
    said = " ".join(lines)
    partition = [] if "-p " in said or said == "-G 1" else ["#SBATCH -p gpu"]
    found = fields(*partition, *(f"#SBATCH {one}" for one in lines))
    assert {name: found[name] for name in wanted} == wanted


def became(*lines: str) -> list[tuple[int, str]]:
    return [(one.line, str(one.became)) for one in imported("#SBATCH -p prep -t 5", *lines).findings if one.line > 2]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("#SBATCH -A others", "swapped"), ("#SBATCH -o /scratch/x.out", "swapped"), ("#SBATCH --mail-user=a@b", "swapped"),
        ("#SBATCH -q gold", "swapped"), ("#SBATCH -A old", "replaced"), ("#SBATCH -x node1", "kept"),
        ("#SBATCH --nice=5", "kept"), ("#PBS -l x", "kept"), ("#SBATCH --uid=0", "refused"), ("#SBATCH --bb=x", "refused"),
        ("#SBATCH --export-file=x", "refused"), ("#SBATCH hetjob", "refused"), ("#SBATCH --wrap=x", "refused"),
        ("#SBATCH --nonsense", "refused"), ("#SBATCH -t x", "question"), ("#SBATCH --mem=lots", "refused"),
        ("#SBATCH -N 0", "refused"), ("#SBATCH --gres=gpu:a:1,gpu:b:1", "refused"), ("#SBATCH --begin=soon", "refused"),
        ("#SBATCH --dependency=singleton", "refused"), ("#SBATCH --dependency=afterok:1?afterok:2", "refused"),
        ("#SBATCH --export=ALL,LD_PRELOAD=/x.so", "refused"), ("#SBATCH --export=SLURM_CONF=/x", "refused"),
        ("#SBATCH --export=BASH_ENV=x", "refused"), ("#SBATCH --export=HOME", "question"),
        ("#SBATCH -D /etc", "refused"), ("#SBATCH -D ../atlas", "refused"), ("#SBATCH -D sub/folder", "mapped"),
        ("#SBATCH -D /home/old/sub", "mapped"), ("#SBATCH -N 2 -n 3", "question"), ("#SBATCH --gres=gpu:1,nvme:2", "question"),
    ],
)  # fmt: skip
def test_what_becomes_of_a_line(line: str, word: str) -> None:
    found = became(line)
    assert (3, word) in found and {number for number, _word in found} == {3}


@pytest.mark.parametrize(
    ("line", "field", "english", "portuguese"),
    [
        ("--array=0-99999", "array", "The cluster numbers tasks up to 1000.", "O cluster numera tarefas até 1000."),
        ("-a 5-1", "array", "There is no task in it.", ""), ("-a 1-5%0", "array", "A step and a number at once", ""),
        ("--constraint='a;b'", "constraint", "Letters, digits and", ""), ("--reservation=a&b", "reservation", "Letters, digits and", ""),
        ("--signal=USR1@400", "signal", "Between 1 second before the end", ""), ("--signal=NONE", "signal", "", ""),
    ],
)  # fmt: skip
def test_what_submitting_would_refuse_is_asked_about_at_its_line(
    line: str, field: str, english: str, portuguese: str
) -> None:
    for language, words in (("en", english), ("pt-br", portuguese)):
        with translation.override(language):
            found = imported("#SBATCH -p prep -t 5", f"#SBATCH {line}")
        assert [(one.line, one.field) for one in found.in_the_way] == [(3, field)] and found.state == "question"
        assert found.in_the_way[0].said.startswith(words) and found.in_the_way[0].said
    assert imported("#SBATCH -p prep -t 5 -a 0-1000%4 -C 'a&b' --signal=USR1@200").state == "ready"


def test_a_refused_or_doubtful_script_says_so_as_a_whole() -> None:
    assert imported("#SBATCH -p gpu --uid=0").state == "refused"
    assert imported("#SBATCH -p nowhere", partitions=PARTITIONS[:3]).state == "question"
    assert [one.line for one in imported("#SBATCH -p gpu", "#SBATCH --uid=0").in_the_way] == [3]


def test_the_lines_that_run_stay_as_they_are() -> None:
    text = fields(
        "#SBATCH -p gpu -t 5", "# a comment", "#SBATCH -N1 --nice=5 -x n1", "#BANCADA dataset=scans", "", "module load cuda/10 gcc",
        "cat /home/old/a /home/older/b # /home/old", "#SBATCH -N 9",
    )["script"]  # fmt: skip
    assert text == (
        "#!/bin/bash\n# a comment\n##SBATCH --nice=5 --exclude=n1\n#BANCADA dataset=scans\n\nmodule load cuda/12.4 gcc\n"
        "cat /srv/projects/visao/a /home/older/b # /srv/projects/visao\n#SBATCH -N 9\nsrun python train.py\n"
    )


def test_what_is_undone_stays_and_says_what_it_would_be() -> None:
    words = Dictionary(
        [Entry("module", "cuda/10", "cuda/12"), Entry("path", "/old", "/new")], undone={"module:cuda/10", "path:/old"}
    )
    found = imported("#SBATCH -p prep", "module load cuda/10", "ls /old/x", words=words)
    assert "module load cuda/10\nls /old/x" in found.fields["script"]
    assert [(one.became, one.key) for one in found.findings if one.key] == [
        (Became.KEPT, "module:cuda/10"), (Became.KEPT, "path:/old"),
    ]  # fmt: skip


def test_a_replacement_names_the_line_of_the_file() -> None:
    found = imported("#SBATCH -p gpu", "#SBATCH -t 5", "true", "module load cuda/10").findings
    assert [one.line for one in found if one.key == "module:cuda/10"] == [5]


def test_a_working_directory_inside_the_project_becomes_a_line() -> None:
    assert "cd -- '/srv/projects/visao/sub' || exit\nsrun" in fields("#SBATCH -p gpu -D sub")["script"]
    assert "cd --" not in fields("#SBATCH -p gpu -D /srv/projects/visao")["script"]


def test_a_number_of_slurm_becomes_a_job_of_the_portal_the_asker_may_see(bench: Bench, cluster: fake.Cluster) -> None:
    first = bench.submit()
    handing.hand_over()
    first.refresh_from_db()
    text = "#!/bin/bash\n#SBATCH -p gpu -d afterok:{}\ntrue\n"
    found = read_script(text.format(first.slurm_job_id), project=bench.project, by=bench.user)
    assert found.fields["after"] == [{"kind": "ok", "job": str(first.pk)}] and found.state == "ready"
    stranger = read_script(text.format(777), project=bench.project, by=bench.user)
    nobody = read_script(text.format(first.slurm_job_id), project=bench.project, by=User(username="x"))
    said = [one.in_the_way[0].said.replace(str(first.slurm_job_id), "777") for one in (stranger, nobody)]
    assert said[0] == said[1] and stranger.state == nobody.state == "refused"


def test_an_import_can_be_asked_for(bench: Bench) -> None:
    text = "#!/bin/bash\n#SBATCH -p gpu -a 1-4%2 --gres=gpu:1 -t 10 -A old -o x.out\nsrun true\n"
    found = read_script(text, project=bench.project, by=bench.user)
    spec, _allocation = prepare(dict(found.fields), project=bench.project, by=bench.user)
    assert (spec.options, spec.gpus, spec.time_limit_minutes) == (Options(array="1-4%2"), 1, 10)


SOON = timezone.now().replace(microsecond=0) + timedelta(days=3)
FORMS = st.fixed_dictionaries(
    {
        "name": st.from_regex(r"[A-Za-z0-9][A-Za-z0-9 .+_-]{0,20}[a-z]", fullmatch=True),
        "partition": st.sampled_from(["gpu", "prep"]), "nodes": st.integers(1, 8), "memory_gb": st.integers(1, 900),
        "time_limit_minutes": st.integers(1, 99999),
        "script": st.text(alphabet=st.characters(exclude_characters="\r\0", exclude_categories=["Cs"])).map("#!/bin/sh\n{}".format)
        | st.lists(st.sampled_from(["#SBATCH -N 9", "# x", "", "true", "#SBATCH hetjob", "#PBS x", '#BANCADA after=1', ": 'bancada: what follows is the script itself'", "#BANCADA dataset=a"])).map(lambda some: "\n".join(["#!/bin/bash", *some])),
        "cpus": st.integers(1, 64),
    },
    optional={
        "exclusive": st.just(True), "requeue": st.booleans(), "array": st.sampled_from(["1-9%2", "0-8:2,11", "4"]),
        "constraint": st.sampled_from(["a&b", "[x|y]", "(a&b)|c*2"]), "reservation": st.just("course_2"),
        "signal": st.sampled_from(["B:USR1@120", "TERM@60", "R:10@5"]), "separate_errors": st.just(True),
        "begin": st.integers(0, 10**6).map(lambda s: f"{SOON + timedelta(seconds=s):%Y-%m-%dT%H:%M:%SZ}"),
        "after": st.just([{"kind": "ok", "job": "0193d1c2-0000-7000-8000-000000000001"}]),
        "environment": st.dictionaries(st.from_regex(r"[A-Z]{3,5}", fullmatch=True), st.text(st.characters(exclude_categories=["Cs", "Cc"])), min_size=1),
        "allocation": st.just("main"), "datasets": st.just("scans@2"), "preset": st.just("one@3"),
        "parameters": st.lists(st.fixed_dictionaries({"lr": st.floats(allow_nan=False, allow_infinity=False)}), min_size=1, max_size=3),
    },
)  # fmt: skip


@given(FORMS, st.integers(0, 4), st.booleans(), st.integers(1, 4))
def test_form_to_script_to_form_loses_nothing(form: dict[str, Any], gpus: int, per_task: bool, tasks: int) -> None:
    if gpus and form["partition"] == "gpu":
        form |= {"gpus": gpus * tasks if per_task else gpus, "gpu_type": "a100"} | (
            {"gpus_per_task": gpus} if per_task else {}
        )
    if tasks > 1 or per_task:
        form |= {"tasks_per_node": tasks, "cpus": form["cpus"] * tasks}
    text = to_script(form)
    found = Reader(PROJECT, PARTITIONS[:2], User(), Dictionary()).read(text)
    assert dict(found.fields) == form
    assert to_script(found.fields) == text
