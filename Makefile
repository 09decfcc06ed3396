# Two commands are enough: `make run` to use Freehold, `make test` before a change is proposed.

.PHONY: run test nightly fmt codegen bench

# Builds Freehold and starts it with a small sample repository.
run:
	@scripts/run.sh

# Runs every check; installs or asks for PostgreSQL, Chromium and Python.
test:
	@scripts/test.sh

# Runs the random histories of the engine in earnest: a thousand on each database engine.
nightly:
	cargo build --package freehold-agent --examples
	FREEHOLD_MODEL_HISTORIES=1000 cargo test --package freehold-engine --test model -- --show-output

fmt:
	cargo fmt --all
	npm --prefix web run format

# Writes docs/openapi.json and the web app's types from it.
codegen:
	cargo run --package xtask -- codegen
	npm --prefix web run codegen

# Measures a release build and writes docs/benchmarks.md.
bench:
	cargo run --release --package xtask -- bench
