import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'
import { createPlimsoll, type Plimsoll } from '../../src/index.ts'
import { createReferee } from '../../src/testing/referee/index.ts'
import { CLIENTS, type Json } from '../goldens/clients.ts'
import { answer, resultOf, taskOf } from '../goldens/script.ts'

/** Stores as a version wrote them, each packed as one file, and what was seen of a copy that the same version opened. */
export const OLD_STORES = resolve(import.meta.dirname, '../fixtures/stores-0.2.0')

export const STORES = ['plain', 'encrypted'] as const
export type StoreName = (typeof STORES)[number]

/** The key of the encrypted one, as PLIMSOLL_KEY. */
export const STORE_KEY = '0b'.repeat(32)

const WIRE = 'openai-chat'
const WINDOW = 9_000

/** One agent's line of work in a session of a tenant. */
interface Line {
  readonly tenant: string
  readonly session: string
  readonly agent: string
  readonly calls: number
}

/** Two tenants with a session of one name, a second agent in one of them, and a session whose last compaction was taken back. */
const LINES: Readonly<Record<StoreName, readonly Line[]>> = {
  plain: [
    { tenant: 'north', session: 'checkout', agent: 'main', calls: 22 },
    { tenant: 'north', session: 'checkout', agent: 'helper', calls: 14 },
    { tenant: 'south', session: 'checkout', agent: 'main', calls: 16 },
    { tenant: 'north', session: 'undone', agent: 'main', calls: 24 },
  ],
  // What is sealed cannot be packed, so there is less of it.
  encrypted: [
    { tenant: 'north', session: 'checkout', agent: 'main', calls: 12 },
    { tenant: 'south', session: 'checkout', agent: 'main', calls: 6 },
  ],
}

export type Histories = Readonly<Record<string, readonly Json[]>>

const nameOf = ({ tenant, session, agent }: Line): string => `${tenant}/${session}/${agent}`

interface Opened {
  readonly plimsoll: Plimsoll
  readonly sent: string[]
  /** A team's tenant; its name is keyed by the secret that the store keeps. */
  tenantOf(team: string): Promise<string>
  ask(line: Line, history: readonly Json[]): Promise<string>
}

function open(folder: string): Opened {
  const sent: string[] = []
  let now = Date.UTC(2026, 10, 14, 14)
  const referee = createReferee({ wire: WIRE, window: WINDOW, script: answer, clock: { now: () => now } })
  const plimsoll = createPlimsoll({
    store: `sqlite:${join(folder, 'plimsoll.db')}`,
    window: WINDOW,
    tenants: 'header:x-team',
    telemetry: false,
    clock: { now: () => now },
    fetch: async (input, init) => {
      const request = new Request(input, init)
      sent.push(await request.clone().text())
      return await referee.fetch(request)
    },
  })
  return {
    plimsoll,
    sent,
    tenantOf: async (team) => await plimsoll.gateway.tenantOf((name) => (name === 'x-team' ? team : undefined), '/'),
    async ask({ tenant, session, agent }, history) {
      now += 20_000
      const response = await plimsoll.fetch('http://upstream.test/v1/chat/completions', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: 'Bearer k',
          'x-team': tenant,
          'x-plimsoll-session': session,
          'x-plimsoll-agent': agent,
        },
        body: JSON.stringify(CLIENTS[WIRE].body({ history, stream: false, variant: 0 })),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(text)
      return text
    },
  }
}

/** Fills a folder with a store and its artifacts; returns what the clients would send next. */
export async function fillStore(name: StoreName, folder: string): Promise<Histories> {
  const { plimsoll, ask, tenantOf } = open(folder)
  const client = CLIENTS[WIRE]
  const histories: Record<string, readonly Json[]> = {}
  for (const [at, line] of LINES[name].entries()) {
    const history: Json[] = [client.user(`${taskOf(0)} This is ${nameOf(line)}.`)]
    for (let n = 0; n < line.calls; n++) {
      const { entries, calls } = client.read(await ask(line, history), false)
      history.push(...entries)
      if (calls.length === 0) history.push(client.user(taskOf(n)))
      else history.push(...client.results(calls.map((call, i) => resultOf(call, at * 5 + n * 3 + i))))
    }
    if (line.session === 'undone') {
      const undone = await plimsoll
        .session({ tenant: await tenantOf(line.tenant), id: line.session, agent: line.agent })
        .undo()
      if (undone === undefined) throw new Error('There was nothing to take back.')
    }
    histories[nameOf(line)] = history
  }
  await plimsoll.close()
  return histories
}

/** What a process sees of a store that another one left behind. */
export interface Seen {
  readonly sessions: readonly (readonly [
    tenant: string,
    session: string,
    agents: readonly string[],
    calls: number,
    epochs: readonly string[],
  ])[]
  /** By tenant, handle and hash of the exact bytes. */
  readonly artifacts: readonly (readonly [tenant: string, handle: string, bytes: number, sha256: string])[]
  /** What leaves for the next request of each line, under the epoch that stands. */
  readonly next: Readonly<Record<string, string>>
  /** The epoch that an undo takes back, and what leaves then. */
  readonly undone: string | undefined
  readonly behindUndo: string
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

export async function seeStore(name: StoreName, folder: string, histories: Histories): Promise<Seen> {
  const { plimsoll, sent, ask, tenantOf } = open(folder)
  const sessions: Seen['sessions'][number][] = []
  const artifacts: Seen['artifacts'][number][] = []
  for (const tenant of [await tenantOf('north'), await tenantOf('south')]) {
    for (const { session } of await plimsoll.archive.sessions({ tenant })) {
      const { calls, epochs } = await plimsoll.archive.report(session, { tenant })
      const agents = await plimsoll.archive.agents(session, { tenant })
      sessions.push([tenant, session, agents, calls, epochs.map(({ id }) => id)])
    }
    for (const { handle, bytes } of await plimsoll.artifacts.list({ tenant, limit: 1_000 }))
      artifacts.push([tenant, handle, bytes, sha256((await plimsoll.artifacts.read(handle, { tenant }))!)])
  }
  const next: Record<string, string> = {}
  const send = async (line: Line): Promise<string> => {
    const before = sent.length
    await ask(line, histories[nameOf(line)]!)
    return sent[before]!
  }
  for (const line of LINES[name]) next[nameOf(line)] = await send(line)
  const [first] = LINES[name]
  const { tenant, session: id, agent } = first!
  const undone = await plimsoll.session({ tenant: await tenantOf(tenant), id, agent }).undo()
  const behindUndo = await send(first!)
  await plimsoll.close()
  return {
    sessions: sessions.toSorted((a, b) => (`${a[0]}/${a[1]}` < `${b[0]}/${b[1]}` ? -1 : 1)),
    artifacts: artifacts.toSorted((a, b) => (a[0] + a[1] < b[0] + b[1] ? -1 : 1)),
    next,
    undone,
    behindUndo,
  }
}

/** All files of a folder as one: a line of JSON that lists them, then their bytes. */
export function pack(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => statSync(join(folder, file)).isFile())
    .sort()
    .map((file) => ({ file, bytes: readFileSync(join(folder, file)) }))
  const list = JSON.stringify(files.map(({ file, bytes }) => [file, bytes.length]))
  return brotliCompressSync(Buffer.concat([Buffer.from(`${list}\n`), ...files.map(({ bytes }) => bytes)]))
}

export function unpack(packed: Uint8Array, folder: string): void {
  const all = brotliDecompressSync(packed)
  let at = all.indexOf('\n') + 1
  for (const [file, length] of JSON.parse(all.subarray(0, at).toString()) as [string, number][]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), all.subarray(at, (at += length)))
  }
}
