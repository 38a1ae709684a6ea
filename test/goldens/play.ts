import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPlimsoll, type Plimsoll, type PlimsollOptions } from '../../src/index.ts'
import { createReferee } from '../../src/testing/referee/index.ts'
import { PLAIN_WIRES } from '../gateway/plain-wires.ts'
import { renderBody, type WireName } from '../support/generators/index.ts'
import type { Script, Turn } from '../support/generators/script.ts'
import { CLIENTS, type Json } from './clients.ts'
import { answer, picture, resultOf, taskOf } from './script.ts'
import { cyberAutoagent } from '../../src/engine/presets/index.ts'

export const PRESETS = ['plimsoll', 'autosre', 'cyber-autoagent', 'contextguard', 'adk-code', 'ai-agent'] as const
export type Preset = (typeof PRESETS)[number]

/** Memory of work changes no byte, and a process that has only the store goes on as the one before would have. */
export type Mode = 'memory' | 'no memory' | 'restarted'

/** What happened at the borders of the product, in order: requests and prompts that left, answers that the client got. */
export interface Play {
  /** One line for each: what, how long, which hash; or what the answer says about itself. */
  readonly lines: readonly string[]
  /** Everything that left, by the number of its line. */
  readonly sent: ReadonlyMap<number, string>
}

const WINDOW = 14_000
/** Larger, so that a design whose own count is too low is seldom refused. */
const PROVIDER_WINDOW = 17_000
const CALLS = 30
/** After these calls the client takes its last words back and says something else, or its process is a new one. */
const REWOUND = 17
const RESTARTED = [9, 21]

const SUMMARY =
  '## State\nOrders wait for connections of the pool; part 4 was read.\n## Key information\n- src/part-4.ts\n- OPS-4711\n' +
  '## Decisions\n- no restart\n## Next steps\n- raise the size of the pool'

const CYBER = cyberAutoagent()

/** What a program sets beside its policy, so that each option is on somewhere and off elsewhere. */
const SETTINGS: Readonly<Record<Preset, PlimsollOptions>> = {
  plimsoll: { cacheMarks: true },
  autosre: {},
  // Files would lie beside the tests, under the time of a run.
  'cyber-autoagent': { policy: { ...CYBER, intake: { ...CYBER.intake, guard: { ...CYBER.intake.guard, files: '' } } } },
  contextguard: {},
  'adk-code': { cacheMarks: true },
  'ai-agent': {},
}
const WITH_MODEL: readonly Preset[] = ['contextguard', 'adk-code']

interface Recorder {
  readonly play: Play
  left(what: string, text: string): void
  got(response: Response): void
}

function recorder(): Recorder {
  const lines: string[] = []
  const sent = new Map<number, string>()
  return {
    play: { lines, sent },
    left(what, text) {
      sent.set(lines.length, text)
      const hash = createHash('sha256').update(text).digest('hex')
      lines.push(`→ ${what} ${Buffer.byteLength(text)} bytes ${hash}`)
    },
    got({ status, headers }) {
      const said = ['verdict', 'load', 'limit', 'saved', 'epoch', 'error'].flatMap((name) => {
        const value = headers.get(`x-plimsoll-${name}`)
        return value === null ? [] : [`${name} ${value}`]
      })
      lines.push(`← ${status} ${said.join(', ')}`)
    },
  }
}

/** An upstream that writes down what it gets, to the byte. */
const recording =
  (to: Recorder, upstream: typeof globalThis.fetch): typeof globalThis.fetch =>
  async (input, init) => {
    const request = new Request(input, init)
    const text = await request.clone().text()
    const { pathname, search } = new URL(request.url)
    const headers = [...request.headers].map(([name, value]) => `${name}: ${value}`).sort()
    to.left(`${request.method} ${pathname}${search}`, `${headers.join('\n')}\n\n${text}`)
    return await upstream(request)
  }

interface Stage {
  readonly recorder: Recorder
  /** Sends one request of the client's; the time goes on by some seconds. */
  send(path: string, body: Json, headers: Json): Promise<string | undefined>
  restart(): Promise<void>
  close(): Promise<void>
}

function stage(
  preset: Preset,
  mode: Mode,
  options: PlimsollOptions,
  upstreamOf: (now: () => number) => typeof fetch,
): Stage {
  const to = recorder()
  let now = Date.UTC(2026, 10, 14, 14)
  const upstream = recording(
    to,
    upstreamOf(() => now),
  )
  const folder = mode === 'restarted' ? mkdtempSync(join(tmpdir(), 'plimsoll-goldens-')) : undefined
  const open = (): Plimsoll =>
    createPlimsoll({
      policy: preset,
      secret: Buffer.from('the same in every run'),
      store: folder === undefined ? 'memory:' : `sqlite:${join(folder, 'plimsoll.db')}`,
      memo: mode !== 'no memory',
      clock: { now: () => now },
      telemetry: false,
      ...SETTINGS[preset],
      ...(WITH_MODEL.includes(preset) && {
        summarizer: (prompt) => {
          to.left('prompt for a summary', prompt)
          return SUMMARY
        },
      }),
      ...options,
      fetch: upstream,
    })
  let plimsoll = open()
  return {
    recorder: to,
    async send(path, body, headers) {
      now += 20_000
      const response = await plimsoll.fetch(`http://upstream.test${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers } as Record<string, string>,
        body: JSON.stringify(body),
      })
      const text = await response.text()
      to.got(response)
      return response.ok ? text : undefined
    },
    async restart() {
      if (folder === undefined) return
      await plimsoll.close()
      plimsoll = open()
    },
    async close() {
      await plimsoll.close()
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}

const keyOf = (wire: WireName): Json => ({ ...PLAIN_WIRES[wire].key('k'), 'anthropic-version': '2023-06-01' })

/** An agent's session: parallel calls, results far too large, pictures, thinking, calls of our tools, a history taken back. */
async function playAgent(wire: WireName, preset: Preset, mode: Mode): Promise<Play> {
  const client = CLIENTS[wire]
  const variant = PRESETS.indexOf(preset)
  const { recorder: to, ...on } = stage(preset, mode, { window: WINDOW }, (now) => {
    const referee = createReferee({ wire, window: PROVIDER_WINDOW, script: answer, clock: { now } })
    return referee.fetch
  })
  const headers = { ...keyOf(wire), ...(variant % 2 === 0 && { 'x-plimsoll-session': 'golden' }) }
  const history: Json[] = [client.user(taskOf(0))]
  let beforeTask = 0
  for (let n = 0; n < CALLS; n++) {
    if (RESTARTED.includes(n)) await on.restart()
    if (n === REWOUND) history.splice(beforeTask, Infinity, client.user(`No, look at the database first. (${n})`))
    const ask = { history, stream: n % 3 === 1, variant }
    const text = await on.send(client.path(ask), client.body(ask), headers)
    if (text === undefined) {
      // A client whose request was refused begins again.
      history.splice(0, Infinity, client.user(taskOf(n)))
      continue
    }
    const { entries, calls } = client.read(text, ask.stream)
    history.push(...entries)
    if (calls.length > 0) {
      history.push(...client.results(calls.map((call, i) => resultOf(call, n * 3 + i))))
      continue
    }
    beforeTask = history.length
    history.push(client.user(taskOf(n), n % 2 === 0 ? picture(n) : undefined))
  }
  await on.close()
  return to.play
}

/** Forms that a wire has for the same thing, unknown keys and blocks among them, through small windows. */
async function playForms(wire: WireName, preset: Preset, mode: Mode): Promise<Play> {
  const { url, answer: whole } = PLAIN_WIRES[wire]
  const said = JSON.stringify(whole('Noted.'))
  const json = { 'content-type': 'application/json' }
  const { recorder: to, ...on } = stage(
    preset,
    mode,
    { window: 4_000 },
    () => async () => new Response(said, { headers: json }),
  )
  const { pathname, search } = new URL(url)
  for (let style = 0; style < 4; style++) {
    const turns = [0, 1, 2].map((n) => turnOf(style * 10 + n))
    for (let upTo = 1; upTo <= turns.length; upTo++) {
      const script: Script = {
        system: ['You are careful.', `Style ${style}.`],
        tools: ['bash', 'search'],
        maxTokens: 500,
        style: style * 1_237 + 1,
        turns: turns.slice(0, upTo).map((turn, i) => (i === upTo - 1 ? { ...turn, answer: undefined } : turn)),
      }
      await on.send(pathname + search, renderBody(wire, script), keyOf(wire))
    }
  }
  await on.close()
  return to.play
}

function turnOf(seed: number): Turn {
  const own = resultOf({ id: '', name: '' }, seed)
  return {
    user: [
      { part: 'text', text: `${taskOf(seed)} "quoted" \\ back 𝒳 🚢` },
      ...(seed % 3 === 1 ? [{ part: 'image' as const, data: picture(seed) }] : []),
      ...(seed % 10 === 2 ? [{ part: 'document' as const, data: picture(seed) }] : []),
      ...(seed % 20 === 10 ? [{ part: 'unknown' as const, value: 'beam' }] : []),
    ],
    steps: [0, 1].map((s) => ({
      reasoning: s === 0 ? `thinking about ${seed}` : undefined,
      text: s === 1 ? `Now step ${seed}.` : undefined,
      style: seed * 31 + s,
      calls: [0, 1].slice(s).map((c) => ({
        name: 'bash',
        args: { command: `run ${seed}-${s}-${c}`, ü: 1.5 },
        result: `${s}${c} ${own.text.slice(0, 9_000)}`,
        picture: seed % 2 === 0,
        failed: c === 1,
      })),
    })),
    answer: `Done with ${seed}.`,
    style: seed * 17,
  }
}

export type Session = 'agent' | 'forms'

export const play = (session: Session, wire: WireName, preset: Preset, mode: Mode): Promise<Play> =>
  (session === 'agent' ? playAgent : playForms)(wire, preset, mode)

/** A new process takes its time to open a file; two designs show that it goes on with the same bytes. */
const RESTARTING: readonly Preset[] = ['plimsoll', 'contextguard']

export const modesOf = (session: Session, preset: Preset): readonly Mode[] =>
  session === 'agent' && RESTARTING.includes(preset) ? ['memory', 'no memory', 'restarted'] : ['memory', 'no memory']
