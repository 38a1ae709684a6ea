import { numberField, parametersOf, stringField, type Fields, type Tool } from './tool.ts'
import { runProcess } from './process.ts'

const DEFAULT_TIMEOUT_SECONDS = 120

export const runShellTool: Tool = {
  name: 'run_shell',
  description: 'Runs a command in the shell of the working folder; gives back its output and exit code.',
  parameters: parametersOf(
    {
      command: { type: 'string', description: 'The command line' },
      timeoutSeconds: {
        type: 'integer',
        description: `Stop it after this long; ${DEFAULT_TIMEOUT_SECONDS} if not given`,
      },
    },
    ['command'],
  ),
  risk: async () => 'shell',
  describe: (input) => String(input['command']),
  run(input, context) {
    const timeoutMs = 1000 * numberField(input, 'timeoutSeconds', DEFAULT_TIMEOUT_SECONDS)
    const command = stringField(input, 'command')
    const [file, flag] = process.platform === 'win32' ? ['cmd.exe', '/c'] : ['/bin/sh', '-c']
    return runProcess(file, [flag, command], { ...context, timeoutMs })
  },
}

/**
 * A tool that was never declared, taken for a program of that name. Models trained on other agents call `nmap` or `git` as if
 * they were tools. Arguments go as an array, never through a shell, so that no argument can become a command.
 */
export const routedTool = (name: string): Tool => ({
  name,
  description: '',
  parameters: {},
  risk: async () => 'shell',
  describe: (input) => [name, ...argumentsOf(input)].join(' '),
  run: (input, context) =>
    runProcess(name, argumentsOf(input), { ...context, timeoutMs: 1000 * DEFAULT_TIMEOUT_SECONDS }),
})

/** `{ args: [...] }` as it stands; other fields as `--name value`, single letters as `-x value`. */
function argumentsOf(input: Fields): readonly string[] {
  return Object.entries(input).flatMap(([key, value]): string[] => {
    if (key === 'args' || key === 'arguments')
      return Array.isArray(value) ? value.map(textOf) : textOf(value).split(/\s+/)
    const flag = key.length === 1 ? `-${key}` : `--${key.replaceAll('_', '-')}`
    if (value === true) return [flag]
    if (value === false || value === null || value === undefined) return []
    return [flag, textOf(value)]
  })
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
