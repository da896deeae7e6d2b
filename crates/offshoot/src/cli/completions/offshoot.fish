# Completes the command lines of offshoot in fish.
complete --keep-order --exclusive --command offshoot --arguments '(OFFSHOOT_COMPLETE=fish offshoot -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token --cut-at-cursor))'
