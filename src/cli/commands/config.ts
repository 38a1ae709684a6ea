import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { Command } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import { checkConfig, loadConfig, problemLine } from '../../settings/index.ts'
import { EXIT, printError, print, printTable } from '../kit/output.ts'
import { isForProxy, policySettings, proxySettings, type Setting } from '../config-settings.ts'
import { POLICY_STARTER, PROXY_STARTER } from '../../settings/starters.ts'
import { withExamples } from '../kit/examples.ts'

const POLICY_FILE = 'plimsoll.yaml'
const PROXY_FILE = 'plimsoll.config.json'

export function configCommand(): Command {
  return new Command('config').addCommand(init()).addCommand(check()).addCommand(show())
}

const init = (): Command =>
  withExamples(
    new Command('init')
      .description('Write a settings file with the defaults.')
      .argument('[file]', `where to (default: ${POLICY_FILE}, or ${PROXY_FILE} with --proxy)`)
      .option('--proxy', 'write the settings of the proxy instead of those of policies')
      .option('--force', 'overwrite an existing file')
      .option('--json', 'machine-readable output'),
    'plimsoll config init',
    'plimsoll config init --proxy proxy.json',
  ).action(async (given: string | undefined, flags: { proxy?: boolean; force?: boolean; json?: boolean }) => {
    const file = given ?? (flags.proxy === true ? PROXY_FILE : POLICY_FILE)
    if (existsSync(file) && flags.force !== true)
      throw new PlimsollError('bad-input', `${file} already exists.`, { advice: 'Use --force to overwrite it.' })
    await writeFile(file, flags.proxy === true ? PROXY_STARTER : POLICY_STARTER)
    print(flags.json, { file }, () => `Wrote ${file}.`)
  })

const check = (): Command =>
  withExamples(
    new Command('check')
      .description('Check a settings file. Prints the line of each mistake, and exits with 2 if there is one.')
      .argument('[file]', 'the file', POLICY_FILE)
      .option('--json', 'machine-readable output'),
    'plimsoll config check plimsoll.config.json',
  ).action(async (file: string, flags: { json?: boolean }) => {
    const problems = (await checkConfig(file)).problems.map(problemLine)
    if (problems.length > 0) process.exitCode = EXIT.usage
    if (flags.json === true) print(true, { file, ok: problems.length === 0, problems }, () => '')
    else if (problems.length === 0) process.stdout.write(`${file} is valid.\n`)
    else problems.forEach(printError)
  })

interface ShowFlags {
  readonly config?: string
  readonly agent?: string
  readonly json?: boolean
}

const show = (): Command =>
  withExamples(
    new Command('show')
      .description('Show every setting and where it comes from: the file, the environment, the preset or the default.')
      .option('--config <file>', `the file (default: ${POLICY_FILE} or ${PROXY_FILE}, whichever is there)`)
      .option('--agent <name>', 'settings of one agent (default: main)')
      .option('--json', 'machine-readable output'),
    'plimsoll config show',
  ).action(async ({ config, agent, json }: ShowFlags) => {
    const file = config ?? [POLICY_FILE, PROXY_FILE].find((name) => existsSync(name))
    const settings = await settingsIn(file, agent ?? 'main')
    print(json, settings, () =>
      printTable(
        [{ head: 'setting' }, { head: 'value', gives: 'start' }, { head: 'from' }],
        settings.map(({ name, value, from }) => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
          from === 'file' ? (file ?? from) : from,
        ]),
      ),
    )
  })

async function settingsIn(file: string | undefined, agent: string): Promise<readonly Setting[]> {
  const config = file === undefined ? {} : await loadConfig(file)
  return isForProxy(config) ? proxySettings(config) : policySettings(config, agent)
}
