import { PlimsollError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import { optionsOf, type PlimsollSettings } from './apply.ts'
import type { Config } from './config.ts'
import type { UpstreamConfig, Upstreams } from './upstreams.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Keys of a file that are the proxy's as they stand. */
const PLAIN = [
  'port',
  'host',
  'window',
  'policy',
  'observe',
  'tools',
  'store',
  'artifacts',
  'logFile',
  'logLevel',
  'maxBodyBytes',
  'memoryBytes',
  'caFile',
  'tenants',
  'allowedHosts',
  'allowedOrigins',
  'redact',
  'workers',
  'drainMs',
  'requestTimeoutMs',
  'upstreamTimeoutMs',
  'upstreamIdleMs',
  'budgets',
  'models',
] as const satisfies readonly (keyof Config)[]

/** What a proxy is started with. */
export interface ProxyConfig extends Pick<Config, Exclude<(typeof PLAIN)[number], 'policy'>> {
  /** Its name, or what the file makes of it. */
  readonly policy?: string | Policy
  readonly upstreams?: Upstreams
  /** The file's own, which requests may ask for by name. */
  readonly policies?: PlimsollSettings['policies']
  /** By agent name, what the file says about it. */
  readonly agents?: PlimsollSettings['agents']
  /** The model that writes summaries, its key out of the environment. */
  readonly summarizer?: PlimsollSettings['summarizer']
}

/** What a file says to the proxy, without what needs a policy worked out or a summarizer's key. */
export function proxyConfig(config: Config, env: Environment = process.env): ProxyConfig {
  const { upstreams } = config
  const plain = PLAIN.filter((key) => config[key] !== undefined).map((key) => [key, config[key]] as const)
  return {
    ...(Object.fromEntries(plain) as ProxyConfig),
    ...(upstreams !== undefined && { upstreams: withCredentials(upstreams, env) }),
  }
}

/** @throws PlimsollError `bad-config` */
export function checkTenants({ tenants }: ProxyConfig): void {
  if (tenants === undefined || /^(credential|one|header:\s*[\w-]+)$/.test(tenants)) return
  throw new PlimsollError('bad-config', `tenants cannot be ${JSON.stringify(tenants)}.`, {
    advice: 'Use credential, one or header:<name>.',
  })
}

/**
 * What the file makes of policies: numbers of its own, policies of its own, agents that differ, a model for summaries. `policy` wins over
 * the file's name.
 */
export function proxyPolicies(
  config: Config,
  policy: string | undefined,
  env: Environment = process.env,
): Pick<ProxyConfig, 'policy' | 'policies' | 'agents' | 'summarizer'> {
  const named = policy ?? config.policy
  const isPlain = config.providers === undefined && config.defaults === undefined
  const options = optionsOf({ ...config, ...(policy !== undefined && { policy }) }, env)
  const { agents, policies, summarizer } = options
  const isNamed = isPlain && config.override === undefined && config.policies === undefined && agents === undefined
  return {
    ...(isNamed ? named !== undefined && { policy: named } : { policy: options.policy }),
    ...(policies !== undefined && { policies }),
    ...(agents !== undefined && { agents }),
    ...(summarizer !== undefined && { summarizer }),
  }
}

const withCredentials = (upstreams: NonNullable<Config['upstreams']>, env: Environment): Upstreams =>
  Object.fromEntries(
    Object.entries(upstreams).map(([prefix, places]) => [
      prefix,
      places.map(({ headers, ...place }): UpstreamConfig => {
        if (headers === undefined) return place
        return { ...place, headers: resolveHeaders(headers, `upstreams.${prefix}`, env) }
      }),
    ]),
  )

/** `$NAME` stands for an environment variable, so that credentials need not be written into a file. */
function resolveHeaders(
  headers: Readonly<Record<string, string>>,
  where: string,
  env: Environment,
): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]): [string, string] => {
    const resolved = value.replace(/\$\{?([A-Z][A-Z0-9_]*)\}?/g, (_, variable: string) => {
      const found = env[variable]
      if (found !== undefined) return found
      throw new PlimsollError('bad-config', `${where}.headers.${name} needs the environment variable ${variable}.`)
    })
    return [name.toLowerCase(), resolved]
  })
  return Object.fromEntries(entries)
}
