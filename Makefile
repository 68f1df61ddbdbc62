# Bancada: `make up` starts everything, `make test` tests everything; plain `make` lists the rest.
# VAR=DIR and PORT=BASE choose another place and other ports for the stack.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
MAKEFLAGS += --no-print-directory

PYTHON := /usr/bin/python3
VENV := .venv/bin/python
VAR ?= var
PORT ?= 8600
TEST_PORT ?= 8700
TEST_VAR ?= var/test
STACK := $(PYTHON) -m stack
TEST_STACK := --var $(TEST_VAR) --port $(TEST_PORT) --env BANCADA_SUBMISSIONS_PER_MINUTE=0 \
	--env BANCADA_GIT_PREFIXES=http://127.0.0.1:$(shell expr $(TEST_PORT) - 10)/
TEST_ENV := BANCADA_STACK="$(CURDIR)/$(TEST_VAR)/stack.json" BANCADA_CONTRACT_STACK="$(CURDIR)/$(TEST_VAR)"
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo env PATH="$(PATH)")
CATALOGUES := $(patsubst %.po,%.mo,$(wildcard locale/*/LC_MESSAGES/*.po))
# every route, or every kind of person, at once: a suite of its own, so that the unit tests stay quick
WIDE := tests/matrix tests/portal/test_api_fuzz.py tests/portal/test_lists_ask_the_same.py tests/jobs/test_archived.py
# tests that wait, for processes they start, for 64 writers or for a deadline: beside others they cost next to nothing
PROGRAMS := $(wildcard tests/logs tests/files tests/gpu tests/stack tests/slurm/test_signer.py tests/accounts/test_directory_faults.py \
	tests/storage/test_passes.py tests/storage/test_files_command.py tests/presets/test_building.py tests/audit/test_sealing.py \
	$(addprefix tests/jobs/test_,hub.py hub_model.py hub_reader.py wrapping.py))
# what asks for real servers, and what for properties: only these are collected where only these are run
SERVERS := tests/contract $(shell grep -rlE 'mark\.(contract|faults)' tests --include='test_*.py' --exclude-dir=contract --exclude-dir=faults)
PROPERTIES := $(filter-out $(WIDE) $(PROGRAMS) $(addsuffix /%,$(PROGRAMS)),\
	$(shell grep -rlE 'hypothesis|libreoffice' tests --include='test_*.py'))
OFFICE := libreoffice-calc-nogui
BROWSER := chromium
ALONE := "not contract and not browser and not faults"
FULL ?=
RECORDED ?= tests/slurm/recorded
# the private PostgreSQL of the tests, which `make test` keeps until its end
DATABASE_DOWN = [ "$(KEEP_DATABASE)" ] || $(STACK) down --var var/unit
ROOMS := access accounts audit cluster datasets files jobs logs portal presets projects quotas slurm storage gpu

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: parts ## install what is missing, start everything, print the address and the demo sign-ins
	@$(STACK) up --var $(VAR) --port $(PORT)

down: ## stop what `make up` started, and nothing else
	@$(STACK) down --var $(VAR)

status: ## one line a process
	@$(STACK) status --var $(VAR)

logs: ## the last lines of every log (NAMES="web follower" for some)
	@$(STACK) logs --var $(VAR) $(NAMES)

reset: ## stop, and throw var/ away
	@$(STACK) reset --var $(VAR)

test: ## check and unit; then, each with a stack of its own, contract and browser, which mostly wait, and the rest beside
	@SECONDS=0
	trap '$(STACK) down --var var/unit' EXIT
	export KEEP_DATABASE=1 # one PostgreSQL for all of them, a database of its own for each process
	$(MAKE) check
	$(MAKE) unit
	$(STACK) install $(BROWSER) $(OFFICE) # now: two lanes would ask for it at once
	said=$$(mktemp -d); rc=0
	$(MAKE) browser TEST_VAR=var/test-browser TEST_PORT=$$(($(TEST_PORT) + 50)) >"$$said/browser" 2>&1 & browser=$$!
	nice -n 10 $(MAKE) programs matrix >"$$said/wide" 2>&1 & wide=$$!
	$(MAKE) contract || rc=$$?
	for lane in $$browser $$wide; do wait $$lane || rc=$$?; done
	cat "$$said"/*; rm -r "$$said"
	echo "test: $$SECONDS s in all"
	exit $$rc

check: dev ## lint, types, imports, migrations, templates, translations
	@SECONDS=0
	trap '[ $$? = 0 ] || { $(DATABASE_DOWN); }' EXIT
	.venv/bin/ruff check .
	.venv/bin/ruff format --check -q .
	$(if $(or $(KEEP_DATABASE),$(filter unit,$(MAKECMDGOALS))),$(AS_ROOT) $(VENV) -m tests.template >/dev/null & ready=$$!)
	types=$$(mktemp); $(PRODUCTION) .venv/bin/mypy >"$$types" 2>&1 & mypy=$$!
	.venv/bin/lint-imports
	$(PRODUCTION) $(VENV) -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(PRODUCTION) $(VENV) manage.py check --deploy --fail-level WARNING
	[ ! -d templates ] || find templates -name '*.html' -print0 | xargs -0r .venv/bin/djhtml --tabwidth 2 --check
	for po in $(wildcard locale/*/LC_MESSAGES/*.po); do msgfmt --check --output-file=/dev/null $$po; done
	wait $$mypy || { cat "$$types"; exit 1; }
	cat "$$types"; rm "$$types"
	wait $${ready:-}
	echo "check: $$SECONDS s"

unit: dev ## tests that need no cluster and no program beside (a private PostgreSQL is started for them)
	@SECONDS=0
	trap '$(DATABASE_DOWN)' EXIT
	$(AS_ROOT) $(VENV) -m pytest -n 3 --dist worksteal -m "not hypothesis and not libreoffice and "$(ALONE) $(addprefix --ignore=,$(WIDE) $(PROGRAMS)) $(ARGS)
	echo "unit: $$SECONDS s"

programs: dev ## our small programs, slapd and LibreOffice as processes of their own, killed, hung, fed with what is hostile; and properties
	@SECONDS=0
	trap '$(DATABASE_DOWN)' EXIT
	$(STACK) install $(OFFICE)
	$(AS_ROOT) $(VENV) -m pytest -n 4 --dist worksteal -m $(ALONE) $(PROGRAMS) $(ARGS)
	$(AS_ROOT) $(VENV) -m pytest -n 2 -m "(hypothesis or libreoffice) and "$(ALONE) $(PROPERTIES) $(ARGS)
	echo "programs: $$SECONDS s"

matrix: dev ## every route by every kind of person, in every tenant, and the API's description against itself (FULL=1: all cells)
	@SECONDS=0
	trap '$(DATABASE_DOWN)' EXIT
	$(AS_ROOT) env FULL=$(FULL) $(VENV) -m pytest -n 2 $(WIDE) $(ARGS)
	echo "matrix: $$SECONDS s"

contract: dev ## tests against the real servers of a stack of their own
	@SECONDS=0
	$(STACK) reset --var $(TEST_VAR)
	$(WITH_TEST_STACK)
	$(AS_ROOT) env $(TEST_ENV) BANCADA_TEST_DB=test_contract $(VENV) -m pytest -m "contract or faults" $(if $(filter tests/%,$(ARGS)),,$(SERVERS)) --durations=10 $(ARGS)
	echo "contract: $$SECONDS s"

record: dev ## what this machine's Slurm answers, kept for the replay on every run (RECORDED=DIR for another place)
	@$(WITH_TEST_STACK)
	$(AS_ROOT) env $(TEST_ENV) $(VENV) -m tests.contract.recording $(TEST_VAR) $(RECORDED)

test-pyslurm: dev ## the gateway by pyslurm against the real servers, on a machine whose Slurm fits; says "not run" elsewhere
	@SECONDS=0
	[ "$$($(VENV) -m tests.contract.pairing)" = fits ] || { $(VENV) -m tests.contract.pairing; exit 0; }
	$(STACK) install libslurm-dev
	$(VENV) -m tests.contract.pairing build var/pyslurm
	$(STACK) reset --var $(TEST_VAR)
	$(WITH_TEST_STACK)
	cp -r var/pyslurm $(TEST_VAR)/pyslurm
	$(AS_ROOT) env $(TEST_ENV) BANCADA_CONTRACT_GATEWAY=pyslurm $(VENV) -m pytest -m contract -k "real and not slurmrestd" \
	  $(addprefix tests/contract/test_,$(addsuffix .py,submit follow whole_request faults administrator)) $(ARGS)
	echo "test-pyslurm: $$SECONDS s"

faults: dev ## brokers, databases, workers, controllers, readers and the directory taken away in the middle (five minutes more)
	@SECONDS=0
	$(WITH_TEST_STACK)
	$(AS_ROOT) env $(TEST_ENV) $(VENV) -m pytest tests/faults -m faults $(ARGS)
	echo "faults: $$SECONDS s"

browser: dev ## tests in Debian's Chromium against a stack of their own
	@SECONDS=0
	$(STACK) install $(BROWSER)
	$(STACK) reset --var $(TEST_VAR)
	$(WITH_TEST_STACK)
	$(AS_ROOT) env $(TEST_ENV) BANCADA_TEST_DB=test_browser $(VENV) -m pytest -m browser $(if $(filter tests/%,$(ARGS)),,tests/browser) --durations=10 $(ARGS)
	echo "browser: $$SECONDS s"

gpu-check: dev ## the node agent on the GPUs of this machine: their readings, and what it costs; skipped where there is none
	@$(VENV) -m gpu.check $(ARGS)

tamper: dev ## tampering with the trail by the database's superuser: each kind caught, no false alarm (LONG=1: a million rows)
	@SECONDS=0
	trap '$(DATABASE_DOWN)' EXIT
	$(AS_ROOT) $(VENV) -m pytest -vvs tests/audit/test_tamper.py tests/audit/test_sealing.py $(ARGS)
	echo "tamper: $$SECONDS s"

bench: TEST_STACK += --env BANCADA_SUBMISSIONS_PER_MINUTE=0 --env BANCADA_SOCKETS_PER_PERSON=5000
bench: dev ## the numbers of docs/performance.md, measured again on a stack that is thrown away afterwards
	@SECONDS=0
	$(STACK) reset --var $(TEST_VAR)
	$(WITH_TEST_STACK)
	$(AS_ROOT) env $(TEST_ENV) $(VENV) -m tests.bench $(ARGS)
	$(STACK) reset --var $(TEST_VAR)
	echo "bench: $$SECONDS s"

fmt: dev ## bring code and templates into form
	@.venv/bin/ruff check --fix -q . || true
	.venv/bin/ruff format -q .
	find templates -name '*.html' -print0 | xargs -0r .venv/bin/djhtml --tabwidth 2

# --- what these need -------------------------------------------------------------------------------------------

# the test stack is taken down whatever the tests say, unless KEEP=1 leaves it to the next target
define WITH_TEST_STACK
trap 'rc=$$?; [ "$(KEEP)" ] && [ $$rc = 0 ] || $(STACK) down --var $(TEST_VAR); $(DATABASE_DOWN); exit $$rc' EXIT
said=$$(mktemp)
$(STACK) up $(TEST_STACK) >$$said 2>&1 || { cat $$said; exit 1; }
rm $$said
endef

# settings as a site has them, for checks that only load them
PRODUCTION = env BANCADA_PUBLIC_URL=https://bancada.example BANCADA_SECRET_KEY=$$(openssl rand -hex 40) \
  LDAP_URL=ldaps://ldap.bancada.example SLURM_URL=rest+unix:///run/slurmrestd/rest.sock

parts: packages .venv/.made frontend $(CATALOGUES)
	@$(VENV) -m compileall -q $(wildcard $(ROOMS)) manage.py

dev: packages .venv/.dev frontend $(CATALOGUES)

packages:
	@umask 022
	$(STACK) install

.venv/.made: requirements.lock | packages
	@umask 022
	echo "making the virtual environment"
	$(PYTHON) -m venv .venv
	$(VENV) -m pip install -qq --disable-pip-version-check --no-input --require-hashes -r requirements.lock
	touch $@

.venv/.dev: requirements-dev.lock .venv/.made
	@umask 022
	$(VENV) -m pip install -qq --disable-pip-version-check --no-input --require-hashes -r requirements-dev.lock
	touch $@

frontend: .venv/.made
	@umask 022
	$(STACK) frontend

%.mo: %.po | packages
	@msgfmt -o $@ $<

.PHONY: help up down status logs reset test check unit programs matrix contract record test-pyslurm faults browser tamper bench fmt parts dev packages frontend
