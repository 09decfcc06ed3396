# Sourced by test.sh: what the tests need around them, made for one run and taken away at its end.
# shellcheck shell=bash disable=SC2034,SC2154

# Puts the newest PostgreSQL server's folder into postgres_bin; fails when there is none.
find_postgres() {
  local initdb
  initdb=$(printf '%s\n' /usr/lib/postgresql/*/bin/initdb | sort --version-sort | tail -n 1)
  [[ -x $initdb ]] || initdb=$(command -v initdb) || return 1
  postgres_bin=$(dirname "$(realpath "$initdb")")
  [[ -x $postgres_bin/postgres && -x $postgres_bin/pg_isready && -x $postgres_bin/createdb ]]
}

# Puts the browser into CHROMIUM; fails when there is none.
find_chromium() {
  local name
  for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
    if [[ -n $name ]] && CHROMIUM=$(command -v "$name"); then
      export CHROMIUM
      return 0
    fi
  done
  return 1
}

require_test_programs() {
  local missing=()
  find_postgres || missing+=(postgresql)
  find_chromium || missing+=(chromium)
  [[ ${#missing[@]} -gt 0 ]] || return 0
  local install="apt-get install --yes --no-install-recommends ${missing[*]}"
  if [[ $EUID -eq 0 ]] && command -v apt-get > /dev/null; then
    printf 'The tests need %s; installing: %s\n' "${missing[*]}" "$install"
    apt-get update --quiet && DEBIAN_FRONTEND=noninteractive $install
  fi
  find_postgres || fail "the tests need a PostgreSQL server (initdb and postgres): sudo $install"
  find_chromium || fail "the tests need Chromium: sudo $install, or name a browser in CHROMIUM"
}

# A home of its own, so that no test reads or changes what the person has set up; Rust and npm keep theirs.
make_scratch() {
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/freehold-test.XXXXXX")
  export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
  export npm_config_cache=${npm_config_cache:-$HOME/.npm}
  export npm_config_userconfig=${npm_config_userconfig:-$HOME/.npmrc}
  export HOME=$scratch/home GIT_CONFIG_GLOBAL=$scratch/gitconfig GIT_CONFIG_NOSYSTEM=1
  mkdir "$HOME"
  git config --file "$GIT_CONFIG_GLOBAL" user.name 'Freehold Tests'
  git config --file "$GIT_CONFIG_GLOBAL" user.email 'tests@freehold.example'
  git config --file "$GIT_CONFIG_GLOBAL" init.defaultBranch main
  unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME FREEHOLD_HOME FREEHOLD_DATABASE
}

# PostgreSQL refuses to run as root: then a system user runs it, without any other rights.
choose_postgres_user() {
  as_postgres=()
  [[ $EUID -eq 0 ]] || return 0
  local user
  for user in postgres nobody; do
    if id "$user" > /dev/null 2>&1; then
      as_postgres=(setpriv "--reuid=$user" "--regid=$(id -g "$user")" --clear-groups --)
      chown "$user" "$1"
      return 0
    fi
  done
  fail 'PostgreSQL cannot run as root, and there is no user postgres or nobody to run it.'
}

free_port() {
  node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'
}

start_postgres() {
  postgres_dir=$(mktemp -d "${TMPDIR:-/tmp}/freehold-test-postgres.XXXXXX")
  choose_postgres_user "$postgres_dir"
  postgres_port=$(free_port)
  PGPASSWORD=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  export PGPASSWORD
  printf '%s' "$PGPASSWORD" | "${as_postgres[@]}" tee "$postgres_dir/password" > /dev/null
  (
    cd "$postgres_dir"
    "${as_postgres[@]}" "$postgres_bin/initdb" --pgdata data --username freehold --auth scram-sha-256 \
      --pwfile password --encoding UTF8 --no-locale --no-sync > "$scratch/initdb.log"
  ) || fail 'initdb failed; its message is above.'
  (
    cd "$postgres_dir"
    exec "${as_postgres[@]}" "$postgres_bin/postgres" -D data -h 127.0.0.1 -p "$postgres_port" -k '' \
      -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=300
  ) > "$scratch/postgres.log" 2>&1 &
  postgres_pid=$!
  wait_for_postgres
  FREEHOLD_TEST_POSTGRES=$(database_url postgres)
  export FREEHOLD_TEST_POSTGRES
  printf '%s listens on 127.0.0.1:%s\n' "$("$postgres_bin/postgres" --version)" "$postgres_port"
}

wait_for_postgres() {
  local deadline=$((SECONDS + 60))
  until "$postgres_bin/pg_isready" --quiet --host 127.0.0.1 --port "$postgres_port"; do
    if ! kill -0 "$postgres_pid" 2> /dev/null || ((SECONDS > deadline)); then
      cat "$scratch/postgres.log" >&2
      fail 'PostgreSQL did not start; its log is above.'
    fi
    sleep 0.1
  done
}

database_url() {
  printf 'postgres://freehold:%s@127.0.0.1:%s/%s' "$PGPASSWORD" "$postgres_port" "$1"
}

create_database() {
  "$postgres_bin/createdb" --host 127.0.0.1 --port "$postgres_port" --username freehold "$1"
}

# Ends PostgreSQL by its own process number, also after a failure or Ctrl-C.
clean_up() {
  if [[ -n ${postgres_pid:-} ]]; then
    kill -INT "$postgres_pid" 2> /dev/null || true
    wait "$postgres_pid" 2> /dev/null || true
  fi
  rm -rf "${postgres_dir:-}" "${scratch:-}"
}
