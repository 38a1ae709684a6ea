import type { Command, Option } from 'commander'
import { createProgram } from '../../src/cli/program.ts'
import { EXIT_MEANINGS } from '../../src/cli/kit/output.ts'
import { code, page, sentence, table } from './markdown.ts'

export async function cliPage(): Promise<string> {
  const program = await createProgram()
  const sections = program.commands
    .filter((command) => command.name() !== 'help')
    .flatMap((command) => section(command, 2))
  return page(
    'Command line reference',
    'the commands themselves',
    'Every command has `--help`. What the commands are for, with output explained: [the command line](../cli.md).',
    '## Exit codes',
    table(
      ['Code', 'Meaning'],
      Object.entries(EXIT_MEANINGS).map(([number, meaning]) => [number, meaning]),
    ),
    ...sections,
  )
}

const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`

function section(command: Command, depth: number): readonly string[] {
  const own = [`${'#'.repeat(depth)} ${nameOf(command)}`, sentence(command.description())]
  const below = command.commands.flatMap((sub) => section(sub, depth + 1))
  // A command with others below it does something by itself only if it takes arguments.
  if (below.length > 0 && command.registeredArguments.length === 0) return [...own, ...below]
  own.push(`\`\`\`text\n${nameOf(command)} ${command.usage()}\n\`\`\``)
  const rows = [
    ...command.registeredArguments.map((argument) => [code(argument.name()), sentence(withDefault(argument))]),
    ...command.options.filter(({ hidden }) => !hidden).map((option) => [code(option.flags), sentence(textOf(option))]),
  ]
  if (rows.length > 0) own.push(table(['Argument or option', 'Meaning'], rows))
  const examples = examplesOf(command)
  if (examples.length > 0) own.push(`\`\`\`sh\n${examples.join('\n')}\n\`\`\``)
  return [...own, ...below]
}

interface Described {
  readonly description: string
  readonly defaultValue?: unknown
  readonly defaultValueDescription?: string
}

const withDefault = ({ description, defaultValue, defaultValueDescription }: Described): string =>
  defaultValue === undefined || defaultValue === false
    ? description
    : `${description} (default: ${defaultValueDescription ?? String(defaultValue)})`

function textOf(option: Option): string {
  const choices = option.argChoices === undefined ? '' : ` (one of ${option.argChoices.map(code).join(', ')})`
  const variable = option.envVar === undefined ? '' : ` (or ${code(option.envVar)})`
  // `--no-…` has true as the default of its opposite.
  return (option.negate ? option.description : withDefault(option)) + choices + variable
}

function examplesOf(command: Command): readonly string[] {
  let help = ''
  command.configureOutput({ writeOut: (text) => void (help += text) })
  command.outputHelp()
  return [...help.matchAll(/^ +\$ (.+)$/gm)].map((found) => found[1]!)
}
