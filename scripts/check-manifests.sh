#!/usr/bin/env bash
# Validates deploy/kubernetes against the schemas of Kubernetes, the oldest and the newest version that the guide
# names: unknown fields, wrong types and missing fields are refused. Breaks a manifest first, to see that it is
# noticed.
#
# The validator is a Python package that brings the schemas along. It is installed once, below the build folder.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/requirements.sh

kubernetes_versions=(1.30.0 1.37.0)
packages=(
  kubernetes-validate==1.37.0
  attrs==26.1.0
  importlib-resources==7.1.0
  jsonschema==4.26.0
  jsonschema-specifications==2025.9.1
  packaging==26.4
  PyYAML==6.0.4
  referencing==0.37.0
  rpds-py==2026.9.1
  typing-extensions==4.16.0
)
tools=$target_dir/kubernetes-validate

has_python() {
  python3 -c 'import ensurepip, venv' 2> /dev/null
}

require_python() {
  has_python && return
  local install='apt-get install --yes --no-install-recommends python3-venv'
  if [[ $EUID -eq 0 ]] && command -v apt-get > /dev/null; then
    printf 'The check of the manifests needs python3-venv; installing: %s\n' "$install"
    apt-get update --quiet && DEBIAN_FRONTEND=noninteractive $install
  fi
  has_python || fail "the check of the manifests needs Python 3 with venv: sudo $install"
}

# What is installed is written down at the end, so that half an installation, or another one, is made again.
install_validator() {
  [[ $(cat "$tools/installed" 2> /dev/null) == "${packages[*]}" ]] && return
  require_python
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: "${packages[@]}"
  printf '%s\n' "${packages[*]}" > "$tools/installed"
}

validate() {
  local version
  for version in "${kubernetes_versions[@]}"; do
    "$tools/bin/kubernetes-validate" --strict --kubernetes-version "$version" "$@" || return 1
  done
}

# Changes a line of the server's manifest by a sed expression and wants that to be noticed.
require_refusal() {
  local broken
  broken=$(mktemp --suffix=.yaml)
  sed "$1" deploy/kubernetes/server.yaml > "$broken"
  ! cmp --silent deploy/kubernetes/server.yaml "$broken" || fail "the expression $1 changes nothing"
  ! validate "$broken" > /dev/null 2>&1 || fail "a manifest broken by $1 was accepted"
  rm "$broken"
}

install_validator
require_refusal 's/readOnlyRootFilesystem:/readOnlyRootFileSystem:/'
require_refusal 's/replicas: 1/replicas: one/'
require_refusal '/^  selector:/,/component:/d'
validate deploy/kubernetes/*.yaml
