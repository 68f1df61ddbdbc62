"""Years of a portal's life in a minute: ended jobs with their hand-overs and runs, and events, by generate_series."""

from __future__ import annotations

from tests.bench.place import Place, until

DAYS = 90  # the jobs lie in the last ones, evenly
# what is an id by time (access.ids.uuid7), of the g-th row made at `made`
_ID = """(lpad(to_hex((extract(epoch FROM made) * 1000)::bigint), 12, '0') || '7' || substr(md5(g::text), 1, 3)
  || '8' || substr(md5('{salt}' || g), 1, 15))::uuid"""
_ROWS = f"""
CREATE TEMPORARY TABLE seed AS
WITH people AS (
  SELECT row_number() OVER (ORDER BY m.id) - 1 AS n, count(*) OVER () AS all_of_them, m.project_id, m.user_id, u.username,
    u.uid_number, p.code, (SELECT a.id FROM quotas_allocation a WHERE a.project_id = p.id AND a.is_default) AS allocation_id
  FROM projects_membership m JOIN accounts_user u ON u.id = m.user_id JOIN projects_project p ON p.id = m.project_id
  WHERE m.role <> 'viewer' AND u.uid_number IS NOT NULL)
SELECT g, made, {_ID.format(salt="job")} AS job, {_ID.format(salt="try")} AS handover, {_ID.format(salt="run")} AS run,
  people.*, made + interval '1 minute' AS started, made + (1 + g % 600) * interval '1 minute' AS ended, g % 20 = 0 AS failed
FROM generate_series(1, %(count)s) g
CROSS JOIN LATERAL (SELECT now() - (%(count)s - g) * (interval '{DAYS} days' / %(count)s) - interval '1 day' AS made) AS moment
JOIN people ON people.n = g::bigint * 7919 %% people.all_of_them"""
_JOBS = """
INSERT INTO jobs_job (id, cluster_id, project_id, owner_id, owner_login, allocation_id, source, created_at, name, partition,
  gpu_type, gpus, nodes, cpus, memory_mb, time_limit_minutes, script, environment, digest, phase, state, slurm_states, reason,
  refusal, slurm_job_id, accepted_at, started_at, ended_at, node_list, allocated_gpus, exit_code, exit_signal, seen_at, change,
  datasets, options, task_counts, alias, note)
SELECT job, (SELECT min(id) FROM cluster_cluster), project_id, user_id, username, allocation_id, 'portal', made, 'seed-' || g,
  'gpu', 'a100', 1 + g % 4, 1, 4, 16384, 600, E'#!/bin/bash\npython3 train.py\n', '{}', md5(g::text), 'ended',
  CASE WHEN failed THEN 'failed' ELSE 'completed' END, ARRAY[CASE WHEN failed THEN 'FAILED' ELSE 'COMPLETED' END], '', '',
  10000000 + g, made, started, ended, 'gpu01', 1 + g % 4, CASE WHEN failed THEN 1 ELSE 0 END, 0, ended, 4, '[]',
  '{}', '{}', '', '' FROM seed"""
_HANDOVERS = """
INSERT INTO jobs_handover (id, job_id, cluster_id, attempt, token, outcome, began_at, error, slurm_job_id, submit_time, uid,
  run_submit_time, working_directory, stdout_path, stderr_path, accepted_at, released_at, ticket, ticket_expires_at,
  ticket_restart_count, notes_ticket, folder_ticket)
SELECT handover, job, (SELECT min(id) FROM cluster_cluster), 1, md5('token' || made || g), 'accepted', made, '', 10000000 + g, made,
  uid_number, made, '/srv/var/projects/' || code, '/srv/var/projects/' || code || '/logs/seed.out', '', made, made, 'seed',
  now() + interval '10 years', 0, '', '' FROM seed"""
_RUNS = """
INSERT INTO jobs_run (id, handover_id, restart_count, slurm_states, started_at, ended_at, node_list, cpus, memory_mb, gpus,
  gpu_types, exit_code, exit_signal, metrics, ticket)
SELECT run, handover, 0, ARRAY[CASE WHEN failed THEN 'FAILED' ELSE 'COMPLETED' END], started, ended, 'gpu01', 4, 16384,
  1 + g % 4, '{"a100": 1}', CASE WHEN failed THEN 1 ELSE 0 END, 0, '{}', '' FROM seed"""
_EVENTS = """
INSERT INTO audit_auditevent (uid, at, action, outcome, actor_id, actor_ref, ran_as_ref, subject_type, subject_id,
  subject_text, project_id, project_code, channel, address_ref, correlation, db_role, detail)
SELECT gen_random_uuid(), s.made + step * interval '1 second',
  (ARRAY['job.submitted', 'job.accepted', 'job.released', 'job.started', 'job.ended', 'log.read'])[1 + step % 6],
  CASE WHEN s.failed AND step % 6 = 4 THEN 'failed' ELSE 'done' END, s.user_id, md5(s.username)::uuid, md5(s.username)::uuid, 'job', s.job::text,
  'seed-' || s.g, s.project_id, s.code, 'api', md5('127.0.0.1')::uuid, md5(s.g::text), '', '{"gpus": 1, "partition": "gpu"}'
FROM seed s CROSS JOIN generate_series(0, %(each)s - 1) step ORDER BY s.made"""

_IDENTITIES = """
INSERT INTO audit_identity (ref, kind, value, person_id, at)
SELECT DISTINCT md5(username)::uuid, 'login', username, user_id, now() FROM seed
UNION ALL SELECT DISTINCT md5('127.0.0.1')::uuid, 'address', '127.0.0.1', user_id, now() FROM seed"""
UNSEALED = "SELECT max(id) - (SELECT coalesce(max(event_id), 0) FROM audit_auditseal) FROM audit_auditevent"


def fill(place: Place, jobs: int, events: int) -> None:
    """At least so many; a second time adds nothing. They stay: what is measured is thrown away as a whole."""
    if place.one("SELECT count(*) FROM jobs_job WHERE name LIKE 'seed-%%'") >= jobs:
        return
    with place.database.transaction():
        for statement in statements(jobs, events):
            place.database.execute(statement)
    until(lambda: place.one(UNSEALED) < 10_000, seconds=1800, what="the sealer has come to the end")
    for table in ("jobs_job", "jobs_handover", "jobs_run", "audit_auditevent", "audit_auditseal"):
        place.database.execute(f"VACUUM ANALYZE {table}")


def statements(jobs: int, events: int) -> tuple[str, ...]:
    """In their order, for one transaction."""
    rows = _ROWS.replace("%(count)s", str(jobs)).replace("%%", "%")
    happened = _EVENTS.replace("%(each)s", str(events // jobs))
    # keys are checked before the events: the trail's trigger opens a subtransaction a row, whose end looks at all that
    # is still to be checked
    checked = "SET CONSTRAINTS ALL IMMEDIATE"
    return rows, _JOBS, _HANDOVERS, _RUNS, checked, _IDENTITIES, happened, "DROP TABLE seed"
