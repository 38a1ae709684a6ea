import { afterEach } from 'vitest'
import { createPlimsoll, type Plimsoll, type PlimsollOptions, type PlimsollEvent } from '../../src/index.ts'
import { startProxy, type ProxyOptions } from '../../src/gateway/proxy.ts'
import { createReferee, startReferee, type Referee, type StartRefereeOptions } from '../../src/testing/referee/index.ts'

/** The two ways in that must not differ: the in-process fetch, and the proxy in front of a socket. */
export const WAYS = ['fetch', 'proxy'] as const
export type Way = (typeof WAYS)[number]

export interface Stage {
  readonly referee: Referee
  readonly plimsoll: Plimsoll
  readonly events: PlimsollEvent[]
  /** For the SDK's `fetch` option; absent behind the proxy. */
  readonly fetch?: typeof globalThis.fetch
  /** Origin with the vendor's prefix, without a version. */
  readonly base: string
  /** `fetch` for plain calls, whichever way. */
  call(path: string, init?: RequestInit): Promise<Response>
}

const PREFIX = {
  'anthropic-messages': 'anthropic',
  'openai-chat': 'openai',
  'openai-responses': 'openai',
  gemini: 'gemini',
  'ollama-chat': 'ollama',
  'bedrock-converse': 'bedrock',
} as const

const open: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

export interface StageOptions {
  readonly referee: StartRefereeOptions
  readonly plimsoll?: PlimsollOptions
  readonly proxy?: Partial<ProxyOptions>
  /** Of the upstream. @default that of the wire's vendor */
  readonly prefix?: string
}

export async function stage(way: Way, options: StageOptions): Promise<Stage> {
  const events: PlimsollEvent[] = []
  const settings: PlimsollOptions = {
    store: 'memory:',
    secret: Buffer.from('the same for both ways'),
    onEvent: (event) => events.push(event),
    ...options.plimsoll,
  }
  if (way === 'fetch') {
    const referee = createReferee(options.referee)
    const plimsoll = createPlimsoll({ ...settings, fetch: referee.fetch })
    open.push(async () => {
      referee.close()
      await plimsoll.close()
    })
    const base = 'http://referee.test'
    return {
      referee,
      plimsoll,
      events,
      base,
      fetch: plimsoll.fetch,
      call: (path, init) => plimsoll.fetch(base + path, init),
    }
  }
  const running = await startReferee(options.referee)
  const plimsoll = createPlimsoll(settings)
  const { prefix = PREFIX[options.referee.wire] } = options
  const proxy = await startProxy(plimsoll.gateway, {
    port: 0,
    upstreams: { [prefix]: running.url },
    drainMs: 1_000,
    ...options.proxy,
  })
  open.push(async () => {
    await running.close()
    await proxy.close()
    await plimsoll.close()
  })
  const base = `${proxy.url}/${prefix}`
  return {
    referee: { ...running, close: () => undefined },
    plimsoll,
    events,
    base,
    call: (path, init) => fetch(base + path, init),
  }
}

/** What a tool of these tests says: a few hundred tokens that differ from step to step. */
export function toolOutput(step: number, lines = 9): string {
  return Array.from({ length: lines }, (_, i) => {
    const id = (step * 7_919 + i * 104_729) % 1_000_003
    return `2026-11-14T14:${String(step % 60).padStart(2, '0')}:${String(i).padStart(2, '0')}Z order=${id} service=checkout-${id % 5} took ${id % 900} ms`
  }).join('\n')
}
