import { createHash } from 'node:crypto'
import { createPlimsoll, type Plimsoll } from '../../plimsoll.ts'
import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { changeEnvelope } from '../../core/edits.ts'
import { insertedTexts } from '../../core/epochs.ts'
import { type ErrorCode, isPlimsollError, type PlimsollError } from '../../core/errors.ts'
import type { PlimsollEvent } from '../../core/events.ts'
import type { Item } from '../../core/item.ts'
import type { Aim, Policy } from '../../core/policy.ts'
import type { Epoch, FetchedAgain, LogRecord } from '../../core/records.ts'
import type { Limit, Thresholds, VerdictKind } from '../../core/target.ts'
import type { Usage } from '../../core/usage.ts'
import { foldedLog } from '../../engine/store-admin/session-report.ts'
import { figuresOf, type SessionFigures } from '../../meter/session/figures.ts'
import type { FoldedLog } from '../../meter/session/log.ts'
import { Composition } from '../../meter/session/parts.ts'
import { withoutCost } from '../../meter/session/words.ts'
import { memoryArtifacts } from '../../drivers/artifacts/memory.ts'
import { bundledCatalogue } from '../../drivers/catalogue/bundled.ts'
import { memoryStore } from '../../drivers/sessions/memory.ts'
import { createTokenizers } from '../../drivers/tokenizers/tokenizers.ts'
import { policyNamed } from '../../engine/presets/index.ts'
import { COMPACT_READER } from '../../engine/readers/reader-tools.ts'
import { codecs, framingOfWire } from '../../formats/registry.ts'
import { createMeter, type Meter } from '../../meter/index.ts'
import type { ArtifactStore } from '../../ports/artifact-store.ts'
import type { Catalogue } from '../../ports/catalogue.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import type { Part, RecordedCall, Recording } from '../transcripts/recording.ts'
import { type Compaction, type Handover, handoverOf } from './handover.ts'
import { conversationView, type ConversationView, ReplayMeter, type SentPiece } from './price.ts'
import { readableText } from './recall.ts'

export interface ReplayOptions {
  readonly window: number
  readonly policy: string | Policy
  /** What its compactions are for. @default the policy's */
  readonly aim?: Aim
  /** Models with their prices. @default those of the package */
  readonly catalogue?: Catalogue
  /** The model whose prices and tokenizer are used. @default the recording's own, else claude-sonnet-4-5 */
  readonly model?: string
  /** Tokens reserved for the answer, which recordings do not contain. @default 1024 */
  readonly reserve?: number
  /** Declares `recall` as a proxy would: immediately where that is cheap, else when something is removed. @default true */
  readonly readers?: boolean
  /** The recorded clock: caches expire by it, in the engine's eyes too. Without it every prefix is warm. @default false */
  readonly clock?: boolean
  /** A provider of which more is known than its model: requests above the window by its count are overflows. @default the meter's lowest count */
  readonly provider?: ReplayProvider
  /** Where the session is kept as if its requests had gone through a proxy. @default in memory, and forgotten */
  readonly into?: ReplayStore
  /** Answers report usage, as most providers do: what left, by the count that it is priced with. A `provider` says this itself. @default true */
  readonly usage?: boolean
  readonly onCall?: (step: ReplayedStep) => void
  /** Called for each compaction, with what it covered and the record. */
  readonly onCompaction?: (compaction: Compaction & { readonly call: number }) => void
}

export interface ReplayStore {
  readonly sessions: SessionStore
  /** Its handles are made with `REPLAY_SECRET`: their characters are counted, and a replay counts the same each time. */
  readonly artifacts: ArtifactStore
  /** The session's name. */
  readonly session: string
  readonly onEvent?: (event: PlimsollEvent) => void
}

export interface ReplayProvider {
  count(view: Conversation): number
  /** The usage that it reports for an answer. @default nothing */
  usageOf?(view: Conversation, answer: RecordedCall['response']): Usage
}

export interface ReplayedStep {
  readonly call: number
  readonly load: number
  readonly limit: number
  /** Absent when the engine refused the request. */
  readonly thresholds?: Thresholds
  readonly epoch?: string
  /** Absent when the engine refused the request. */
  readonly verdict?: VerdictKind
  readonly overflow: boolean
  readonly invalid: boolean
  /** The reason why the engine refused the request. */
  readonly error?: string
}

/** One object per file and policy, as `replay --json` prints it. */
export interface ReplayResult {
  readonly file: string
  readonly format: string
  readonly policy: string
  /** Absent where the policy's own held. */
  readonly aim?: Aim
  readonly window: number
  readonly limit: number
  readonly calls: number
  readonly messages: number
  /** Requests above their limit in tokens or bytes that were sent, and calls that failed with another error than the typed refusal. */
  readonly overflows: number
  /**
   * Requests that were sent although they may be above the limit by the upper bound of the count: nothing was left to reduce, and the provider
   * decides.
   */
  readonly doubtful: number
  readonly invalid: number
  readonly lost: number
  /** Calls that no reduction could make fit: the caller gets an error that names the largest parts, and nothing is sent. */
  readonly refused: number
  /** Upper bound of instructions and tools, which no policy may cut; the highest of all calls. */
  readonly fixedLoad: number
  readonly epochs: number
  /** Always 0: a replay has no model that could summarise. */
  readonly summarizerCalls: number
  readonly peakLoad: number
  readonly quoteRecall: number
  readonly nameRecall: number
  readonly recoverableRecall: number
  /** What compactions kept of the history that they covered. */
  readonly handover: Handover
  /** What compactions took out and calls brought back within the next 30 answers. */
  readonly fetchedAgain: FetchedAgain
  readonly costUsd: number
  readonly unmanagedCostUsd: number
  readonly cacheHitRate: number
  /** Calls after the first that read nothing from the cache. */
  readonly coldCalls: number
  /** Hash of the bytes of all requests that were sent; the same for two runs of one recording. */
  readonly requestsHash: string
  readonly ms: number
}

/** A replayed session with its events. */
export interface ReplayedSession {
  readonly result: ReplayResult
  readonly model: string | undefined
  /** What the session's log says; every report and page shows these figures. */
  readonly figures: SessionFigures
  readonly log: FoldedLog
  readonly composition: Composition
  readonly steps: readonly ReplayedStep[]
  readonly epochs: readonly ReplayedEpoch[]
  readonly offloads: readonly (EventOf<'item-offloaded'> & { readonly call: number })[]
}

type EventOf<Type extends PlimsollEvent['type']> = Extract<PlimsollEvent, { type: Type }>

/** With the index of its call, and its edits from the log. */
export interface ReplayedEpoch extends EventOf<'epoch-declared'> {
  readonly call: number
  readonly edits: Epoch['edits']
}

export const REPLAY_SECRET = Buffer.alloc(32, 1)

const DEFAULT_MODEL = 'claude-sonnet-4-5'

/** Re-runs a recorded session call by call under a policy. The engine only sees the past; the measures also see the answer. */
export async function replaySession(recording: Recording, options: ReplayOptions): Promise<ReplayedSession> {
  const startedAt = performance.now()
  const replay = new Replay(recording, options)
  const steps: ReplayedStep[] = []
  for (const call of recording.calls) {
    const step = await replay.call(call)
    steps.push(step)
    options.onCall?.(step)
  }
  const { epochs, lost, log, composition } = await replay.close()
  const { file, name, format, messages } = recording
  const result: ReplayResult = {
    file: name === undefined ? file : `${file}#${name}`,
    format,
    policy: typeof options.policy === 'string' ? options.policy : options.policy.name,
    aim: options.aim,
    window: options.window,
    limit: replay.limit,
    calls: steps.length,
    messages: messages.length,
    overflows: steps.filter(({ overflow }) => overflow).length,
    invalid: steps.filter(({ invalid }) => invalid).length,
    lost,
    refused: replay.refused,
    epochs: steps.filter(({ epoch }) => epoch !== undefined).length,
    summarizerCalls: 0,
    ...replay.measured(),
    requestsHash: replay.sent.digest('hex'),
    ms: Math.round(performance.now() - startedAt),
  }
  const figures = figuresOf(log, true)
  const { offloads } = replay
  return { result, model: options.model ?? recording.model, figures, log, composition, steps, epochs, offloads }
}

/** What `replay --json` prints: what is measured of the replay, and the figures that every other place shows of this session. */
export function replayJson({ result, figures }: ReplayedSession): object {
  const { limit, compactions, peak, usage, cost } = figures
  return {
    ...result,
    limit: limit === 0 ? result.limit : limit,
    epochs: compactions,
    peakLoad: peak.value,
    costUsd: cost?.value ?? null,
    unmanagedCostUsd: withoutCost(figures)?.value ?? null,
    cacheHitRate: usage.input === 0 ? 0 : usage.cacheRead / usage.input,
    figures,
  }
}

/** Replays one recording in an engine of its own. */
class Replay {
  readonly sent = createHash('sha256')
  readonly offloads: ReplayedSession['offloads'][number][] = []
  limit = 0
  refused = 0
  readonly #options: ReplayOptions
  readonly #reserve: number
  readonly #codec: Codec
  readonly #model: string
  readonly #tokenizers = createTokenizers()
  readonly #counter: Meter
  /** Counts with vocabularies, for requests of which an estimate cannot tell whether they fit. */
  readonly #exact: Meter
  readonly #meter: ReplayMeter
  /** Its own, so that no recording teaches another. */
  readonly #store = memoryStore()
  #copied = 0
  readonly #plimsoll: Plimsoll
  readonly #session: ReturnType<Plimsoll['session']>
  readonly #decode: Readonly<Record<'original' | 'asked' | 'view', (text: string) => Conversation>>
  readonly #tokensOf: (item: Item) => number
  readonly #compactions: Compaction[] = []
  readonly #declaredEpochs: (EventOf<'epoch-declared'> & { readonly call: number })[] = []
  #call = 0
  #now = Date.now()
  // Peak and overflows are counted here from what was sent, independently of the engine.
  #peakLoad = 0
  #fixedLoad = 0
  #doubtful = 0
  #fetchedAgain: FetchedAgain = { results: 0, tokens: 0, costUsd: 0 }
  #lastTakenIn: Conversation | undefined
  /** The readers that earlier requests declared, as a proxy would remember. */
  #declaredTools: readonly string[] | undefined

  constructor(recording: Recording, options: ReplayOptions) {
    const { policy, aim, reserve = 1_024, catalogue = bundledCatalogue() } = options
    this.#options = options
    this.#reserve = reserve
    this.#codec = codecs.get(recording.wire)!
    this.#model = options.model ?? recording.model ?? DEFAULT_MODEL
    this.#counter = createMeter({ catalogue, framingOf: framingOfWire })
    this.#exact = createMeter({ catalogue, framingOf: framingOfWire, tokenizerFor: this.#tokenizers.get })
    const price = catalogue.resolve(this.#model).info.price ?? catalogue.resolve(DEFAULT_MODEL).info.price!
    const source = options.clock === true ? recording : withoutClock(recording)
    this.#meter = new ReplayMeter(source, price)
    const { into } = options
    const secret = REPLAY_SECRET
    this.#plimsoll = createPlimsoll({
      policy: aim === undefined ? policy : { ...(typeof policy === 'string' ? policyNamed(policy) : policy), aim },
      store: this.#store,
      clock: options.clock === true ? { now: () => this.#now } : undefined,
      artifacts: into?.artifacts ?? memoryArtifacts({ secret }),
      secret,
      catalogue,
      onEvent: (event) => {
        into?.onEvent?.(event)
        if (event.type === 'epoch-declared') this.#declaredEpochs.push({ ...event, call: this.#call })
        else if (event.type === 'fetched-again') {
          const { results, tokens, costUsd } = this.#fetchedAgain
          this.#fetchedAgain = {
            results: results + 1,
            tokens: tokens + event.tokens,
            costUsd: costUsd + (event.costUsd ?? 0),
          }
        } else if (event.type === 'item-offloaded') this.offloads.push({ ...event, call: this.#call })
      },
    })
    this.#session = this.#plimsoll.session({ id: into?.session ?? 'replay' })
    const decoder = () => growingDecoder(this.#codec)
    this.#decode = { original: decoder(), asked: decoder(), view: decoder() }
    this.#tokensOf = onceEach((item: Item) => this.#counter.countItem(this.#model, item).tokens)
  }

  async call(call: RecordedCall): Promise<ReplayedStep> {
    const step = await this.#run(call)
    await this.#copy()
    return step
  }

  async #copy(): Promise<void> {
    const { into } = this.#options
    if (into === undefined) return
    const records: LogRecord[] = []
    for await (const { record, version } of this.#store.read('local', this.#session.id, this.#copied)) {
      records.push(record)
      this.#copied = version
    }
    if (records.length > 0) await into.sessions.append('local', into.session, records)
  }

  async #run(call: RecordedCall): Promise<ReplayedStep> {
    this.#call = call.index
    this.#now = call.at ?? this.#now
    const original = this.#decode.original(call.body())
    const body = requestOf(this.#codec, original, this.#reserve)
    const asked = this.#decode.asked(body)
    const fixed = this.#counter.measure(this.#model, fixedParts(asked), 0)
    this.#fixedLoad = Math.max(this.#fixedLoad, Math.ceil(fixed.count.high))
    const { pieces: whole } = this.#count(asked)
    try {
      return await this.#send(call, body, asked, whole)
    } catch (error) {
      if (!isPlimsollError(error)) throw error
      return this.#refusal(error, call, whole)
    }
  }

  async #send(
    call: RecordedCall,
    body: string,
    asked: Conversation,
    whole: readonly SentPiece[],
  ): Promise<ReplayedStep> {
    const { window, readers = true, onCompaction } = this.#options
    const turn = await this.#session.prepare({
      format: this.#codec.format,
      body,
      targets: [{ model: this.#model, window, maxOutputTokens: this.#reserve }],
      tools: readers ? { tools: [COMPACT_READER], declared: this.#declaredTools } : undefined,
    })
    this.#declaredTools = turn.declared
    this.limit = turn.limit.tokens
    // A refused request was never sent and only exists at the client, so only items that the engine accepted can be lost.
    this.#lastTakenIn = asked
    const view = this.#decode.view(turn.text)
    this.sent.update(turn.text)
    const overflow = await this.#isTooLarge(view, view.bytes ?? Buffer.byteLength(turn.text), turn.limit)
    const counted = this.#count(view)
    const reachable = readers ? asked.items.map(readableText) : undefined
    const priced = this.#meter.add(call.index, { ...counted, reachable, whole })
    const usage = this.#usageOf(view, call, priced)
    if (usage !== undefined) await this.#session.record({ turn: turn.id, usage })
    const { newEpoch, thresholds, untouched } = turn.report
    const epoch = newEpoch && (await this.#epochs()).get(newEpoch.id)
    if (epoch !== undefined) {
      const compaction = { before: asked.items, after: view.items, inserted: insertedTexts(epoch) }
      this.#compactions.push(compaction)
      onCompaction?.({ ...compaction, call: call.index })
    }
    const load = turn.load.count.high
    return {
      call: call.index,
      load,
      limit: this.limit,
      thresholds,
      verdict: turn.verdict.kind,
      overflow,
      invalid: !untouched && breaksNewRule(this.#codec, view, asked),
      epoch: newEpoch?.id,
    }
  }

  readonly #count = (conversation: Conversation): ConversationView =>
    conversationView(conversation, this.#tokensOf, (text) => this.#countText(text))

  /** What the provider reports: its count of what left, and what of that it read from its cache. */
  #usageOf(view: Conversation, call: RecordedCall, priced: Usage | undefined): Usage | undefined {
    const { provider, usage = provider === undefined } = this.#options
    const told = provider?.usageOf?.(view, call.response)
    if (priced === undefined || (told === undefined && !usage)) return undefined
    const input = told?.input ?? Math.round(this.#counter.measure(this.#model, view, 0).count.tokens)
    const share = (part: number): number => (priced.input === 0 ? 0 : Math.round((part / priced.input) * input))
    // As it comes back in the next request: a call is more than its text.
    const answered = (part: Part): number =>
      this.#counter.countItem(this.#model, { id: '', message: 0, ...part }).tokens
    const output = told?.output ?? call.response.parts.reduce((sum, part) => sum + answered(part), 0)
    const [cacheRead, cacheWrite] = [share(priced.cacheRead), share(priced.cacheWrite)]
    return { input, cacheRead, cacheWrite, output, reasoning: 0 }
  }

  #refusal(error: PlimsollError, { index }: RecordedCall, whole: readonly SentPiece[]): ReplayedStep {
    const fate = fateOf(error)
    const { needed, limit } = error.fields
    if (typeof limit === 'number') this.limit = limit
    if (fate === 'refused') this.refused++
    this.#meter.add(index, { pieces: [], texts: [], whole, refused: fate === 'refused' })
    return {
      call: index,
      load: typeof needed === 'number' ? needed : 0,
      limit: this.limit,
      overflow: fate === 'died',
      invalid: fate === 'invalid',
      error: error.message,
    }
  }

  async #isTooLarge(view: Conversation, bytes: number, limit: Limit): Promise<boolean> {
    const { provider, window, usage = true } = this.#options
    let { count } = this.#counter.measure(this.#model, view, bytes)
    if (count.high > limit.tokens) {
      await this.#tokenizers.load(this.#counter.familyOf(this.#model))
      count = this.#exact.measure(this.#model, view, bytes).count
    }
    this.#peakLoad = Math.max(this.#peakLoad, Math.round(count.tokens))
    const isOver = provider === undefined ? count.low > limit.tokens : provider.count(view) > window - this.#reserve
    // Where usage is reported the engine knows more of the size than this count does.
    if (!isOver && !usage && count.high > limit.tokens) this.#doubtful++
    return isOver || bytes > limit.bytes
  }

  measured() {
    const [peakLoad, fixedLoad, doubtful] = [this.#peakLoad, this.#fixedLoad, this.#doubtful]
    return {
      ...this.#meter.report(),
      handover: handoverOf(this.#compactions),
      fetchedAgain: this.#fetchedAgain,
      peakLoad,
      fixedLoad,
      doubtful,
    }
  }

  async close(): Promise<
    Pick<ReplayedSession, 'epochs' | 'log' | 'composition'> & {
      readonly lost: number
    }
  > {
    const found = await this.#epochs()
    const epochs = this.#declaredEpochs.map((event) => ({ ...event, edits: found.get(event.epoch)?.edits ?? [] }))
    const log = await foldedLog(this.#store, 'local', this.#session.id)
    const lost = this.#lastTakenIn === undefined ? 0 : lostItems(log, this.#codec, this.#lastTakenIn)
    await this.#plimsoll.close()
    return { epochs, lost, log, composition: new Composition(log, (text) => this.#countText(text)) }
  }

  #countText(text: string): number {
    return this.#counter.countText(this.#model, text).tokens
  }

  async #epochs(): Promise<ReadonlyMap<string, Epoch>> {
    const log = await this.#session.audit()
    return new Map(log.flatMap((entry): [string, Epoch][] => (entry.type === 'epoch' ? [[entry.id, entry]] : [])))
  }
}

/** The body as the client would send it, with the reserve as its output cap. */
function requestOf(codec: Codec, conversation: Conversation, reserve: number): string {
  if (conversation.settings.maxOutputTokens === undefined) return codec.encode(conversation).text
  return codec.encode(changeEnvelope(conversation, { maxOutputTokens: reserve })).text
}

/** Reads each body from where it differs from the previous one, and reuses the items that both begin with. */
function growingDecoder(codec: Codec): (text: string) => Conversation {
  let before: Conversation | undefined
  return (text) => (before = codec.decode(text, before))
}

/** Caches by object: items are immutable and occur again in every later body. */
function onceEach<T extends object>(of: (value: T) => number): (value: T) => number {
  const known = new WeakMap<T, number>()
  return (value) => {
    const found = known.get(value) ?? of(value)
    known.set(value, found)
    return found
  }
}

/** The parts of every view: the head, the tools, and instructions within the history. */
const fixedParts = (conversation: Conversation): Conversation => ({
  ...conversation,
  items: conversation.items.filter(({ kind }) => kind === 'instruction'),
})

function breaksNewRule(codec: Codec, sent: Conversation, original: Conversation): boolean {
  const broken = codec.check(codec.fields(sent))
  if (broken.length === 0) return false
  const before = new Set(codec.check(codec.fields(original)).map((violation) => violation.rule))
  return broken.some((violation) => !before.has(violation.rule))
}

/** Items of the transcript whose exact fragment is not in the archive. */
function lostItems({ items }: FoldedLog, codec: Codec, conversation: Conversation): number {
  const archived = new Set(items.map(({ fragment }) => fragment))
  const isKept = (text: string): boolean => text === '' || archived.has(text)
  return conversation.items.filter((item) => !isKept(codec.fragment(conversation, item))).length
}

const withoutClock = (recording: Recording): Recording => ({
  ...recording,
  calls: recording.calls.map((call) => ({ ...call, at: undefined })),
})

/** The outcome of a call that ended in an error. Only a refusal with numbers is an answer that the engine may give. */
type Fate = 'refused' | 'invalid' | 'died'

/** Errors about what does not fit, or about a budget that is used up. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'overflow',
  'fixed-overhead',
  'limit-not-positive',
  'budget-exceeded',
])

export function fateOf({ code }: PlimsollError): Fate {
  if (code === 'invalid-request') return 'invalid'
  return REFUSALS.has(code) ? 'refused' : 'died'
}
