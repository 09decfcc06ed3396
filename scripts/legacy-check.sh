#!/usr/bin/env bash
# Upgrades a collection of legacy databases on both engines and compares each with the result that it must reach.
#
# The collection is not part of the repository, because the databases hold another project's definitions. It is
# looked for in ../shared/legacy-databases, or where FREEHOLD_LEGACY_DATABASES says; where there is none, the check
# is left out and says so. Arguments go to its check.py, for example --only '02*' -v.
#
# Needs FREEHOLD_BIN (the binary), FREEHOLD_TEST_POSTGRES (a server, with the rights of a superuser), Python 3.9
# or newer with its SQLite, and psql and pg_dump on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/requirements.sh

databases=${FREEHOLD_LEGACY_DATABASES:-../shared/legacy-databases}
if [[ ! -f $databases/check.py ]]; then
  printf 'Left out: there are no legacy databases in %s.\n' "$databases"
  printf 'They are kept outside of the repository; FREEHOLD_LEGACY_DATABASES names another folder.\n'
  exit 0
fi

python3 -c 'import sqlite3, sys; sys.exit(sys.version_info < (3, 9))' 2> /dev/null \
  || fail 'the legacy databases are checked by Python 3.9 or newer with sqlite3: apt-get install python3'
command -v psql > /dev/null && command -v pg_dump > /dev/null \
  || fail 'the legacy databases need psql and pg_dump on PATH: apt-get install postgresql-client'
[[ -x ${FREEHOLD_BIN:-} ]] || fail 'FREEHOLD_BIN must name the freehold binary (cargo build --package freehold-cli).'
[[ -n ${FREEHOLD_TEST_POSTGRES:-} ]] \
  || fail 'FREEHOLD_TEST_POSTGRES must name a PostgreSQL server, as postgres://superuser:password@127.0.0.1/postgres'

# The program splits this line as a shell would.
upgrade="$(printf '%q' "$(realpath "$FREEHOLD_BIN")") upgrade --db {url}"
python3 "$databases/check.py" --cmd "$upgrade" --pg "$FREEHOLD_TEST_POSTGRES" "$@"
