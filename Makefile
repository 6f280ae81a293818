# All targets install their own dependencies: `make demo` and `make test` only need Python 3.11 or newer and make.
VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { command -v $$p; break; }; done)

# Only errors of the installer are shown: it can print long warnings about local settings. Modules are compiled when they
# are first imported, which most are not.
INSTALL := $(BIN)/python -m pip --quiet --quiet install --no-compile

# Keep compiled modules: the tests start the command hundreds of times, and each worker reads all files.
unexport PYTHONDONTWRITEBYTECODE

# Without Java, the tests of Spark and of PMML evaluators are skipped, so these are not downloaded.
TESTED := $(VENV)/.test$(shell command -v java >/dev/null 2>&1 && echo ,spark,pmml)

.PHONY: help demo test quick test-programs test-oracles test-reports test-service test-engines test-adversarial test-docs test-lab test-statistics test-postgres test-spark test-r test-slow test-peers check format numbers catalogues notebooks paper proofs docs dist container verify bench study clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /	/' | expand -t 18

demo: $(VENV)/.installed  ## fit a private rule list on the breast cancer data and print it with its card
	$(BIN)/python examples/quickstart.py

# Each file runs in a single worker, which creates its fixtures once; distributing single tests takes 15 seconds more.
COMMON := -m "not slow and not statistics and not postgres and not spark and not r"
USUAL := -n auto --dist loadgroup $(COMMON)
BY_FILE := -n auto --dist loadfile $(COMMON)
test: $(TESTED)  ## run the tests, except suites with their own target
	$(BIN)/python -m pytest $(BY_FILE) $(addprefix --ignore=,$(addprefix tests/,adversarial audit benchmarks cli client docs engines evaluation hypotheses marginals models/readers oracle planning release report service studies) studies)

test-programs: $(TESTED)  ## run the tests of the command line, the benchmarks, the studies and the release
	$(BIN)/python -m pytest $(BY_FILE) tests/cli tests/benchmarks tests/release tests/studies studies

test-oracles: $(TESTED)  ## run the tests of oracles, hypotheses and learning from marginals
	$(BIN)/python -m pytest $(BY_FILE) tests/hypotheses tests/marginals tests/oracle

test-reports: $(TESTED)  ## run the tests of audits, also of models of other tools, and of evaluations, plans and reports
	$(BIN)/python -m pytest $(BY_FILE) tests/audit tests/evaluation tests/models/readers tests/planning tests/report

test-service: $(TESTED)  ## run the tests of the service and its client
	$(BIN)/python -m pytest $(BY_FILE) tests/client tests/service

test-engines: $(TESTED)  ## run the tests of engines, on DuckDB and on files of all types
	$(BIN)/python -m pytest $(BY_FILE) tests/engines

test-adversarial: $(TESTED)  ## try to break the documented guarantees: hostile files, tables, processes, requests
	$(BIN)/python -m pytest $(USUAL) tests/adversarial

test-docs: $(TESTED)  ## run the examples of the docs, and check numbers and links
	$(BIN)/python -m pytest $(USUAL) tests/docs

QUICK := $(filter-out %/test_derived.py %/test_yaml_subset.py,$(wildcard tests/schema/test_*.py)) tests/test_tally.py \
	$(patsubst %,tests/privacy/test_%.py,amounts budget card charge exponential_mechanism gate gini noise budget_chain unit zcdp) \
	$(patsubst %,tests/learn/search/test_%.py,boxes contingency cost exhaustive losses sampler semirings space) \
	$(patsubst %,tests/learn/test_%.py,rule_lists scorecards trees) $(patsubst %,tests/models/test_%.py,rule_list scorecard tree)
quick: $(TESTED)  ## run the tests of the core in about a minute: mechanisms, schema, counts, searches and three learners
	$(BIN)/python -m pytest $(BY_FILE) $(QUICK)

test-lab: $(VENV)/.lab  ## run the tests of lab/, with its additional dependencies
	$(BIN)/python -m pytest -n auto --dist loadfile lab

test-statistics: $(TESTED)  ## run repeated tests in a reduced form that still has power: draws, kills, load, whole studies
	$(BIN)/python -m pytest -n auto --dist loadgroup -m "statistics and not slow" $$(grep -rl --include='test_*.py' mark.statistics tests)

test-postgres: $(TESTED)  ## run the tests on PostgreSQL, in one process with one server (skipped if not installed)
	$(BIN)/python -m pytest -m "postgres and not slow and not statistics" tests

test-spark: $(TESTED)  ## run the tests on Spark and PMML evaluators, in one process (skipped without Java)
	$(BIN)/python -m pytest -m "spark and not slow" tests/engines tests/models tests/adversarial

test-r: $(TESTED)  ## run R CMD check on the R package, and compare its predictions with Python's (skipped without R and jsonlite)
	$(BIN)/python -m pytest -m "r and not slow" tests/models/test_r.py

test-slow: $(TESTED) $(VENV)/.lab  ## run repeated tests at full size, and many generated cases (several hours)
	$(BIN)/python -m pytest -n auto --dist loadgroup -m "slow or hypothesis" --hypothesis-profile=full tests src studies lab

test-peers: $(VENV)/.peers  ## install optional peers (imodels, STreeD, schemathesis, …) and run their tests
	$(BIN)/python -m pytest -n auto --dist loadgroup -m peers

# Programs write the pages of single benchmarks and the tables of studies.
MARKDOWN := $(wildcard *.md $(addsuffix /*.md,docs docs/history docs/reference docs/studies benchmarks lab proofs r)) src/hedgerow/datasets/NOTICE.md
check: $(VENV)/.check $(VENV)/.lab  ## check lint, format, prose and types, including the examples in the docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mdformat --check $(MARKDOWN)
	$(BIN)/python .ci/prose.py
	$(BIN)/hadolint Containerfile
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python .ci/typed_docs.py $(VENV)/stubs

format: $(VENV)/.check  ## format the code and the pages
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mdformat $(MARKDOWN)

numbers: $(VENV)/.installed  ## update the numbers of the pages from the committed files
	$(BIN)/python docs/write_numbers.py

catalogues: $(VENV)/.installed  ## update the catalogues of translations from the source, and list what is left to translate
	$(BIN)/python .ci/catalogues.py

notebooks: $(VENV)/.docs  ## run docs/notebooks, and store their output
	$(BIN)/jupyter execute --inplace docs/notebooks/*.ipynb

paper: $(TESTED)  ## typeset the paper in build/paper.pdf, with tables from the committed results, offline
	mkdir -p build
	$(BIN)/python -c "import typst; typst.compile('paper/paper.typ', root='.', output='build/paper.pdf')"

proofs:  ## check the proofs of docs/mathematics.md with Coq (proofs/); needs only Coq, and explains how to install it
	proofs/check

docs: $(VENV)/.docs  ## build the documentation site in build/docs; a broken link or reference is an error
	rm -rf build/docs docs/reference/api
	$(BIN)/python -m sphinx -b html -W --keep-going -n -q docs build/docs

# Builds the last commit. build/evidence/ is separate from dist/, because every file of dist/ is uploaded to the package index.
EVIDENCE := build/evidence
dist: $(VENV)/.dist  ## build sdist and wheel twice, compare and check them, write SBOM and provenance, run the README on each Python, build the container
	rm -rf dist $(EVIDENCE)
	$(BIN)/python .ci/rebuild.py dist --provenance $(EVIDENCE)/provenance.json
	$(BIN)/twine check --strict dist/*
	$(BIN)/python .ci/sbom.py dist $(EVIDENCE)/sbom.cdx.json
	.ci/versions $(BIN)/uv
	@if [ "$$(id -u)" = 0 ]; then .ci/container; else echo "Not built: the container, which needs root (sudo make container)."; fi

container:  ## build the image of the Containerfile from the last commit, start it and send a request (needs root and Debian's buildah)
	.ci/container

verify:  ## rebuild the last commit, and compare it with PROVENANCE=file of a release
	@test -n "$(PROVENANCE)" || { echo "Name the provenance of the release: make verify PROVENANCE=provenance.json"; exit 1; }
	rm -rf build/rebuilt
	$(PYTHON) .ci/rebuild.py build/rebuilt --expect $(PROVENANCE)

# Not listed: scripts that these start, and census and recorded, which need a folder.
BENCHMARKS := accuracy exact_accuracy prior stop_probability published speed exact base_two optimal optimal_raw league scorecards wide several_classes \
	two_way_tables risk_scores segments readability three_models objectives calibration reasons cut_points quantiles exact_risk membership epsilon forests \
	counting worlds marginals bins columns hypotheses growth engines many_rows categories csv_check start first_model install_size service ledger federation spark \
	forecasts way reports outcomes optimal_numbers anytime costs aim when chance evaluation leaf_shares model_choice private_forest
bench: $(TESTED) $(VENV)/.lab  ## repeat the benchmarks (a day; see benchmarks/README.md)
	cd benchmarks && for b in $(BENCHMARKS); do PYTHONPATH=.. $(abspath $(BIN))/python $$b.py || exit 1; done

study: $(TESTED)  ## reproduce the figures and tables of SSRL, PDR, EXPRIL and the other studies (six hours; docs/studies/); can be interrupted and continued
	$(BIN)/python -m studies ssrl --runs 100 --resume -o build/ssrl
	$(BIN)/python -m studies pdr --seeds 10 --resume -o build/pdr
	$(BIN)/python -m studies expril --runs 100 --resume -o build/expril
	$(BIN)/python -m studies.sets
	$(BIN)/python -m studies.width.study
	$(BIN)/python -m studies.scorecard_reconstruction
	$(BIN)/python -m studies.learning_algorithm
	$(BIN)/python -m studies.merging
	$(BIN)/python -m studies.adaptive_queries
	$(BIN)/python -m studies.label_only.study
	$(BIN)/python -m studies.smooth_trees.study
	$(BIN)/python -m studies.later_work

clean:  ## remove the environment
	rm -rf $(VENV)

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "hedgerow needs Python 3.11 or newer on the PATH, or PYTHON=/path/to/python."; exit 1; }
	@echo "$(VENV): creating an environment with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot create a virtual environment (Debian: apt install python3-venv)."; \
		rm -rf $(VENV); exit 1; }
	@$(INSTALL) --upgrade pip
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	@echo "$(VENV): installing hedgerow"
	@$(INSTALL) --editable .
	@touch $@

$(TESTED): $(VENV)/.installed
	@echo "$(VENV): installing the test dependencies"
	@$(INSTALL) --editable '.[test,postgres,service$(patsubst $(VENV)/.test%,%,$@)]'
	@touch $@

# If a peer does not install with this Python, pip's reason is shown and its tests are skipped.
$(VENV)/.peers: $(VENV)/.installed
	@echo "$(VENV): installing peers"
	@$(INSTALL) --editable '.[test,postgres,service]'
	@for peer in dl85 streed imodels attacks sacro contracts; do $(INSTALL) --editable ".[$$peer]" || \
		echo "The extra $$peer does not install with this Python, for the reason above: its tests are skipped."; done
	@touch $@

$(VENV)/.docs: $(VENV)/.installed
	@echo "$(VENV): installing the documentation dependencies"
	@$(INSTALL) --editable '.[docs]'
	@touch $@

$(VENV)/.dist: $(VENV)/.installed
	@echo "$(VENV): installing the packaging dependencies"
	@$(INSTALL) --editable '.[dist]'
	@touch $@

$(VENV)/.lab: $(TESTED) lab/requirements.txt
	@echo "$(VENV): installing the dependencies of lab/"
	@$(INSTALL) -r lab/requirements.txt
	@touch $@

# The stubs are for the examples of the docs, which are checked like users' code; scikit-learn's stubs lag behind its releases.
$(VENV)/.check: $(TESTED)
	@echo "$(VENV): installing the dependencies of lint and types"
	@$(INSTALL) --editable '.[check]'
	@$(INSTALL) --no-deps --upgrade --target $(VENV)/stubs 'pandas-stubs>=2.2' 'scikit-learn-stubs>=0.0.3'
	@touch $@
