import { Command, CommanderError } from 'commander'
import { packageVersion } from '../util/package-root.ts'
import { COMMANDS } from './commands.ts'
import { isPlimsollError } from '../core/errors.ts'
import { EXIT, printError, tolerateClosedOutput } from './kit/output.ts'

/** The command line with these commands loaded. Other commands are listed but cannot be run. @default all of them */
export async function createProgram(names: readonly string[] = COMMANDS.map(({ name }) => name)): Promise<Command> {
  const program = new Command('plimsoll')
    .description('Keeps the requests of LLM agents inside the context window, without losing what it removes.')
    .version(packageVersion())
    .showSuggestionAfterError()
    .enablePositionalOptions()
    // The arguments of a command are only known after it is loaded.
    .configureHelp({ subcommandTerm: (command) => command.name() })
  for (const entry of COMMANDS) {
    const command = names.includes(entry.name) ? await entry.load() : new Command(entry.name)
    program.addCommand(command.description(entry.description))
  }
  return program
}

/** The commands to load for these arguments: the one that they name, and those that it refers to. */
export const commandsFor = (words: readonly string[]): readonly string[] =>
  COMMANDS.map(({ name }) => name).filter((name) => words.includes(name))

/** Runs the program. Errors are printed as one sentence, with an exit code. */
export async function runProgram(program: Command): Promise<void> {
  tolerateClosedOutput()
  prepareErrors(program)
  try {
    await program.parseAsync()
  } catch (error) {
    process.exitCode = exitCodeOf(error)
    // Commander prints its own errors.
    if (!(error instanceof CommanderError)) printError(error)
  }
}

/** Sets error handling on every subcommand: commander does not pass it to commands that were created separately. */
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
