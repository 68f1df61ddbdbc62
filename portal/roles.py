"""The one table of database roles: what each kind of process may do to each table."""

from __future__ import annotations

OWNER, WEB, WORK, SLURM, SEAL = "owner", "web", "work", "slurm", "seal"
ROLES = (OWNER, WEB, WORK, SLURM, SEAL)

READ = "SELECT"
WRITE = "SELECT, INSERT, UPDATE"
FULL = "SELECT, INSERT, UPDATE, DELETE"
APPEND = "SELECT, INSERT"

# Of a job, a door may write the request (INSERT) and what a person asked for since; never what Slurm said.
JOB_ASKED = "SELECT, INSERT, UPDATE (cancel_asked_at, cancel_asked_by_id, alias, note, archived_at)"

GRANTS: dict[str, dict[str, str]] = {
    "django_content_type": {WEB: READ, WORK: READ, SLURM: READ},
    "auth_permission": {WEB: READ, WORK: READ, SLURM: READ},
    "django_migrations": {WEB: READ, WORK: READ, SLURM: READ, SEAL: READ},
    "django_session": {WEB: FULL, WORK: FULL},
    "axes_accessattempt": {WEB: FULL, WORK: "SELECT, DELETE"},
    "axes_accessattemptexpiration": {WEB: FULL, WORK: "SELECT, DELETE"},
    "axes_accesslog": {WEB: FULL, WORK: "SELECT, DELETE"},
    "axes_accessfailurelog": {WEB: FULL},
    "accounts_user": {WEB: WRITE, WORK: WRITE, SLURM: READ},
    "accounts_standing": {WEB: WRITE, WORK: WRITE},
    "accounts_sessioninfo": {WEB: FULL, WORK: FULL},
    "accounts_apitoken": {WEB: WRITE, WORK: WRITE},
    "audit_identity": {WEB: APPEND, WORK: APPEND, SLURM: APPEND, SEAL: "SELECT, UPDATE (value, erased_at)"},
    "audit_auditevent": {WEB: APPEND, WORK: APPEND, SLURM: APPEND, SEAL: APPEND},
    "audit_auditseal": {WEB: READ, WORK: READ, SEAL: APPEND},
    "audit_checkpoint": {WEB: READ, WORK: READ, SEAL: APPEND},
    "audit_outbox": {SEAL: "SELECT, INSERT, UPDATE (checkpoint)"},
    "audit_export": {
        WEB: "SELECT, INSERT, UPDATE (state, count, size, digest, finished_at)",
        WORK: WRITE,
        SEAL: "SELECT, UPDATE (signature, key_id, public_key)",
    },
    "audit_removedbody": {WEB: READ, WORK: READ, SEAL: READ},
    "audit_retentionrule": {WEB: APPEND, WORK: READ, SEAL: READ},
    "audit_savedfilter": {WEB: FULL},
    "audit_verification": {WEB: APPEND, WORK: "SELECT, UPDATE"},
    "audit_guestauditor": {WEB: "SELECT, INSERT, UPDATE (ended_at, ended_by_id)", WORK: READ},
    "audit_pseudonym": {WEB: APPEND, WORK: READ, SEAL: "SELECT, UPDATE (done_at)"},
    "audit_rightstable": {WEB: READ, WORK: READ},
    "audit_legalhold": {WEB: "SELECT, INSERT, UPDATE (lifted_at, lifted_by_id, lifted_why)", WORK: READ, SEAL: READ},
    "cluster_cluster": {WEB: READ, WORK: READ, SLURM: FULL},
    "cluster_partition": {WEB: READ, WORK: READ, SLURM: FULL},
    "cluster_nodechange": {WEB: APPEND, WORK: READ, SLURM: "SELECT, UPDATE"},
    "cluster_maintenance": {WEB: WRITE, WORK: READ, SLURM: "SELECT, UPDATE (in_slurm, words, next_try_at)"},
    "cluster_announcement": {WEB: WRITE, WORK: READ},
    "cluster_dismissal": {WEB: APPEND, WORK: READ},
    "cluster_gpu": {WEB: READ, WORK: FULL, SLURM: "SELECT, DELETE"},
    "cluster_outsideuse": {WEB: READ, WORK: WRITE},
    "jobs_gpusummary": {WEB: READ, WORK: APPEND, SLURM: READ},
    "jobs_tasksummary": {WEB: READ, WORK: APPEND, SLURM: READ},
    "cluster_node": {WEB: READ, WORK: READ, SLURM: FULL},
    "projects_project": {WEB: WRITE, WORK: "SELECT, UPDATE (change)", SLURM: READ},
    "projects_projectgrant": {WEB: FULL, WORK: FULL, SLURM: READ},
    "projects_membership": {WEB: WRITE, WORK: WRITE, SLURM: READ},
    "projects_projectrequest": {WEB: WRITE, WORK: READ},
    "projects_joinrequest": {WEB: WRITE, WORK: READ},
    "quotas_fundingsource": {WEB: WRITE, WORK: READ, SLURM: READ},
    "quotas_allocation": {
        WEB: WRITE,
        WORK: "SELECT, UPDATE (warned_level, mailed_level)",
        SLURM: "SELECT, UPDATE (used_gpu_minutes, used_as_of)",
    },
    "quotas_share": {WEB: FULL, WORK: READ, SLURM: READ},
    "quotas_usage": {WEB: READ, WORK: READ, SLURM: FULL},
    "quotas_allocationrequest": {WEB: WRITE, WORK: READ},
    "quotas_comment": {WEB: APPEND, WORK: READ},
    "quotas_enforcement": {WEB: READ, WORK: READ, SLURM: FULL},
    "quotas_hold": {WEB: WRITE, WORK: READ, SLURM: "SELECT, UPDATE"},
    "datasets_dataset": {WEB: WRITE, WORK: READ, SLURM: READ},
    "datasets_part": {WEB: WRITE, WORK: WRITE},
    "datasets_datasetright": {WEB: FULL, WORK: FULL},
    "datasets_datasetversion": {WEB: WRITE, WORK: READ, SLURM: READ},
    "datasets_terms": {WEB: APPEND, WORK: READ},
    "datasets_acceptance": {WEB: APPEND, WORK: READ},
    "datasets_agreement": {WEB: WRITE, WORK: "SELECT, UPDATE (ended_at)"},
    "datasets_duty": {WEB: WRITE, WORK: APPEND},
    "datasets_grantrequest": {WEB: WRITE, WORK: READ},
    "datasets_grant": {
        WEB: WRITE,
        WORK: "SELECT, UPDATE (warned_days, expired_at, revoked_at, revoked_by_id, revoked_why)",
    },
    "datasets_datasetuse": {WEB: APPEND, WORK: READ, SLURM: "SELECT, UPDATE (started_at, ended_at)"},
    "datasets_securityincident": {WEB: WRITE, WORK: READ},
    "datasets_securityincident_datasets": {WEB: FULL, WORK: READ},
    "datasets_notice": {WEB: APPEND, WORK: READ},
    "jobs_dictionaryversion": {WEB: APPEND, WORK: READ, SLURM: READ},
    "jobs_draft": {WEB: FULL, WORK: READ},
    "presets_preset": {WEB: "SELECT, INSERT, UPDATE (retired_at)", WORK: READ, SLURM: READ},
    "presets_presetversion": {WEB: APPEND, WORK: READ, SLURM: READ},
    "presets_environment": {
        WEB: "SELECT, INSERT, UPDATE (retired_at, deleted_at)",
        WORK: READ,
        SLURM: "SELECT, UPDATE (ready_at, failed_at, why, lock, digest, size, found_python)",
    },
    "presets_software": {WEB: WRITE, WORK: READ, SLURM: READ},
    "storage_filepass": {
        WEB: "SELECT, INSERT, UPDATE (asked_at)",
        SLURM: "SELECT, UPDATE (answered_at, ticket, rights, expires_at, refusal)",
    },
    "storage_measure": {WEB: READ, WORK: READ, SLURM: FULL},
    "storage_upload": {WEB: FULL},
    "jobs_job": {WEB: JOB_ASKED, WORK: READ, SLURM: WRITE},
    "jobs_handover": {WEB: READ, WORK: READ, SLURM: WRITE},
    "jobs_run": {WEB: READ, WORK: READ, SLURM: WRITE},
    "jobs_report": {WEB: READ, WORK: READ, SLURM: WRITE},
    "jobs_metricpattern": {WEB: WRITE, WORK: READ, SLURM: READ},
    "jobs_savedview": {WEB: FULL, WORK: READ},
    "jobs_star": {WEB: FULL, WORK: READ},
    "jobs_notice": {WEB: "SELECT, UPDATE (read_at)", WORK: FULL, SLURM: APPEND},
    "jobs_noticechoice": {WEB: WRITE, WORK: READ},
    "jobs_intent": {WEB: APPEND, WORK: READ, SLURM: WRITE},
}

# What runs with the owner's rights, and who alone may call it.
FUNCTIONS: dict[str, str] = {"audit_remove_bodies(bigint)": SEAL}


def statements(tables: set[str]) -> list[str]:
    """SQL that makes the tables owned by `owner` and gives each role just its part; repeatable."""
    lines = [f"GRANT USAGE ON SCHEMA public TO {role}" for role in ROLES]
    for table in sorted(tables):
        lines.append(f'ALTER TABLE "{table}" OWNER TO {OWNER}')
        lines += [f'REVOKE ALL ON "{table}" FROM {role}' for role in ROLES if role != OWNER]
        lines += [f'GRANT {what} ON "{table}" TO {role}' for role, what in GRANTS.get(table, {}).items()]
    for function, role in FUNCTIONS.items():
        lines.append(f"ALTER FUNCTION {function} OWNER TO {OWNER}")
        lines.append(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC, {', '.join(set(ROLES) - {OWNER, role})}")
        lines.append(f"GRANT EXECUTE ON FUNCTION {function} TO {role}")
    lines += [f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}" for role in (WEB, WORK, SLURM, SEAL)]
    return lines
