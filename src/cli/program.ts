import { Command } from 'commander'
import { packageVersion } from '../util/package-root.ts'
import { COMMANDS, type CommandEntry } from './commands.ts'

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
