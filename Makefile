# fabricheck: `make` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup run nightly test lint format docs testbed-up testbed-down clean

# More arguments for the command behind a target: make run ARGS=--help
ARGS ?=
# One tier of tests alone: make test TIER=unit, or integration, e2e, lab
TIER ?=

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## install what `make run` needs: Debian packages, and Python in .venv
	@ci/setup runtime

run: setup ## start the testbed, run the smoke checks, show the verdict
	@.venv/bin/fabricheck run --system testbed $(if $(findstring --tag,$(ARGS)),,--tag smoke) $(ARGS)

nightly: setup ## the same with all that is for every night
	@ci/mpi-wheel openmpi5 mpich5
	@.venv/bin/fabricheck run --system testbed --mode nightly $(ARGS)

test: ## install what the tests need, lint, run the tests of a change; TIER=unit: that tier alone
	@TIER=$(TIER) ci/test $(ARGS)

lint: ## check style, types, import layers and shell scripts
	@ci/setup test
	@ci/lint $(ARGS)

format: ## bring Python and C++ into the project's format
	@ci/setup test
	@ci/lint --fix

docs: ## build the documentation site into build/site, without a network
	@ci/setup test
	@.venv/bin/mkdocs build --strict --quiet

testbed-up: setup ## start the testbed and leave it running
	@.venv/bin/fabricheck testbed up $(ARGS)

testbed-down: setup ## stop the testbed
	@.venv/bin/fabricheck testbed down $(ARGS)

clean: ## remove what was built and staged; perflogs, reports and .venv stay
	@rm -rf build stage output .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
