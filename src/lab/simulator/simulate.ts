import { createPlimsoll, type Plimsoll } from '../../plimsoll.ts'
import { isPlimsollError, type PlimsollError } from '../../core/errors.ts'
import { handlesIn } from '../../core/handles.ts'
import type { Policy } from '../../core/policy.ts'
import { memoryArtifacts } from '../../drivers/artifacts/memory.ts'
import { memoryStore } from '../../drivers/sessions/memory.ts'
import type { PreparedTurn } from '../../engine/prepare/prepare.ts'
import { contextguardHeuristic } from '../../engine/presets/contextguard/estimate.ts'
import { codecs } from '../../formats/registry.ts'
import { type Answer, calls, createReferee, type Exchange, type Referee, say } from '../../testing/referee/index.ts'
import { type Blob, replyText, type Scenario, type ToolSet, type Turn } from './scenarios.ts'

export type { Scenario } from './scenarios.ts'
export { scenarios } from './scenarios.ts'

const WIRE = 'gemini'
const MODEL = 'simulated-1'
const TENANT = 'local'
const SESSION = 'simulated'
const codec = codecs.get(WIRE)!

export interface SimulateOptions {
  /** @default 'plimsoll' */
  readonly policy?: string | Policy
  readonly onStep?: (step: SimulatedStep) => void
}

interface SimulatedStep {
  /** Absent when the engine refused with a typed error. */
  readonly prepared?: PreparedTurn
  readonly error?: PlimsollError
  /** The provider's count of what was sent. */
  readonly real: number
  readonly overflow: boolean
  readonly violations: readonly string[]
}

/** It speaks of what the scenarios are made of, as an account has to. */
const SENTENCE =
  'Requests to the service had latency; worker, cluster and deploy were looked at with q0000, then retry and its timeout.'

/** One line of `plimsoll simulate --json`. */
export interface SimulationResult {
  readonly scenario: string
  readonly policy: string
  readonly window: number
  readonly steps: number
  /** Requests that the provider refused as too large. */
  readonly overflows: number
  /** Requests that broke a rule of the wire. */
  readonly invalid: number
  /** Items of sent histories that no address gives back, and handles in a view that cannot be opened. */
  readonly lost: number
  readonly compactions: number
  readonly maxConsecutiveCompactions: number
  readonly summarizerCalls: number
  /** Steps that ended in a typed error without a request. */
  readonly typedErrors: number
  /** The largest prompt, by the provider's count. */
  readonly peakReal: number
  readonly limit: number
}

/** Runs a scenario against the engine, with a referee that counts `ratio` times the bytes / 4 heuristic and enforces the window. */
export async function simulate(scenario: Scenario, options: SimulateOptions = {}): Promise<SimulationResult> {
  const { policy = 'plimsoll', onStep = () => {} } = options
  const secret = new Uint8Array(32).fill(3)
  const store = memoryStore()
  const artifacts = memoryArtifacts({ secret })
  let now = 0
  let summarizerCalls = 0
  const plimsoll = createPlimsoll({
    policy,
    store,
    artifacts,
    secret,
    clock: { now: () => ++now },
    summarizer: {
      name: 'simulated',
      window: scenario.window,
      summarise: async () => {
        summarizerCalls++
        return { text: SENTENCE.padEnd(120, '.'), stop: 'end' }
      },
    },
  })
  const run = await play(plimsoll, scenario, onStep)
  const archived = new Set<string>()
  for await (const { record } of store.read(TENANT, SESSION))
    if (record.type === 'item-seen') archived.add(record.fragment)
  const dangling: string[] = []
  for (const handle of run.handles) if ((await artifacts.stat(TENANT, handle)) === undefined) dangling.push(handle)
  const lost = lostItems(run.sent, archived) + dangling.length
  await plimsoll.close()
  return {
    scenario: scenario.name,
    policy: typeof policy === 'string' ? policy : policy.name,
    window: scenario.window,
    ...tally(run.steps),
    lost,
    summarizerCalls,
    limit: run.limit,
  }
}

interface Run {
  readonly steps: readonly SimulatedStep[]
  /** The last request body that was prepared. */
  readonly sent: string
  readonly handles: ReadonlySet<string>
  readonly limit: number
}

async function play(plimsoll: Plimsoll, scenario: Scenario, onStep: (step: SimulatedStep) => void): Promise<Run> {
  const session = plimsoll.session({ id: SESSION })
  let current: ClientStep | undefined
  const referee = createReferee({
    wire: WIRE,
    window: scenario.window,
    tokenizer: (text) => Math.floor((Buffer.byteLength(text) / 4) * scenario.ratio),
    countPrompt: trueTokens(scenario.ratio),
    script: () => current!.answer,
  })
  const steps: SimulatedStep[] = []
  const handles = new Set<string>()
  let sent = ''
  let limit = 0
  for (const step of clientSteps(scenario)) {
    current = step
    try {
      const prepared = await session.prepare({
        format: WIRE,
        body: step.body,
        targets: [{ model: MODEL, window: scenario.window }],
      })
      limit = prepared.limit.tokens
      sent = step.body
      for (const handle of handlesIn(prepared.text)) handles.add(handle)
      const { exchange, response } = await ask(referee, prepared.text)
      await session.record(
        response === undefined
          ? { turn: prepared.id, refused: true }
          : { turn: prepared.id, format: WIRE, response: reports(scenario, step) ? response : withoutUsage(response) },
      )
      steps.push({
        prepared,
        real: exchange.inputTokens,
        overflow: exchange.overflow,
        violations: exchange.violations.map((violation) => violation.rule),
      })
    } catch (error) {
      if (!isPlimsollError(error)) throw error
      if (typeof error.fields['limit'] === 'number') limit = error.fields['limit']
      steps.push({ error, real: 0, overflow: false, violations: [] })
    }
    onStep(steps.at(-1)!)
  }
  referee.close()
  return { steps, sent, handles, limit }
}

/** int(ratio × heuristic) of the body: the count that the scenarios define. */
function trueTokens(ratio: number): (body: unknown) => number {
  return (body) => Math.floor(contextguardHeuristic(codec.decode(JSON.stringify(body))) * ratio)
}

const reports = ({ usage }: Scenario, { turn }: ClientStep): boolean =>
  typeof usage === 'number' ? turn >= usage : usage

async function ask(referee: Referee, text: string): Promise<{ exchange: Exchange; response?: Response }> {
  const { status, body } = await referee.handle({
    method: 'POST',
    path: `/v1beta/models/${MODEL}:generateContent`,
    headers: { 'x-goog-api-key': 'simulated' },
    body: Buffer.from(text),
  })
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  const exchange = referee.log.at(-1)!
  return status === 200
    ? { exchange, response: JSON.parse(Buffer.concat(chunks).toString()) as Response }
    : { exchange }
}

type Response = Readonly<Record<string, unknown>>

function withoutUsage(response: Response): Response {
  const { usageMetadata: _, ...rest } = response
  return rest
}

function tally(steps: readonly SimulatedStep[]) {
  const count = (matches: (step: SimulatedStep) => boolean): number => steps.filter(matches).length
  const compacted = (step: SimulatedStep): boolean => step.prepared?.report.newEpoch !== undefined
  let inARow = 0
  let longest = 0
  for (const step of steps) {
    inARow = compacted(step) ? inARow + 1 : 0
    longest = Math.max(longest, inARow)
  }
  return {
    steps: steps.length,
    overflows: count((step) => step.overflow),
    invalid: count((step) => step.violations.length > 0),
    compactions: count(compacted),
    maxConsecutiveCompactions: longest,
    typedErrors: count((step) => step.error !== undefined),
    peakReal: steps.reduce((most, { real }) => Math.max(most, real), 0),
  }
}

/** Items of a history whose sent text is not in the archive. */
function lostItems(sent: string, archived: ReadonlySet<string>): number {
  if (sent === '') return 0
  const history = codec.decode(sent)
  return history.items.filter((item) => !archived.has(codec.fragment(history, item))).length
}

/** One model call: the client's request and the model's answer. */
export interface ClientStep {
  readonly turn: number
  readonly body: string
  readonly answer: Answer
}

/** The output cap that a client of this window sends. */
const outputTokensOf = (window: number): number => Math.min(4_096, Math.floor(window / 8))

/**
 * The client. Its history only grows, it does not see what the context manager does, and it sends a fresh copy of the whole history in each step.
 * Parallel results are in one message; sequential results need a call each; the closing text is appended without a step.
 */
export function* clientSteps(scenario: Scenario): Generator<ClientStep> {
  const history: string[] = []
  const frame = envelope(scenario)
  const step = (turn: number, answer: Answer): ClientStep => ({ turn, body: frame(history), answer })
  for (let index = 0; index < scenario.turns; index++) {
    const turn = scenario.turn(index)
    const closing = say(replyText(index, turn, (characters) => filler(characters, index * 100 + 99)))
    history.push(userContent(index, turn))
    for (const group of groupsOf(turn)) {
      const made = group.map(({ size, at }) => toolOf(scenario, turn, index, at, size))
      yield step(index, calls(made.map(({ name, input, id }) => ({ name, input, id }))))
      history.push(
        content(
          'model',
          made.map(({ name, input, id }) => ({ functionCall: { id, name, args: input } })),
        ),
      )
      history.push(
        content(
          'user',
          made.map(({ name, id, result }) => ({ functionResponse: { id, name, response: { result } } })),
        ),
      )
    }
    yield step(index, closing)
    history.push(
      content(
        'model',
        closing.parts.map((part) => ({ text: 'text' in part ? part.text : '' })),
      ),
    )
  }
}

interface Sized {
  readonly size: number
  readonly at: number
}

/** Results by the model call that requests them. */
function groupsOf({ parallel, sequential }: Turn): Sized[][] {
  const sized = (sizes: readonly number[]): Sized[] => sizes.map((size, at) => ({ size, at }))
  if (parallel !== undefined) return [sized(parallel)]
  return sized(sequential ?? []).map((one) => [one])
}

function toolOf(scenario: Scenario, turn: Turn, index: number, at: number, size: number) {
  return {
    id: `call_${index}_${at}`,
    name: scenario.toolName((turn.firstTool ?? 0) + at),
    // A key and a value of one token each, by bytes / 4.
    input: { query: `q${String(index).padStart(4, '0')}` },
    result: filler(size, index * 100 + at + 1),
  }
}

const content = (role: 'user' | 'model', parts: readonly object[]): string => JSON.stringify({ role, parts })

function userContent(index: number, { user, media = [] }: Turn): string {
  const blobs = media.map((blob, at) => ({
    inlineData: { mimeType: blob.mime, data: blobData(blob, index * 10 + at) },
  }))
  return content('user', [{ text: filler(user, index * 100) }, ...blobs])
}

/** Base64 of this many bytes; the first ones differ from blob to blob. */
function blobData({ bytes }: Blob, seed: number): string {
  const data = Buffer.alloc(bytes, 0x5a)
  if (bytes >= 4) data.writeUInt32BE(seed + 1, 0)
  return data.toString('base64')
}

function envelope({ system, tools, window }: Scenario): (history: readonly string[]) => string {
  const fixed = {
    systemInstruction: { parts: [{ text: filler(system, 7) }] },
    ...(tools !== undefined && { tools: [{ functionDeclarations: declarations(tools) }] }),
    generationConfig: { maxOutputTokens: outputTokensOf(window) },
  }
  const head = JSON.stringify(fixed).slice(0, -1)
  return (history) => `${head},"contents":[${history.join(',')}]}`
}

const DECLARED = { name: 8, description: 40 }

/** Declarations whose name, description and schema have exactly the set's tokens by bytes / 4. */
function declarations({ count, tokens }: ToolSet): object[] {
  return Array.from({ length: count }, (_, n) => {
    const own = Math.floor(tokens / count) + (n < tokens % count ? 1 : 0)
    const schemaTokens = own - (DECLARED.name + DECLARED.description) / 4
    return {
      name: `declared${n}`.slice(0, DECLARED.name - 2) + String(n).padStart(2, '0'),
      description: filler(DECLARED.description, 500 + n),
      parameters: schemaOf(schemaTokens * 4, 600 + n),
    }
  })
}

function schemaOf(characters: number, seed: number): object {
  const schema = (description: string): object => ({
    type: 'object',
    properties: { input: { type: 'string', description } },
  })
  const room = characters - JSON.stringify(schema('')).length
  // A line break would take two characters in JSON.
  return schema(filler(room, seed).replaceAll('\n', ' '))
}

const WORDS = [
  'service', 'request', 'latency', 'worker', 'cluster', 'deploy', 'retry', 'timeout', 'session', 'index', 'replica',
  'shard', 'gateway', 'queue', 'commit', 'branch', 'metric', 'alert', 'volume', 'node', 'probe', 'ingress', 'token',
] // prettier-ignore

/** Text of exactly this many ASCII characters: lines of words and numbers, the same for the same seed. */
function filler(characters: number, seed: number): string {
  let state = (seed * 2_654_435_761 + 12_345) >>> 0
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const words: string[] = []
  let length = 0
  for (let n = 1; length < characters; n++) {
    const word = n % 5 === 0 ? String(next(10_000)) : WORDS[next(WORDS.length)]!
    const piece = word + (n % 11 === 0 ? '\n' : ' ')
    words.push(piece)
    length += piece.length
  }
  // Ends in a letter, because white space at the end might be trimmed.
  return characters === 0 ? '' : `${words.join('').slice(0, characters - 1)}x`
}
