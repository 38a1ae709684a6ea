import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { Command } from 'commander'
import { PlimsollError } from '../../../core/errors.ts'
import { withoutPassword } from '../../../drivers/open-store.ts'
import { readConfig, type ProxyConfig } from '../../gateway/config.ts'
import { withExamples } from '../kit/examples.ts'
import { print, printTable } from '../kit/print.ts'
import { settingsOf, type ProxyFlags } from '../proxy-options.ts'
import { defaultStoreUrl } from '../stores/open.ts'

const CONFIG_FILE = 'plimsoll.config.json'

export function configCommand(): Command {
  return new Command('config')
    .description('The settings file of the proxy: make one, check it, see which value comes from where.')
    .addCommand(init())
    .addCommand(check())
    .addCommand(show())
}

/** What a new file says: the defaults that people change, as they are. */
const STARTER: ProxyConfig = {
  port: 4141,
  host: '127.0.0.1',
  policy: 'plimsoll',
  upstreams: {
    anthropic: 'https://api.anthropic.com',
    openai: 'https://api.openai.com',
    gemini: 'https://generativelanguage.googleapis.com',
  },
  observe: false,
  tools: true,
}

const init = (): Command =>
  withExamples(
    new Command('init')
      .description('Write a settings file with the defaults.')
      .argument('[file]', 'where to', CONFIG_FILE)
      .option('--force', 'write over a file that is there')
      .option('--json', 'machine-readable output'),
    'plimsoll config init proxy.json',
  ).action(async (file: string, flags: { force?: boolean; json?: boolean }) => {
    if (existsSync(file) && flags.force !== true)
      throw new PlimsollError('bad-input', `${file} is there already.`, { advice: 'Say --force to write over it.' })
    await writeFile(file, `${JSON.stringify(STARTER, null, 2)}\n`)
    print(flags.json, { file }, () => `Wrote ${file}. Use it with plimsoll proxy --config ${file}.`)
  })

const check = (): Command =>
  withExamples(
    new Command('check')
      .description('Say whether a settings file is right, and what is wrong with it; exits with 2 when it is not.')
      .argument('[file]', 'the file', CONFIG_FILE)
      .option('--json', 'machine-readable output'),
    'plimsoll config check plimsoll.config.json',
  ).action((file: string, flags: { json?: boolean }) => {
    const config = readConfig(file)
    print(flags.json, { file, ok: true, settings: Object.keys(config) }, () => `${file} is right.`)
  })

interface Setting {
  readonly name: string
  readonly value: unknown
  readonly from: 'flag' | 'environment' | 'file' | 'default'
}

const DEFAULTS: Readonly<Record<string, unknown>> = {
  port: 4141,
  host: '127.0.0.1',
  policy: 'plimsoll',
  window: 'by model',
  observe: false,
  tools: true,
  artifacts: 'beside the store',
  maxBodyBytes: 64 * 2 ** 20,
  workers: 1,
}

const show = (): Command =>
  withExamples(
    new Command('show')
      .description('Show every setting and where it comes from: a flag, the environment, the file, or the default.')
      .option('--config <file>', `the file (default: ${CONFIG_FILE} when it is there)`)
      .option('--json', 'machine-readable output'),
    'plimsoll config show',
  ).action((flags: { config?: string; json?: boolean }) => {
    const file = flags.config ?? (existsSync(CONFIG_FILE) ? CONFIG_FILE : undefined)
    const settings = settingsFrom(file)
    print(flags.json, settings, () =>
      printTable(
        [{ head: 'setting' }, { head: 'value', gives: 'start' }, { head: 'from' }],
        settings.map(({ name, value, from }) => [name, textOf(value), from === 'file' ? (file ?? from) : from]),
      ),
    )
  })

function settingsFrom(file: string | undefined): readonly Setting[] {
  const own: ProxyConfig = file === undefined ? {} : readConfig(file)
  const caFile = process.env['PLIMSOLL_CA_FILE']
  const flags: ProxyFlags = { ...(file !== undefined && { config: file }), ...(caFile !== undefined && { caFile }) }
  const merged: Readonly<Record<string, unknown>> = { store: defaultStoreUrl(), ...DEFAULTS, ...settingsOf(flags) }
  return Object.entries(merged).map(([name, value]): Setting => {
    const inEnvironment =
      (name === 'caFile' && caFile !== undefined) ||
      (name === 'store' && own.store === undefined && process.env['PLIMSOLL_HOME'] !== undefined)
    const from = inEnvironment ? 'environment' : name in own ? 'file' : 'default'
    return { name, value: hidden(name, value), from }
  })
}

/** A report gets pasted into issues: no passwords, no header values. */
function hidden(name: string, value: unknown): unknown {
  if (name === 'upstreams')
    return JSON.parse(
      JSON.stringify(value, (key, inner: unknown) =>
        key === 'headers' ? Object.keys(inner as object) : typeof inner === 'string' ? withoutPassword(inner) : inner,
      ),
    ) as unknown
  return typeof value === 'string' ? withoutPassword(value) : value
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
