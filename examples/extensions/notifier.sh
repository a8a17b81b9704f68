#!/bin/sh
# Tells the user when a run has ended: in the client, and on the desktop if notify-send is there. Plain sh.
#
# bowline --mode rpc --extension examples/extensions/notifier.sh

while IFS= read -r line; do
    case $line in
    '{"type":"init"'*)
        # "await": false, because nothing has to wait for a notification.
        printf '%s' '{"type":"registered","protocol":1,"name":"notifier","version":"1.0.0",'
        printf '%s\n' '"extensions":[{"hooks":[{"event":"agent_settled","await":false}]}]}'
        ;;
    '{"type":"event"'*'"type":"agent_settled"'*)
        case $line in
        *'"aborted":true'*) message='Stopped.' ;;
        *) message='Done.' ;;
        esac
        printf '{"type":"notify","method":"ui.notify","params":{"message":"%s","type":"info"}}\n' "$message"
        if command -v notify-send >/dev/null 2>&1; then
            notify-send bowline "$message" </dev/null >/dev/null 2>&1 || true
        fi
        ;;
    '{"type":"shutdown"'*)
        exit 0
        ;;
    esac
done
