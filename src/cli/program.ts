import { Command, CommanderError } from 'commander'
import { packageVersion } from '../util/package-root.ts'
import { COMMANDS, type CommandEntry } from './commands.ts'
import { isPlimsollError } from '../core/errors.ts'
import { EXIT, printError, tolerateClosedOutput } from './kit/output.ts'

/** The command line with these commands loaded. The others are listed, and cannot be run. @default all of them */
export async function createProgram(names: readonly string[] = COMMANDS.map(({ name }) => name)): Promise<Command> {
  const program = new Command('plimsoll')
    .description('Keeps the requests of LLM agents inside the context window, without losing what it removes.')
    .version(packageVersion())
    .showSuggestionAfterError()
    .enablePositionalOptions()
  for (const entry of COMMANDS)
    program.addCommand(names.includes(entry.name) ? (await entry.load()).description(entry.description) : listed(entry))
  return program
}

const listed = ({ name, usage, description }: CommandEntry): Command => {
  const command = new Command(name).description(description)
  if (usage.startsWith('[options]')) command.option('--options')
  const [, argument] = /([[<].+)$/.exec(usage.replace('[options]', '')) ?? []
  return argument === undefined ? command : command.argument(argument)
}

/** What has to be loaded for these arguments: the command that they name. */
export function commandsFor([first = '', second = '']: readonly string[]): readonly string[] {
  const name = first === 'help' ? second : first
  return COMMANDS.some((entry) => entry.name === name) ? [name] : []
}

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
