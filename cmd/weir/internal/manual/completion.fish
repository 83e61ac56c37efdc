# fish completion for weir. Written by weir completion fish.
function __weir_complete
	set -l words (commandline -opc)
	set -l word (commandline -ct)
	for line in ($words[1] completion fish -- $words[2..-1] "$word" 2>/dev/null)
		if test "$line" = FILE
			set -l flag (string match -r '^--[^=]*=' -- "$word")
			for path in (__fish_complete_path (string replace -r '^--[^=]*=' '' -- "$word"))
				echo "$flag$path"
			end
		else
			echo $line
		end
	end
end
complete -c weir -f -a '(__weir_complete)'
