# Completion of command lines of bowline in bash. The installed bowline says what may stand at the cursor.

_bowline() {
    local IFS=$'\n' joined=() part glued= answer breaks lead= index
    # bash takes words apart at = and :, which bowline does not.
    for ((index = 1; index <= COMP_CWORD; index++)); do
        part=${COMP_WORDS[index]}
        if ((${#joined[@]})) && [[ $glued || $part == [=:]* ]]; then
            joined[${#joined[@]} - 1]+=$part
        else
            joined+=("$part")
        fi
        glued=
        [[ $part == *[=:] ]] && glued=1
    done
    part=${joined[${#joined[@]} - 1]}
    # Only the bowline of PATH is asked: one that a folder contains may be anybody's.
    answer=($(command bowline completions words -- "${joined[@]}" 2>/dev/null))
    COMPREPLY=("${answer[@]:1}")
    COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
    # What bash completes begins after the last such letter.
    breaks=${COMP_WORDBREAKS//[^=:]/}
    [[ $breaks && $part == *[$breaks]* ]] && lead=${part%"${part##*[$breaks]}"}
    COMPREPLY=("${COMPREPLY[@]#"$lead"}")
    # Without candidates, bash completes the names of files if it is allowed to. bash 3 has no way to forbid it.
    case ${answer[0]} in
        files) ;;
        folders) compopt +o default -o dirnames 2>/dev/null ;;
        *) compopt +o default +o bashdefault 2>/dev/null ;;
    esac
}

complete -o bashdefault -o default -o nosort -F _bowline bowline 2>/dev/null ||
    complete -o bashdefault -o default -F _bowline bowline
