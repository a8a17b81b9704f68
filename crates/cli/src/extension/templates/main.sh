#!/bin/sh
# my-extension: blocks `rm -rf`, and greets.
#
# Try it out:  bowline extension check .
#
# Each line on stdin is a JSON object from bowline, each line on stdout one for it; stderr is the log. bowline writes
# "type" first and "id" next, so a shell can read them. Use jq, if it is there, for more than that.

answer() { # the rest of a result
    printf '{"type":"result","id":"%s"%s}\n' "$id" "$1"
}

while IFS= read -r line; do
    id=${line#*'"id":"'}
    id=${id%%'"'*}
    case $line in
    '{"type":"init"'*)
        printf '%s' '{"type":"registered","protocol":1,"name":"my-extension","extensions":[{'
        printf '%s' '"hooks":[{"event":"tool_call","filter":{"toolName":["bash"]}}],'
        printf '%s\n' '"commands":[{"name":"hello","description":"Greets"}]}]}'
        ;;
    # Before each call of the tool bash. No result lets it run.
    '{"type":"hook"'*'rm -rf'*)
        answer ',"result":{"block":true,"reason":"rm -rf is not allowed here."}'
        ;;
    '{"type":"hook"'*)
        answer ''
        ;;
    '{"type":"command"'*)
        printf '%s\n' '{"type":"notify","method":"ui.notify","params":{"message":"Hello from sh!"}}'
        answer ''
        ;;
    '{"type":"shutdown"'*)
        exit 0
        ;;
    esac
done
