import { Argument, Command } from 'commander'
import { withExamples } from '../kit/examples.ts'

/** Scripts that call `plimsoll completion words` for the words that may follow those before the cursor. */
const SCRIPTS = {
  bash: `_plimsoll() {
  COMPREPLY=($(compgen -W "$(plimsoll completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _plimsoll plimsoll`,
  zsh: `#compdef plimsoll
_plimsoll() {
  compadd -- \${(f)"$(plimsoll completion words -- "\${(@)words[2,CURRENT-1]}")"}
  _files
}
if [ "$funcstack[1]" = "_plimsoll" ]; then _plimsoll "$@"; else compdef _plimsoll plimsoll; fi`,
  fish: `complete -c plimsoll -a '(plimsoll completion words -- (commandline -opc)[2..])'`,
} as const

type Asked = keyof typeof SCRIPTS | 'words'

export function completionCommand(): Command {
  const command = new Command('completion')
    .addArgument(new Argument('<shell>', 'which shell').choices([...Object.keys(SCRIPTS), 'words']))
    .argument('[words...]', 'with "words": the words before the cursor')
  return withExamples(
    command,
    'plimsoll completion bash > plimsoll.bash',
    'plimsoll completion zsh > _plimsoll',
    'plimsoll completion fish > plimsoll.fish',
  ).action((asked: Asked, words: string[], _flags: object, { parent }: Command) => {
    const lines = asked === 'words' ? wordsAfter(parent!, words) : [SCRIPTS[asked]]
    process.stdout.write(`${lines.join('\n')}\n`)
  })
}

/** The subcommands and options of the command that these words name. That command has been loaded. */
function wordsAfter(root: Command, words: readonly string[]): readonly string[] {
  let command = root
  for (const word of words) command = command.commands.find((sub) => sub.name() === word) ?? command
  const options = command.options.flatMap(({ long }) => long ?? [])
  return [...command.commands.map((sub) => sub.name()), ...options, '--help']
}
