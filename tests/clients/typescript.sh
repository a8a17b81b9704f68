#!/usr/bin/env bash
# Checks the TypeScript client: types in strict mode, that the committed JavaScript is what the sources compile to, and what
# it does with the real program. Usage:
#   tests/clients/typescript.sh FOLDER           keeps the npm packages in FOLDER; BOWLINE is the program
#   tests/clients/typescript.sh FOLDER update    compiles the JavaScript anew
#   tests/clients/typescript.sh FOLDER runtimes  a short run in bun and deno, which must be on the PATH
#   tests/clients/typescript.sh FOLDER browser   the example of a page in Chromium (apt, npm); pictures go to FOLDER/pictures
set -euo pipefail
mkdir -p "$1"
folder=$(realpath "$1")
cd "$(dirname "$0")/../.."
export BOWLINE=${BOWLINE:-$PWD/target/debug/bowline}

[ -x "$BOWLINE" ] || [ "${2:-}" = update ] || {
    echo "typescript: there is no program $BOWLINE; build it with cargo build, or name another one with BOWLINE" >&2
    exit 1
}

packages=(typescript@5.9.3 @types/node@20.19.9)

install() { # name of the state, packages
    local state=$folder/$1-installed
    [ "$(cat "$state" 2>/dev/null)" = "${*:2}" ] && return
    npm install --prefix "$folder" --silent --no-audit --no-fund "${@:2}" 2>/dev/null
    echo "${*:2}" >"$state"
}

compile() { # project, further arguments
    "$folder/node_modules/.bin/tsc" --project "$1" --typeRoots "$folder/node_modules/@types" "${@:2}"
}

# Compiling takes longer than all tests, so it is done if something has changed since it last passed.
check_types() {
    local state
    state=$(find clients/generator clients/typescript examples/clients/typescript schema tests/clients/typescript \
        tests/clients/typescript.sh -type f -not -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum | sha256sum)
    [ "$(cat "$folder/typescript-types-passed" 2>/dev/null)" = "$state" ] && return
    python3 clients/generator --check typescript
    local compiled=$folder/compiled-client
    rm -rf "$compiled"
    compile clients/typescript --outDir "$compiled"
    diff --recursive --brief "$compiled" clients/typescript/dist || {
        echo "typescript: dist/ is not what src/ compiles to; run: tests/clients/typescript.sh $folder update" >&2
        return 1
    }
    compile tests/clients/typescript
    echo "$state" >"$folder/typescript-types-passed"
}

install typescript "${packages[@]}"
case "${2:-check}" in
check)
    check_types &
    types=$!
    # Most of a test is waiting for processes.
    node --test --test-concurrency=4 --test-reporter=dot --test-timeout=240000 tests/clients/typescript/*.test.mjs
    wait "$types"
    ;;
update)
    python3 clients/generator typescript
    rm -rf clients/typescript/dist
    compile clients/typescript
    ;;
runtimes)
    bun tests/clients/typescript/smoke.mjs
    deno run --quiet --allow-run --allow-read --allow-write --allow-env \
        tests/clients/typescript/smoke.mjs
    ;;
browser)
    install browser playwright-core@1.56.1
    command -v chromium >/dev/null || apt-get install -y --no-install-recommends chromium >/dev/null
    CHROMIUM=$(command -v chromium) PAGE_FOLDER=$folder node --test tests/clients/typescript/page.mjs
    ;;
*)
    sed -n '2,8p' "$0"
    exit 2
    ;;
esac
