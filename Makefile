# Everything here works on a machine that has Python 3.11 or newer and make: `make demo` first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test test-all test-more test-bounds test-gpu mutants bench lint clean

help:
	@echo "make demo      rank Debian's packages by PageRank over their dependencies"
	@echo "make test      run the tests"
	@echo "make test-all  run the tests, those too long for CI included"
	@echo "make test-more  run what make test leaves out: more architectures, algorithms in the simulator, long tests of programs"
	@echo "make test-bounds  run tests with kernels on the CPU that check array bounds"
	@echo "make test-gpu  run the tests that need an NVIDIA GPU (CUDA 13)"
	@echo "make mutants   change 60 places of the algorithms and engines, one at a time: do tests notice?"
	@echo "make lint      check style, formatting and types"
	@echo "make bench     time and verify edgewise beside SciPy, networkit, igraph and rustworkx"
	@echo "make clean     remove $(VENV)"

demo: $(VENV)/.core
	@$(BIN)/edgewise run pagerank data/debian-bookworm-depends.tsv.gz --top 20
	@echo
	@echo "Next: '$(BIN)/edgewise run bfs data/debian-bookworm-depends.tsv.gz --source firefox-esr --top 20',"
	@echo "a program of your own: examples/, and README.md for the Python interface."

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "not slow and not more and not gpu"

# What takes longer: CUDA kernels for more architectures, algorithms in the simulator, programs that are compiled often,
# programs on several ranks.
test-more: $(VENV)/.test $(VENV)/.distributed
	$(BIN)/python -m pytest -n auto --dist load -m "more and not slow and not gpu"

test-all: $(VENV)/.test $(VENV)/.distributed
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "not gpu"

# Every algorithm, and programs by every delivery, on small graphs.
test-bounds: $(VENV)/.test
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not gpu" \
	    $$(grep -lE "def test_(small_graphs|every_schedule|.*through_a_buffer|.*given_all)" tests/*.py) \
	    -k "(small_graphs and not int32 and not int64 and not float32 and not edge_betweenness) \
	        or (every_schedule and (sssp or edge)) or through_a_buffer or (given_all and median)"

test-gpu: $(VENV)/.test $(VENV)/.cuda13
	$(BIN)/python -m pytest -m gpu

mutants: $(VENV)/.test
	$(BIN)/python tests/mutants.py

bench: $(VENV)/.bench $(VENV)/.test
	$(BIN)/python -m benchmarks

lint: $(VENV)/.lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

clean:
	rm -rf $(VENV)

# One environment, a stamp for each set of packages in it: a second call installs nothing.
install = $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "edgewise needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	         "Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	    echo "$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2; \
	    exit 1; }

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	@echo "Installing edgewise into $(VENV) (once, about a minute) ..."
	@$(install) -e .
	@touch $@

# PyTorch from PyPI brings CUDA's libraries on Linux, several GB. Builds for CPUs alone, whose version ends in +cpu and
# goes before that of PyPI, are in an index of its own, which is used where it can be reached.
TORCH ?= torch==2.13.0
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
reached = $(BIN)/python -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=10)'

$(VENV)/.distributed: $(VENV)/.core
	@echo "Installing what 'distributed' needs into $(VENV) (once) ..."
	@index=; ! $(reached) $(TORCH_INDEX)/torch/ 2>/dev/null || index="--extra-index-url $(TORCH_INDEX)"; \
	    $(install) $$index '$(TORCH)' -e '.[distributed]'
	@touch $@

$(VENV)/.%: $(VENV)/.core
	@echo "Installing what '$*' needs into $(VENV) (once) ..."
	@$(install) -e '.[$*]'
	@touch $@
