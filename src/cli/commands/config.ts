import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { Command } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import { endpoints } from '../../formats/endpoints.ts'
import { wires } from '../../formats/registry.ts'
import type { ProxyConfig } from '../../settings/apply.ts'
import { checkConfig, loadConfig, problemLine } from '../../settings/index.ts'
import { EXIT, printError, print, printTable } from '../kit/output.ts'
import { isForProxy, policySettings, proxySettings, type Shown } from '../config-settings.ts'
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
        [{ head: 'setting' }, { head: 'value', keeps: 'start' }, { head: 'from' }],
        settings.map(({ name, value, from }) => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
          from === 'file' ? (file ?? from) : from,
        ]),
      ),
    )
  })

async function settingsIn(file: string | undefined, agent: string): Promise<readonly Shown[]> {
  const config = file === undefined ? {} : await loadConfig(file)
  return isForProxy(config) ? proxySettings(config) : policySettings(config, agent)
}

const { id, endpoint } = wires[0]!

/** The content of a new file: the settings that people change most, with their defaults. */
const PROXY_STARTER = `${JSON.stringify(
  {
    port: 4141,
    host: '127.0.0.1',
    policy: 'plimsoll',
    upstreams: Object.fromEntries(endpoints.map(({ name, url }) => [name, url])),
    observe: false,
    tools: true,
  } satisfies ProxyConfig,
  null,
  2,
)}\n`

const POLICY_STARTER = `# Settings of Plimsoll. plimsoll config check says what is wrong, plimsoll config show what comes from where.

# A preset, or a name under "policies".
policy: plimsoll

# The window, when the catalogue does not know the model.
# window: 128k

# A model that writes summaries; without one they are made by code. Its key is read from the environment.
# summarizer: { format: ${id}, model: ${endpoint.model}, apiKeyEnv: ${endpoint.keys[0]} }

# What may be spent, per call, session, agent, key, tenant or day.
# budgets:
#   - { scope: day, usd: 20 }

# Your own word on models, over the catalogue.
# models:
#   my-model: { window: 64k, maxOutputTokens: 8k }

# Numbers over those of the policy.
# override:
#   water:
#     high: 90%
#     low: 40%
`
