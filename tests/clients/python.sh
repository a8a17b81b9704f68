#!/usr/bin/env bash
# Tests the Python client with the real program, and its types. Usage:
#   tests/clients/python.sh BOWLINE PYTHON   PYTHON is that of a virtual environment
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
BOWLINE=$(realpath "$1")
python=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
export BOWLINE PYTHONDONTWRITEBYTECODE=1
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

mypy=1.18.2
[ "$("$python" -c 'from importlib.metadata import version; print(version("mypy"))' 2>/dev/null)" = $mypy ] ||
    "$python" -m pip install --quiet --disable-pip-version-check mypy==$mypy

types() {
    export MYPYPATH=$root/clients/python
    local check=("$python" -m mypy --strict --cache-dir "$logs/mypy")
    "${check[@]}" -p bowline_agent &&
        "${check[@]}" "$root"/examples/clients/python/*.py &&
        (cd "$root/clients/generator" && "${check[@]}" model.py schema.py python.py __main__.py)
}

# The slowest first, as many at once as there are processors.
run() {
    if [ "$1" = types ]; then
        (types) >"$logs/$1" 2>&1
    else
        (cd "$here/python" && "$python" -W error::ResourceWarning -m unittest "$1") >"$logs/$1" 2>&1
    fi || {
        echo "clients: $1 failed"
        cat "$logs/$1"
        return 1
    }
}

jobs=(test_examples test_events types)
for file in "$here"/python/test_*.py; do
    name=$(basename "$file" .py)
    [[ " ${jobs[*]} " == *" $name "* ]] || jobs+=("$name")
done
export -f run types
export here root python logs
printf '%s\n' "${jobs[@]}" | xargs -P "$(nproc)" -I{} bash -c 'set -euo pipefail; run {}'
echo "clients: Python: $(grep -h '^Ran ' "$logs"/test_* | awk '{ n += $2 } END { print n }') tests, types"
