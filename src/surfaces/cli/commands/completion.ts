import { Argument, Command } from 'commander'
import { completionScript, SHELLS, type Shell } from '../kit/completion.ts'
import { withExamples } from '../kit/examples.ts'

export function completionCommand(): Command {
  const command = new Command('completion')
    .description('Print a completion script for your shell.')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
  return withExamples(
    command,
    'plimsoll completion bash > plimsoll.bash',
    'plimsoll completion zsh > _plimsoll',
    'plimsoll completion fish > plimsoll.fish',
  ).action((shell: Shell) => {
    let root = command
    while (root.parent !== null) root = root.parent
    process.stdout.write(completionScript(shell, root))
  })
}
