import { InvalidArgumentError, Option, type Command } from 'commander'
import { readConfig, readNumber, unitWords, type BudgetConfig, type Config } from '../settings/index.ts'
import { LOG_LEVELS } from '../core/events.ts'
import { checkTenants, proxyConfig, proxyPolicies, type ProxyConfig } from '../settings/proxy.ts'
import type { Upstreams } from '../settings/upstreams.ts'
import { readLogLevel } from '../drivers/logs/event-log.ts'
import { endpoints } from '../formats/endpoints.ts'
import { byteCount, memorySize, tokenCount } from './kit/token-count.ts'

export interface ProxyFlags extends Omit<
  ProxyConfig,
  'upstreams' | 'maxBodyBytes' | 'memoryBytes' | 'agents' | 'policy' | 'policies' | 'budgets' | 'models' | 'summarizer'
> {
  readonly policy?: string
  readonly maxBody?: number
  readonly memory?: number
  readonly allowHost?: string[]
  readonly allowOrigin?: string[]
  readonly budgetUsd?: BudgetConfig[]
  readonly budgetTokens?: BudgetConfig[]
  readonly config?: string
  readonly json?: boolean
}

/** The vendors' own addresses by prefix. */
const VENDORS: Readonly<Record<string, string>> = Object.fromEntries(endpoints.map(({ name, url }) => [name, url]))

const SCOPES = 'call, session, agent, key, tenant or day'

/** `20` or `0.50/session`, as often as wanted. */
const budgetIn =
  (unit: 'usd' | 'tokens') =>
  (given: string, before: BudgetConfig[] = []): BudgetConfig[] => {
    const [amount = '', scope = 'day', ...more] = given.split('/')
    const hard = readNumber(amount, unit)
    const known = SCOPES.split(/, | or /).find((name) => name === scope)
    if (hard === undefined || hard <= 0 || known === undefined || more.length > 0) {
      throw new InvalidArgumentError(`It should be ${unitWords(unit)}, or with a scope: 5/session (${SCOPES}).`)
    }
    return [...before, { scope: known as NonNullable<BudgetConfig['scope']>, [unit]: hard }]
  }

/** The options that `proxy` and `run` share. */
export function addProxyOptions(command: Command): Command {
  const several = (value: string, before: string[] = []): string[] => [...before, value]
  for (const [name, url] of Object.entries(VENDORS)) {
    command.option(`--${name} <url>`, `upstream behind /${name}; repeat for a fallback (default: ${url})`, several)
  }
  return command
    .option(
      '--window <tokens>',
      'context window of the upstream, such as 200000 or 200k (default: what is known about the model)',
      tokenCount,
    )
    .option('--policy <name>', 'policy to apply (default: the one of --config, else plimsoll)')
    .option('--observe', 'report what would be done, but change nothing')
    .option('--no-tools', 'add no tools to requests')
    .option(
      '--store <url>',
      'where to record: sqlite:./plimsoll.db, postgres://user@host/database or memory: (default: the store in the home directory)',
    )
    .option(
      '--artifacts <url>',
      'where large outputs go: file:./artifacts, postgres://…, s3://bucket/prefix or memory: (default: beside the store)',
    )
    .option('--config <file>', 'settings file, YAML or JSON; options on the command line win; read again on SIGHUP')
    .option(
      '--budget-usd <amount[/scope]>',
      `dollars per ${SCOPES}; repeat for another (default scope: day)`,
      budgetIn('usd'),
    )
    .option('--budget-tokens <n[/scope]>', 'the same in tokens', budgetIn('tokens'))
    .option('--max-body <bytes>', 'largest request body, such as 64MiB (default: 64MiB)', byteCount)
    .option('--memory <size>', 'most that all caches of a process may hold together, such as 256m or 1g', memorySize)
    .addOption(
      new Option(
        '--log-level <level>',
        `write events from this level on to standard error, as JSON lines: ${LOG_LEVELS.join(', ')}`,
      )
        .argParser(readLogLevel)
        .env('PLIMSOLL_LOG_LEVEL'),
    )
    .addOption(new Option('--redact', 'take secrets out of what is stored').env('PLIMSOLL_REDACT'))
    .addOption(
      new Option(
        '--tenants <rule>',
        'whose data a request belongs to: credential (one tenant per API key), one, or header:<name> (default: credential)',
      ).env('PLIMSOLL_TENANTS'),
    )
    .option('--allow-host <name>', 'additional host name that the proxy answers to; repeat for another', several)
    .option('--allow-origin <origin>', 'origin of a web page that may call the proxy; repeat for another', several)
    .addOption(
      new Option('--ca-file <file>', 'file with additional certificate authorities, as PEM').env('PLIMSOLL_CA_FILE'),
    )
}

type ProxySettings = ProxyConfig & { readonly upstreams: Upstreams }

/** Flags over the file over the defaults. */
export function settingsOf(flags: ProxyFlags): ProxySettings {
  if (flags.config === undefined) return plainSettingsOf(flags, {})
  const config = readConfig(flags.config)
  return { ...plainSettingsOf(flags, config), ...proxyPolicies(config, flags.policy) }
}

/** The same without what needs a policy worked out or a key to be there. */
export function plainSettingsOf(flags: ProxyFlags, config: Config): ProxySettings {
  const file = proxyConfig(config)
  const {
    maxBody,
    memory,
    allowHost,
    allowOrigin,
    budgetUsd = [],
    budgetTokens = [],
    config: _config,
    json: _json,
    tools,
    policy,
    ...rest
  } = flags
  const named = Object.entries(rest).filter(([, value]) => value !== undefined)
  const given = Object.fromEntries(named.filter(([name]) => !(name in VENDORS)))
  checkTenants({ ...file, ...given })
  return {
    ...file,
    ...given,
    ...(policy !== undefined && { policy }),
    ...(maxBody !== undefined && { maxBodyBytes: maxBody }),
    ...(memory !== undefined && { memoryBytes: memory }),
    ...(allowHost !== undefined && { allowedHosts: allowHost }),
    ...(allowOrigin !== undefined && { allowedOrigins: allowOrigin }),
    ...(budgetUsd.length + budgetTokens.length > 0 && { budgets: [...budgetUsd, ...budgetTokens] }),
    // Commander says true when `--no-tools` is absent; then the file decides.
    tools: tools === false ? false : (file.tools ?? true),
    upstreams: {
      ...VENDORS,
      ...file.upstreams,
      ...(Object.fromEntries(named.filter(([name]) => name in VENDORS)) as Upstreams),
    },
  }
}
