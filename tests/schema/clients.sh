#!/usr/bin/env bash
# Generates TypeScript and Python types from schema/ and compiles a client of them in strict mode. Usage:
#   tests/schema/clients.sh FOLDER PYTHON   keeps generators and types in FOLDER; PYTHON is that of a virtual environment
# Nothing is done if neither the schemas nor this folder have changed since it last passed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
schemas=$here/../../schema
folder=$1
python=$2

npm_packages=(json-schema-to-typescript@15.0.4 typescript@5.9.3 @types/node@20.19.9)
pip_packages=(datamodel-code-generator==0.35.0 mypy==1.18.2)

state=$(cat "$schemas"/*.json "$here"/client.ts "$here"/client.py "$0" | sha256sum)
if [ "$(cat "$folder/passed" 2>/dev/null)" = "$state" ]; then
    echo "clients: unchanged since they last compiled"
    exit
fi

mkdir -p "$folder/types"
if [ "$(cat "$folder/installed" 2>/dev/null)" != "${npm_packages[*]}" ]; then
    npm install --prefix "$folder" --silent --no-audit --no-fund "${npm_packages[@]}" 2>/dev/null
    echo "${npm_packages[*]}" >"$folder/installed"
fi
"$python" -m pip install --quiet "${pip_packages[@]}"

typescript() {
    "$folder/node_modules/.bin/json2ts" -i "$schemas" -o "$folder/types" --unreachableDefinitions \
        --no-additionalProperties
    # The same files as declarations would hide their errors.
    for types in "$folder"/types/*.d.ts; do
        mv "$types" "${types%.d.ts}.ts"
    done
    cp "$here/client.ts" "$folder/types/"
    cat >"$folder/types/tsconfig.json" <<'END'
{ "compilerOptions": { "strict": true, "noEmit": true, "target": "es2022", "module": "es2022",
    "moduleResolution": "bundler", "noUncheckedIndexedAccess": true, "types": [] }, "files": ["client.ts"] }
END
    "$folder/node_modules/.bin/tsc" --project "$folder/types"
}

# `operator` is a module of Python's own, and a hyphen is no part of a name.
module_name() {
    local name
    name=$(basename "$1" .json)
    [ "$name" = operator ] && name=operator_
    echo "${name//-/_}"
}

# Each schema is a process of its own; they run side by side.
generate_python() {
    "$python" -m datamodel_code_generator --input "$1" --input-file-type jsonschema --disable-timestamp \
        --output "$folder/types/$(module_name "$1").py" --output-model-type typing.TypedDict \
        --target-python-version 3.11 --use-union-operator
}

python_types() {
    local schema generator generators=()
    for schema in "$schemas"/*.json; do
        generate_python "$schema" &
        generators+=($!)
    done
    for generator in "${generators[@]}"; do
        wait "$generator"
    done
    cp "$here/client.py" "$folder/types/"
    (cd "$folder/types" && "$python" -m mypy --strict --no-error-summary client.py)
}

typescript &
compiled=$!
python_types
wait "$compiled"
echo "$state" >"$folder/passed"
echo "clients: TypeScript and Python compile"
