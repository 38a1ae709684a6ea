import { Command, CommanderError } from 'commander'
import { packageVersion } from '../util/package-root.ts'
import { COMMANDS } from './commands.ts'
import { isPlimsollError } from '../core/errors.ts'
import { EXIT, printError, tolerateClosedOutput } from './kit/output.ts'

/** The command line with these commands loaded. The others are listed, and cannot be run. @default all of them */
export async function createProgram(names: readonly string[] = COMMANDS.map(({ name }) => name)): Promise<Command> {
  const program = new Command('plimsoll')
    .description('Keeps the requests of LLM agents inside the context window, without losing what it removes.')
    .version(packageVersion())
    .showSuggestionAfterError()
    .enablePositionalOptions()
    // What a command takes is known when it is loaded.
    .configureHelp({ subcommandTerm: (command) => command.name() })
  for (const entry of COMMANDS) {
    const command = names.includes(entry.name) ? await entry.load() : new Command(entry.name)
    program.addCommand(command.description(entry.description))
  }
  return program
}

/** What has to be loaded for these arguments: the command that they name, and what it may look at of others. */
export const commandsFor = (words: readonly string[]): readonly string[] =>
  COMMANDS.map(({ name }) => name).filter((name) => words.includes(name))

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
