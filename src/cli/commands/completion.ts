import { Argument, Command } from 'commander'
import { completionScript, SHELLS, type Shell } from '../kit/completion.ts'
import { withExamples } from '../kit/examples.ts'

export function completionCommand(): Command {
  const command = new Command('completion').addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
  return withExamples(
    command,
    'plimsoll completion bash > plimsoll.bash',
    'plimsoll completion zsh > _plimsoll',
    'plimsoll completion fish > plimsoll.fish',
  ).action(async (shell: Shell) => {
    // On use, since it imports this file: a script names every option of every command.
    const { createProgram } = await import('../program.ts')
    process.stdout.write(completionScript(shell, await createProgram()))
  })
}
