# Completion of command lines of bowline in fish. The installed bowline says what may stand at the cursor.

function __bowline_candidates
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    # Only the bowline of PATH is asked: one that a folder contains may be anybody's.
    set -l answer (command bowline completions words -- $words[2..-1] "$current" 2>/dev/null)
    if set -q answer[2]
        printf '%s\n' $answer[2..-1]
    end
    # A value that is attached to a flag with = is completed by itself.
    set -l lead (string match -r -- '^--[a-z-]*=' $current)
    set -l value (string replace -r -- '^--[a-z-]*=' '' $current)
    switch "$answer[1]"
        case files
            __fish_complete_path "$value" | string replace -r -- '^' "$lead"
        case folders
            __fish_complete_directories "$value" '' | string replace -r -- '^' "$lead"
    end
end

complete -c bowline -f -k -a '(__bowline_candidates)'
