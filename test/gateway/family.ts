import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PlimsollOptions } from '../../src/index.ts'
import type { ProxyOptions } from '../../src/gateway/proxy.ts'
import type { Siblings } from '../../src/gateway/siblings/siblings.ts'
import { closeLater, testProxy, type TestProxy } from './upstream.ts'

export interface Family {
  start(self: number): Promise<TestProxy>
  readonly addressOf: Siblings['addressOf']
  /** Where they listen for each other. */
  readonly sockets: string
  /** The file of their store. */
  readonly file: string
}

/** Processes of one proxy, as far as they know: each with its own memory, on one store. */
export function family(
  upstreams: Record<string, string>,
  count: number,
  settings: PlimsollOptions = {},
  options: Partial<ProxyOptions> = {},
): Family {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-siblings-'))
  closeLater(() => rmSync(folder, { recursive: true, force: true }))
  const sockets = join(folder, 'sockets')
  mkdirSync(sockets, { mode: 0o700 })
  const file = join(folder, 'store.db')
  const addressOf = (number: number): string => join(sockets, `${number}.sock`)
  const start = (self: number): Promise<TestProxy> => {
    const siblings: Siblings = { self, count, addressOf }
    return testProxy({ upstreams, siblings, ...options }, { store: `sqlite:${file}`, siblings, ...settings })
  }
  return { start, addressOf, sockets, file }
}

export async function started({ start }: Family, count: number): Promise<TestProxy[]> {
  const all: TestProxy[] = []
  for (let self = 0; self < count; self++) all.push(await start(self))
  return all
}

export const siblings = (...given: Parameters<typeof family>): Promise<TestProxy[]> =>
  started(family(...given), given[1])

/** Of two, the one that has answered, and the other. */
export const byOwner = ([a, b]: readonly TestProxy[]): [owner: TestProxy, other: TestProxy] =>
  a!.events.some(({ type }) => type === 'request-prepared') ? [a!, b!] : [b!, a!]

export type Turn = { readonly role: 'user' | 'assistant'; readonly content: string }

export const body = (messages: readonly Turn[], rest: object = {}): string =>
  JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 64, messages, ...rest })

/** The first request of a conversation, or the one that follows on its first answer. */
export const first = (task: string): Turn[] => [{ role: 'user', content: task }]
export const second = (task: string): Turn[] => [
  ...first(task),
  { role: 'assistant', content: 'Hi' },
  { role: 'user', content: 'Go on.' },
]
