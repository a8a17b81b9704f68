#compdef bowline
# Completion of command lines of bowline in zsh. The installed bowline says what may stand at the cursor.

_bowline() {
    local -a answer candidates
    local line word about paths
    # Only the bowline of PATH is asked: one that a folder contains may be anybody's.
    answer=("${(@f)$(command bowline completions words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    paths=$answer[1]
    for line in "${(@)answer[2,-1]}"; do
        word=${line%%$'\t'*} about=${line#*$'\t'}
        candidates+=("${word//:/\\:}${about:+:$about}")
    done
    (( $#candidates )) && _describe -V 'of bowline' candidates
    # A value that is attached to a flag with = is completed by itself.
    compset -P '--*='
    case $paths in
        files) _files ;;
        folders) _files -/ ;;
    esac
}

# As a file in a folder of fpath this is the function itself; from a start-up file it is registered.
if [[ $funcstack[1] == _bowline ]]; then
    _bowline "$@"
elif (( $+functions[compdef] )); then
    compdef _bowline bowline
fi
