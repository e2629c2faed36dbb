# make demo            predict a push on the recorded scan, over a real ROS 2 node; results in out/
# make demo SCAN=file  the same with your own scan (.pcd, .ply, .mcap or a rosbag2 folder)
# make test            style, types and every test
SHELL := /bin/bash
ENV := source .venv/ros_env.sh &&

.PHONY: demo test lint setup clean
demo: setup
	@$(ENV) python scripts/demo.py $(if $(SCAN),--scan "$(SCAN)")

test: setup
	@$(ENV) ruff check . && ruff format --check . && mypy && pytest

lint: setup
	@$(ENV) ruff check . && ruff format --check . && mypy

setup:
	@bash scripts/setup.sh

clean:
	rm -rf .venv build install log out
