#compdef offshoot
# Completes the command lines of offshoot in zsh.
_offshoot() {
    local line
    local -a lines folders others
    lines=("${(@f)$(OFFSHOOT_COMPLETE=zsh offshoot -- \
        "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    for line in $lines; do
        if [[ $line == */ ]]; then
            folders+=("${line%/}")
        else
            others+=("$line")
        fi
    done
    (( $#folders )) && _describe -V 'folders' folders -S '/' -r '/'
    (( $#others )) && _describe -V 'values' others
}
if [[ $funcstack[1] == _offshoot ]]; then
    _offshoot "$@"
else
    compdef _offshoot offshoot
fi
