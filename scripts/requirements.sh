# Sourced by the other scripts: what this machine must have, and how to get it.
# shellcheck shell=bash

fail() {
  printf 'freehold: %s\n' "$1" >&2
  exit 1
}

require_build_tools() {
  command -v cargo > /dev/null || fail 'Rust is missing: install it from https://rustup.rs and open a new terminal.'
  command -v cc > /dev/null || fail 'a C compiler is missing (Rust needs it to link): apt-get install build-essential'
  command -v git > /dev/null || fail 'Git is missing: apt-get install git'
  command -v node > /dev/null || fail 'Node.js is missing: apt-get install nodejs npm, or see https://nodejs.org'
  command -v npm > /dev/null || fail 'npm is missing: apt-get install npm, or see https://nodejs.org'
}

# The web app's tools, among them the Node version that they need, come from the lock file.
install_web_tools() {
  local installed=web/node_modules/.package-lock.json
  if [[ ! -e $installed || web/package-lock.json -nt $installed ]]; then
    npm --prefix web ci --no-audit --no-fund
  fi
}

# One profile for everything that is not released, so that dependencies are built once.
cargo_profile=ci
target_dir=${CARGO_TARGET_DIR:-target}
