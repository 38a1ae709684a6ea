/**
 * One append to a long history: what `prepare` costs beside other people's trimmers, and what doubling the history changes.
 *
 *   npm run bench:engine                installs the peers into bench/.peers on first use
 *   npm run bench:engine -- --no-peers
 */
import { createPlimsoll } from '../src/index.ts'
import { codecs } from '../src/formats/registry.ts'
import type { Conversation } from '../src/core/conversation.ts'
import { CLAUDE_CODE } from '../src/core/identity.ts'
import { sha256Text } from '../src/drivers/crypto/sha256.ts'
import { createMemo } from '../src/engine/memo/memo.ts'
import type { GatewaySession } from '../src/engine/session/session.ts'
import { incident } from './lib/incident.ts'
import { installPeers } from './compare/install.ts'
import { langchain, mastra, strands, type Peer } from './lib/peers.ts'

const BUDGET = 32_000
const WINDOW = 36_000
/** More than the history. */
const ROOMY = 1_000_000
const APPENDS = 60
/** Sessions of each kind, in turn: what one of them shows depends on what the process has compiled by then, and on who else is at work. */
const ROUNDS = 5
const codec = codecs.get('openai-chat')!

const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1]!

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

interface Warm {
  /** With the decoding of the body. */
  readonly whole: number
  /** The engine alone, on a conversation that shares its items with the one before. */
  readonly engine: number
  readonly cold: number
}

/** Medians over several sessions of each kind, which take turns. */
async function warmMedians(kinds: readonly (readonly [size: number, window: number | undefined])[]): Promise<Warm[]> {
  const rounds: Warm[][] = kinds.map(() => [])
  for (let round = 0; round < ROUNDS; round++)
    for (const [at, [size, window]] of kinds.entries()) rounds[at]!.push(await warmTimes(size, window))
  return rounds.map((times) => ({
    whole: median(times.map(({ whole }) => whole)),
    engine: median(times.map(({ engine }) => engine)),
    cold: median(times.map(({ cold }) => cold)),
  }))
}

/** A client that sends its whole history again with two messages more each time. */
async function warmTimes(size: number, window: number | undefined): Promise<Warm> {
  const messages = incident(size + 4 * APPENDS)
  const bodies = Array.from({ length: APPENDS * 2 + 1 }, (_, i) =>
    JSON.stringify({ model: 'gpt-4.1', max_tokens: 1_000, messages: messages.slice(0, size + 2 * i) }),
  )
  const plimsoll = createPlimsoll({ store: 'memory:', ...(window !== undefined && { window }) })
  const session = plimsoll.session({ id: `bench-${size}` }) as GatewaySession
  const memo = createMemo({ hash: (text) => sha256Text(text, 'hex'), profile: CLAUDE_CODE })
  const whole: number[] = []
  const engine: number[] = []
  let conversation: Conversation | undefined
  const [first, ...rest] = bodies as [string, ...string[]]
  const cold = await timed(() => session.prepare({ format: codec.format, body: first }))
  for (const [i, body] of rest.entries()) {
    if (i < APPENDS) {
      whole.push(await timed(() => session.prepare({ format: codec.format, body })))
      continue
    }
    conversation = codec.decode(body, conversation)
    // As the gateway does: what it has read goes in as it is.
    const read = { codec, text: body, conversation, links: memo.chain(conversation.items), targets: [] }
    const time = await timed(() => session.prepareRead(read))
    // The first one meets items of another reading.
    if (i > APPENDS) engine.push(time)
  }
  await plimsoll.close()
  return { whole: median(whole), engine: median(engine), cold }
}

const ms = (time: number): string => `${time.toFixed(2).padStart(8)} ms`

/** Twice: behind an epoch, where everybody has something to take out, and with room for everything. */
async function compare(): Promise<void> {
  installPeers()
  const messages = incident(1_000)
  const bytes = JSON.stringify(messages).length.toLocaleString('en')
  for (const [title, budget, window] of [
    [`cut to about ${BUDGET} tokens`, BUDGET, WINDOW],
    ['all of which fit', ROOMY, undefined],
  ] as const) {
    const [ours] = (await warmMedians([[1_000, window]])) as [Warm]
    const peers: Peer[] = [
      await langchain(messages, budget),
      await mastra(messages, budget),
      ...(window === undefined ? [] : [await strands(messages, true), await strands(messages, false)]),
    ]
    console.log(`\n1,000 messages, ${bytes} bytes, ${title}\n`)
    console.log(`  Plimsoll prepare, warm           ${ms(ours.whole)}   decoding included`)
    console.log(`  Plimsoll prepare, warm           ${ms(ours.engine)}   a conversation that shares structure`)
    for (const peer of peers) await besidePeer(peer, ours.engine)
  }
}

async function besidePeer(peer: Peer, ours: number): Promise<void> {
  const times: number[] = []
  let left = 0
  for (let i = 0; i < 15; i++) times.push(await timed(async () => (left = await peer.trim())))
  const time = median(times.slice(3))
  const share = (ours / time).toFixed(2)
  console.log(`  ${peer.name.padEnd(32)} ${ms(time)}   ${left} messages left; ours is ${share} of it`)
}

async function doubling(): Promise<void> {
  console.log('\nDoubling the history, warm\n')
  for (const [name, window] of [
    ['under the limit', undefined],
    ['behind an epoch', WINDOW],
  ] as const) {
    const [once, twice] = (await warmMedians([
      [1_000, window],
      [2_000, window],
    ])) as [Warm, Warm]
    console.log(
      `  ${name}: engine ${ms(once.engine)} → ${ms(twice.engine)}, ${(twice.engine / once.engine).toFixed(2)}×; ` +
        `with decoding ${ms(once.whole)} → ${ms(twice.whole)}; cold ${ms(once.cold)} → ${ms(twice.cold)}`,
    )
  }
}

if (!process.argv.includes('--no-peers')) await compare()
await doubling()
