# Completes the command lines of offshoot in bash.
_offshoot() {
    local candidate
    COMPREPLY=()
    while IFS= read -r candidate; do
        COMPREPLY+=("$candidate")
    done < <(OFFSHOOT_COMPLETE=bash offshoot -- \
        "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -o nosort -F _offshoot offshoot 2>/dev/null ||
    complete -o bashdefault -F _offshoot offshoot
