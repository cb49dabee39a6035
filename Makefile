# make demo   virtual environment, install, and a first kernel (launched where there is a GPU)
# make test   the same, then ruff, mypy, clang-format, the documentation and the whole test suite
#
# Both need a Debian/Ubuntu machine with python3 (3.10 or newer), python3-venv, g++ and make; no
# CUDA toolkit. `make help` lists the other targets.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=
# Which tests stay together: see tests/conftest.py. In their order: the shortest are the last ones,
# so that no worker is left with a long file when the others are done.
WORKERS ?= --numprocesses=auto --maxprocesses=8 --dist=loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs format gpu-test size wheel clean prerequisites

bin := $(VENV)/bin
pip := $(bin)/python -m pip --disable-pip-version-check --quiet install
# Not the standard headers, which have tables of macros.
cxx_files := find include examples tests/stub -name '*.[ch]' -o -name '*.cc'

help:
	@echo "make demo      install into $(VENV) and run a first kernel"
	@echo "make test      ruff, mypy, clang-format, the documentation and all tests (those that need a GPU are skipped without one)"
	@echo "make gpu-test  the tests in tests/gpu; GPU_PYTHON=python3 runs them outside $(VENV)"
	@echo "make lint      ruff, mypy and clang-format alone"
	@echo "make docs      the documentation as a site, in site/"
	@echo "make format    let ruff and clang-format rewrite the sources, and the snippets in the documentation"
	@echo "make wheel     wheels in dist/, with the launcher's object for this processor"
	@echo "make size      count lines by room; SINCE=COMMIT puts that commit's beside them"
	@echo "make clean     remove $(VENV) and everything that was built"
	@echo "PYTHON=...     the interpreter that $(VENV) is made with (now: $(PYTHON))"

demo: $(VENV)/.installed
	@$(bin)/python -m tvmffi_cubin demo

test: lint docs $(VENV)/.installed-triton $(VENV)/.installed-cuda
	$(bin)/python -m pytest $(WORKERS) $(PYTEST_ARGS)
	@for wheels in 12.6 13.0 13; do \
	  echo "make: device headers and mixed sources with NVIDIA's wheels of CUDA $$wheels"; \
	  PYTHONPATH=$(abspath $(VENV))/cuda-$$wheels TVMFFI_CUBIN_CUDA=$${wheels%.*} \
	    $(bin)/python -m pytest --quiet $(WORKERS) --dist=load \
	    tests/build/test_nvrtc_headers.py tests/build/test_mixed_a*.py || exit 1; \
	done
	@echo "make: launchers and mixed sources with the oldest tvm-ffi"
	PYTHONPATH=$(abspath $(VENV))/tvm-ffi-oldest $(bin)/python -m pytest --quiet $(WORKERS) \
	  tests/build/test_load_inline.py tests/build/test_launch_scalars.py tests/build/test_mixed_build.py

lint: $(VENV)/.installed-test
	$(bin)/python -m ruff check .
	$(bin)/python -m ruff format --check .
	$(bin)/python -m mypy
	$(cxx_files) | xargs $(bin)/clang-format --dry-run -Werror

# A link that leads nowhere, or a name that is not there, is an error.
docs: $(VENV)/.installed-test
	$(bin)/python -m mkdocs --quiet build --strict

format: $(VENV)/.installed-test
	$(bin)/python -m ruff check --fix .
	$(bin)/python -m ruff format .
	$(cxx_files) | xargs $(bin)/clang-format -i
	$(bin)/python docs/update_snippets.py

# A virtual environment has no torch, which these compare against: name an interpreter that has it.
ifdef GPU_PYTHON
gpu-test:
	PYTHONPATH=$(CURDIR) $(GPU_PYTHON) -m pytest tests/gpu $(PYTEST_ARGS)
else
gpu-test: $(VENV)/.installed-test
	$(bin)/python -m pytest tests/gpu $(PYTEST_ARGS)
endif

# Also for aarch64 where aarch64-linux-gnu-g++ is installed.
wheel: $(VENV)/.installed-test
	$(bin)/python scripts/wheel.py

size:
	@$(PYTHON) scripts/size.py $(SINCE)

clean:
	rm -rf $(VENV) build dist site *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are files, so that nothing is installed again until pyproject.toml changes.
$(VENV)/.created: | prerequisites
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.created | prerequisites
	@echo "make: installing into $(VENV); the first time downloads about 150 MB, mostly NVRTC"
	$(pip) --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml $(VENV)/.created | prerequisites
	@echo "make: installing into $(VENV); the first time downloads about 200 MB, mostly NVRTC"
	$(pip) --editable '.[test]'
	@touch $(VENV)/.installed $@

# The tests of Triton kernels run with the newest and with the oldest that is taken.
$(VENV)/.installed-triton: $(VENV)/.installed-test
	@echo "make: installing Triton twice, the newest and 3.6.0; downloads about 400 MB"
	$(pip) --editable '.[test,triton]'
	rm -rf $(VENV)/triton-3.6.0
	$(pip) --no-deps --target $(VENV)/triton-3.6.0 triton==3.6.0
	@touch $@

# The oldest wheels of each CUDA, and the newest of 13; those of 12 are in the environment.
$(VENV)/.installed-cuda: $(VENV)/.installed-test
	@echo "make: installing NVIDIA's wheels of three CUDA releases, and the oldest tvm-ffi; downloads about 150 MB"
	rm -rf $(VENV)/cuda-*
	$(pip) --no-deps --target $(VENV)/cuda-12.6 nvidia-cuda-cccl-cu12==12.6.37 \
	  nvidia-cuda-nvrtc-cu12==12.6.20 nvidia-cuda-runtime-cu12==12.6.37
	$(pip) --no-deps --target $(VENV)/cuda-13.0 nvidia-cuda-cccl==13.0.50 nvidia-cuda-crt==13.0.48 \
	  nvidia-cuda-nvrtc==13.0.48 nvidia-cuda-runtime==13.0.48 nvidia-nvfatbin==13.0.39
	$(pip) --no-deps --target $(VENV)/cuda-13 nvidia-cuda-cccl nvidia-cuda-crt \
	  nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-nvfatbin
	rm -rf $(VENV)/tvm-ffi-oldest
	$(pip) --no-deps --target $(VENV)/tvm-ffi-oldest apache-tvm-ffi==0.1.11
	@touch $@

# Each line names what is missing and the package that brings it.
prerequisites:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: $(PYTHON) is missing; run: sudo apt install python3 python3-venv" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "make: $(PYTHON) is $$($(PYTHON) -V 2>&1), 3.10 or newer is needed;" \
	       "name another one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "make: $(PYTHON) cannot make virtual environments;" \
	       "run: sudo apt install $(notdir $(PYTHON))-venv" >&2; exit 1; }
	@{ command -v "$(firstword $(CXX))" || command -v c++ || command -v g++ \
	  || command -v clang++; } >/dev/null || { \
	  echo "make: there is no C++ compiler; run: sudo apt install g++" >&2; exit 1; }
	@{ command -v ld && command -v as; } >/dev/null || { \
	  echo "make: there is no linker or assembler; run: sudo apt install binutils" >&2; exit 1; }
