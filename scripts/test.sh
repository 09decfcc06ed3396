#!/usr/bin/env bash
# `make test`: every check, the cheap ones first. Goes on after a failure, so that one run shows them all;
# ends with `N passed, N failed`.
#
# Needs what building needs, and a PostgreSQL server, Chromium and Python with venv (which checks the manifests for
# Kubernetes): found, or installed as root by apt-get, or asked for. None of them is ever skipped. PostgreSQL runs
# for these tests only: in a temporary folder, on a free port of the loopback interface, as an unprivileged user.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/requirements.sh
. scripts/test-machine.sh

passed=0
failed=()

step() {
  local title=$1 started=$SECONDS
  shift
  printf '\n=== %s\n' "$title"
  if "$@"; then
    passed=$((passed + 1))
    printf -- '--- passed in %d s: %s\n' $((SECONDS - started)) "$title"
  else
    failed+=("$title")
    printf -- '--- FAILED after %d s: %s\n' $((SECONDS - started)) "$title"
  fi
}

web() {
  npm --prefix web run --silent "$@"
}

xtask() {
  cargo run --quiet --profile "$cargo_profile" --package xtask -- "$@"
}

# Features that only tests use (failpoints) are on, in every step alike, so that everything is built once.
build=(--workspace --all-features --profile "$cargo_profile")

rust_tests() {
  if cargo nextest --version > /dev/null 2>&1; then
    cargo nextest run --workspace --all-features --cargo-profile "$cargo_profile" --profile ci
  else
    cargo test "${build[@]}" --no-fail-fast --lib --bins --tests
  fi
}

demo_on_postgres() {
  create_database freehold_demo && "$FREEHOLD_BIN" demo --database "$(database_url freehold_demo)"
}

# psql and pg_dump are taken from beside the server, so that they are of its version.
legacy_databases() {
  PATH=$postgres_bin:$PATH scripts/legacy-check.sh
}

require_build_tools
require_test_programs
make_scratch
trap clean_up EXIT
start_postgres

FREEHOLD_BIN=$(realpath -m "$target_dir/$cargo_profile/freehold")
export FREEHOLD_BIN

step 'Rust format' cargo fmt --all --check
step 'house rules' xtask tidy
step 'documents' xtask docs
step 'Kubernetes manifests' scripts/check-manifests.sh
step 'web tools' install_web_tools
step 'web lint' web lint
step 'web types' web typecheck
step 'web translations' web i18n:check
step 'web build' web build
step 'web first load' web size:check
step 'web unit tests' web test
step 'Rust lints' cargo clippy "${build[@]}" --all-targets --keep-going -- --deny warnings
step 'Rust build' cargo build "${build[@]}" --all-targets
step 'Rust tests on both engines' rust_tests
step 'Rust examples in comments' cargo test "${build[@]}" --doc
step 'OpenAPI document' xtask codegen --check
step 'web types from the OpenAPI document' web codegen:check
step 'commands in the documents' xtask docs --commands
step 'demo on SQLite' "$FREEHOLD_BIN" demo
step 'demo on PostgreSQL' demo_on_postgres
step 'legacy databases on both engines' legacy_databases
step 'browser tests' web e2e
if cargo deny --version > /dev/null 2>&1; then
  step 'licences and sources of dependencies' cargo deny --offline check licenses bans sources
else
  printf '\ncargo-deny is not installed: the licences of dependencies were not checked (deny.toml says how).\n'
fi

printf '\n'
for title in "${failed[@]}"; do
  printf 'failed: %s\n' "$title"
done
printf '%d passed, %d failed in %d min\n' "$passed" "${#failed[@]}" $((SECONDS / 60))
[[ ${#failed[@]} -eq 0 ]]
