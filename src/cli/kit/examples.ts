import type { Command } from 'commander'

/** Examples under `--help`. A test runs every one of them, so each must work as written. */
export function withExamples(command: Command, ...lines: readonly string[]): Command {
  const shown = lines.map((line) => `  $ ${line}`).join('\n')
  return command.addHelpText('after', `\nExamples:\n${shown}`)
}
