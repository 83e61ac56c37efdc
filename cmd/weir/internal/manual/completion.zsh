#compdef weir
# zsh completion for weir. Written by weir completion zsh.
_weir() {
	local line
	local -a found
	for line in "${(@f)$("$words[1]" completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		case $line in
		FILE) compset -P '--*='; _files; return ;;
		?*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
		esac
	done
	(( $#found )) && _describe -o value found
}
if [[ $funcstack[1] == _weir ]]; then
	_weir "$@"
else
	compdef _weir weir
fi
