# bash completion for weir. Written by weir completion bash.
_weir() {
	local cur=${COMP_WORDS[COMP_CWORD]} line IFS=$'\n'
	COMPREPLY=()
	for line in $("${COMP_WORDS[0]}" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
		case $line in
		FILE) COMPREPLY+=($(compgen -f -- "${cur#=}")) ;;
		*) COMPREPLY+=("${line%%$'\t'*}") ;;
		esac
	done
}
complete -o filenames -F _weir weir
