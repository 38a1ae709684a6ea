import { CommanderError, type Command } from 'commander'
import { isPlimsollError } from '../core/errors.ts'
import { EXIT } from './exit-codes.ts'
import { tolerateClosedOutput } from './kit/closed-output.ts'
import { printError } from './kit/print-error.ts'

/** Runs the program; whatever goes wrong ends in one sentence and an exit code. */
export async function runProgram(program: Command): Promise<void> {
  tolerateClosedOutput()
  prepareErrors(program)
  try {
    await program.parseAsync()
  } catch (error) {
    process.exitCode = exitCodeOf(error)
    // Commander has said its own already.
    if (!(error instanceof CommanderError)) printError(error)
  }
}

/** Settings that commander does not hand down to commands that were made elsewhere. */
function prepareErrors(command: Command): void {
  command.exitOverride().showSuggestionAfterError()
  command.configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'plimsoll: ')) })
  command.showHelpAfterError(`(${fullName(command)} --help shows all options)`)
  command.commands.forEach(prepareErrors)
}

const fullName = (command: Command): string =>
  command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  return isPlimsollError(error, 'bad-input') || isPlimsollError(error, 'bad-config') ? EXIT.usage : EXIT.failure
}
