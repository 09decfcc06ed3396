#!/usr/bin/env bash
# `make run`: builds Freehold and starts it with a small sample repository. Arguments go to `freehold serve`.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/requirements.sh

require_build_tools
echo 'Building the web app …'
install_web_tools
npm --prefix web run --silent build
echo 'Building Freehold (the first time takes some minutes) …'
cargo build --profile "$cargo_profile" --package freehold-cli
exec "$target_dir/$cargo_profile/freehold" serve --sample "$@"
