import { PlimsollError } from '../../core/errors.ts'
import { DEMO_WIRE } from '../../formats/demo.ts'
import { endpoints, speakers, type Endpoint } from '../../formats/endpoints.ts'
import type { Wire } from '../../formats/registry.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Provider {
  readonly name: string
  readonly wire: Wire
  readonly endpoint: Endpoint
  /** What the wire's own paths follow on. */
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly model: string
  /** Where the server's window is known better than by the model's name. */
  readonly window?: number
}

const DEMO = 'demo'
const COMPATIBLE = 'compatible'

export const PROVIDERS: readonly string[] = [...speakers.map(({ endpoint }) => endpoint.name), DEMO]

export interface ProviderWish {
  readonly provider?: string
  readonly model?: string
  readonly baseUrl?: string
}

const set = (env: Environment, names: readonly string[]): string | undefined =>
  names.find((name) => (env[name] ?? '') !== '')

const hasKey = ({ keys }: Endpoint, env: Environment): boolean => set(env, keys) !== undefined

/** Without a wish: the vendor of the model, else the first one that has a key, else a server of one's own, else the demo model. */
export function chooseProvider(wish: ProviderWish, env: Environment): string {
  if (wish.provider !== undefined) return wish.provider
  if (wish.baseUrl !== undefined) return COMPATIBLE
  const { model } = wish
  const vendors = endpoints.filter((endpoint) => hasKey(endpoint, env))
  const owner = model === undefined ? undefined : vendors.find((endpoint) => endpoint.owns(model))
  const local = speakers.find(
    ({ endpoint: { isLocal, keys, bases, modelVariable } }) =>
      isLocal && keys.length === 0 && set(env, [...bases, modelVariable]) !== undefined,
  )
  return (owner ?? vendors[0] ?? local?.endpoint)?.name ?? DEMO
}

/** A provider of the environment. The demo is started elsewhere; its address comes in as `baseUrl`. */
export function openProvider(wish: ProviderWish & { readonly provider: string }, env: Environment): Provider {
  const { provider, baseUrl } = wish
  if (provider === DEMO) {
    const { endpoint } = DEMO_WIRE
    const model = wish.model ?? endpoint.model!
    return { name: DEMO, wire: DEMO_WIRE, endpoint, baseUrl: baseUrl ?? '', headers: endpoint.headers(DEMO), model }
  }
  const found = speakers.find(({ endpoint }) => endpoint.name === provider)
  if (found === undefined) throw new PlimsollError('bad-config', `There is no provider called ${provider}.`)
  const { endpoint, wire } = found
  const model = [wish.model, env[endpoint.modelVariable], endpoint.model].find((name) => (name ?? '') !== '')
  if (model === undefined)
    throw new PlimsollError('bad-config', `No model is named for ${provider}.`, { advice: 'Add --model.' })
  const variable = set(env, endpoint.keys)
  if (variable === undefined && !endpoint.isLocal) throw noKey(endpoint)
  const base = env[set(env, endpoint.bases) ?? '']
  return {
    name: provider,
    wire,
    endpoint,
    baseUrl: trimmed(endpoint.base?.(env, baseUrl) ?? baseUrl ?? base ?? endpoint.url + endpoint.sdkPath),
    headers: endpoint.headers(env[variable ?? ''], variable),
    model,
    ...(endpoint.window !== undefined && { window: endpoint.window(env) }),
  }
}

const trimmed = (url: string): string => url.replace(/\/+$/, '')

const noKey = ({ name, keys }: Endpoint): PlimsollError =>
  new PlimsollError('bad-config', `There is no key for ${name}.`, {
    advice: `Set ${keys.join(' or ')}, or try plimsoll chat --provider demo, which needs none.`,
  })
