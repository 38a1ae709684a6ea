import { createHash } from 'node:crypto'
import type { Codec } from '../../core/codec.ts'
import type { Count } from '../../core/count.ts'
import type { Conversation } from '../../core/conversation.ts'
import { changeEnvelope } from '../../core/edits.ts'
import { insertedTexts } from '../../core/epochs.ts'
import { isPlimsollError } from '../../core/errors.ts'
import type { EventSink } from '../../core/events.ts'
import type { Item } from '../../core/item.ts'
import type { Policy } from '../../core/policy.ts'
import type { Audit, Epoch } from '../../core/records.ts'
import type { Limit, Thresholds, VerdictKind } from '../../core/target.ts'
import type { Usage } from '../../core/usage.ts'
import { memoryArtifacts } from '../../drivers/artifacts/memory.ts'
import { memoryStore } from '../../drivers/sessions/memory.ts'
import { createTokenizers } from '../../drivers/tokenizers/index.ts'
import { COMPACT_READER } from '../../engine/readers/reader-tools.ts'
import { conversationView } from '../../lab/replay/conversation-view.ts'
import { HandoverTally, type Compaction, type Handover } from '../../lab/replay/handover.ts'
import { ReplayMeter } from '../../lab/replay/replay-meter.ts'
import { readableText } from '../../lab/replay/source.ts'
import { codecs, framingOfWire } from '../../formats/registry.ts'
import type { RecordedCall, Recording } from '../../lab/transcripts/recording.ts'
import type { Session } from '../../engine/session/session.ts'
import { createMeter } from '../../meter/index.ts'
import { createPlimsoll } from '../../compose/plimsoll.ts'
import { knownModels } from '../catalogue.ts'
import { fateOf } from './fate.ts'
import { partsOf } from './parts-of.ts'
import { referenceTokens, type ReferenceTokens } from './reference-tokens.ts'

export interface ReplayOptions {
  readonly window: number
  readonly policy: string | Policy
  /** Prices and tokenizer. @default the recording's own, else claude-sonnet-4-5 */
  readonly model?: string
  /** Tokens held back for the answer; recordings do not tell what their client asked for. @default 1024 */
  readonly reserve?: number
  /** Declares `recall` as a proxy would: at once where it is cheap, else as soon as something is taken out. @default true */
  readonly readers?: boolean
  /** Lets caches expire as the recorded clock says. Without it every prefix is warm. @default false */
  readonly clock?: boolean
  /**
   * What the provider would have counted: so many times the tokens of a public vocabulary. Requests above the window by that count are
   * overflows. @default the least that the meter says it may be, against the limit
   */
  readonly reference?: number
  /** Each answer reports the reference's count, as providers do. @default false */
  readonly reportsUsage?: boolean
  readonly onCall?: (call: ReplayedStep) => void
  readonly onEvent?: EventSink
  /** Each compaction with what it covered and what it put in. */
  readonly onCompaction?: (compaction: ReplayedCompaction) => void
  /** At the end: every cut and every epoch, oldest first. */
  readonly onAudit?: (log: readonly (Audit | Epoch)[]) => void
}

export interface ReplayedCompaction extends Compaction {
  readonly call: number
  readonly epoch: Epoch
}

export interface ReplayedStep {
  readonly call: number
  readonly calls: number
  readonly load: number
  readonly limit: number
  /** Absent when the engine refused the request, like the parts. */
  readonly thresholds?: Thresholds
  /** Tokens of the prompt by what they are; they add up to the load. */
  readonly parts?: Readonly<Record<string, number>>
  readonly epoch?: string
  /** Absent when the engine refused the request. */
  readonly verdict?: VerdictKind
  readonly overflow: boolean
  readonly invalid: boolean
  /** Why the engine refused the request. */
  readonly error?: string
}

/** One object per file and policy, as `replay --json` prints it. */
export interface ReplayResult {
  readonly file: string
  readonly format: string
  readonly policy: string
  readonly window: number
  readonly limit: number
  readonly calls: number
  readonly messages: number
  /** Requests that left above their limit in tokens or bytes, and calls that died of anything but the typed refusal. */
  readonly overflows: number
  /** Requests that left although they may be above it, by the upper bound of the count: nothing was left to reduce, and the provider decides. */
  readonly doubtful: number
  readonly invalid: number
  readonly lost: number
  /** Calls that no reduction could make fit: the caller gets an error that names the largest parts, and nothing is sent. */
  readonly refused: number
  /** Upper bound of instructions and tools, which no policy may cut; of the call with the most. */
  readonly fixedLoad: number
  readonly epochs: number
  readonly summarizerCalls: number
  readonly peakLoad: number
  readonly quoteRecall: number
  readonly nameRecall: number
  readonly recoverableRecall: number
  /** What compactions left for whoever goes on. */
  readonly handover: Handover
  readonly costUsd: number
  readonly unmanagedCostUsd: number
  readonly cacheHitRate: number
  /** Hash over the bytes of all requests that left: two runs of the same recording give the same. */
  readonly requestsHash: string
  readonly ms: number
}

const DEFAULT_MODEL = 'claude-sonnet-4-5'

/** Lives a recorded session again, call by call, under a policy. The engine sees only the past; the measures see the answer. */
export async function replayRecording(recording: Recording, options: ReplayOptions): Promise<ReplayResult> {
  const { window, reserve = 1_024, readers = true } = options
  const startedAt = performance.now()
  const codec = codecs.get(recording.wire)!
  const catalogue = knownModels()
  const model = options.model ?? recording.model ?? DEFAULT_MODEL
  const price = catalogue.resolve(model).info.price ?? catalogue.resolve(DEFAULT_MODEL).info.price!
  const counter = createMeter({ catalogue, framingOf: framingOfWire })
  const countText = (text: string): number => counter.countText(model, text).tokens
  const source = options.clock === true ? recording : withoutClock(recording)
  const meter = new ReplayMeter(source, { price, countText })
  const sessions = memoryStore()
  const secret = Buffer.alloc(32, 1)
  const plimsoll = createPlimsoll({
    policy: options.policy,
    store: sessions,
    artifacts: memoryArtifacts({ secret }),
    secret,
    catalogue,
    ...(options.onEvent !== undefined && { onEvent: options.onEvent }),
  })
  const session = plimsoll.session({ id: 'replay' })
  const target = { model, window, maxOutputTokens: reserve }
  const tokenizers = createTokenizers()
  const exact = createMeter({ catalogue, framingOf: framingOfWire, tokenizerFor: tokenizers.get })
  /** Counted from what leaves, not taken from the engine's word; exactly, where an estimate leaves it open and a vocabulary is there. */
  const reference = options.reference === undefined ? undefined : await referenceTokens(tokenizers, options.reference)
  const countOf = async (view: Conversation, bytes: number, most: Limit): Promise<Count> => {
    const { count } = counter.measure(model, view, bytes)
    if (count.high <= most.tokens) return count
    await tokenizers.load(counter.familyOf(model))
    return exact.measure(model, view, bytes).count
  }
  const tokensOf = onceEach((item: Item) => counter.countItem(model, item).tokens)
  const decoder = {
    original: growingDecoder(codec),
    asked: growingDecoder(codec),
    view: growingDecoder(codec),
  }
  let limit = 0
  // Peak and overflows come from this one count of what leaves.
  let peakLoad = 0
  let fixedLoad = 0
  let doubtful = 0
  let last: Conversation | undefined
  const handover = new HandoverTally()
  const records = new Set<string>()
  /** Tools of ours that the requests so far had, as a proxy would remember. */
  let declared: readonly string[] | undefined
  const sent = createHash('sha256')
  for (const call of recording.calls) {
    const original = decoder.original(call.body())
    const body = requestOf(codec, original, reserve)
    const asked = decoder.asked(body)
    fixedLoad = Math.max(fixedLoad, Math.ceil(counter.measure(model, fixedParts(asked), 0).count.high))
    const tools = original.tools.map(({ text }) => ({ text, tokens: countText(text) }))
    try {
      const turn = await session.prepare({
        format: codec.format,
        body,
        conversation: asked,
        targets: [target],
        ...(readers && { tools: { tools: [COMPACT_READER], ...(declared !== undefined && { declared }) } }),
      })
      declared = turn.declared
      limit = turn.limit.tokens
      // What was refused was never sent and is the client's alone; only what was taken in can be lost.
      last = asked
      const view = decoder.view(turn.text)
      sent.update(turn.text)
      if (reference !== undefined && options.reportsUsage === true)
        await session.record({ turn: turn.id, usage: usageOf(reference, view, call) })
      const bytes = view.bytes ?? Buffer.byteLength(turn.text)
      const count = await countOf(view, bytes, turn.limit)
      peakLoad = Math.max(peakLoad, Math.round(count.tokens))
      const isOver =
        reference === undefined ? count.low > turn.limit.tokens : reference.request(view) > window - reserve
      if (!isOver && count.high > turn.limit.tokens) doubtful++
      const overflow = bytes > turn.limit.bytes || isOver
      const invalid = !turn.report.untouched && breaksNewRule(codec, view, asked)
      const counted = conversationView(view, tokensOf, countText)
      meter.add(call.index, {
        ...counted,
        ...(readers && { reachable: asked.items.map(readableText) }),
        tools,
        overflow,
        invalid,
        epochs: turn.report.newEpoch === undefined ? 0 : 1,
      })
      const epoch = turn.report.newEpoch && (await epochOf(session, turn.report.newEpoch.id))
      if (epoch !== undefined) {
        const compaction = { before: asked.items, after: view.items, inserted: insertedTexts(epoch) }
        handover.add(compaction)
        for (const text of compaction.inserted) records.add(text)
        options.onCompaction?.({ ...compaction, call: call.index, epoch })
      }
      options.onCall?.({
        call: call.index,
        calls: recording.calls.length,
        load: turn.load.count.high,
        limit,
        thresholds: turn.report.thresholds,
        parts: partsOf(view, counted, { load: turn.load.count.high, records }),
        verdict: turn.verdict.kind,
        overflow,
        invalid,
        ...(turn.report.newEpoch !== undefined && { epoch: turn.report.newEpoch.id }),
      })
    } catch (error) {
      if (!isPlimsollError(error)) throw error
      const fate = fateOf(error)
      const [invalid, died] = [fate === 'invalid', fate === 'died']
      const { needed, limit: refusedAt } = error.fields
      if (typeof refusedAt === 'number') limit = refusedAt
      meter.add(call.index, { pieces: [], texts: [], tools, refused: fate === 'refused', overflow: died, invalid })
      options.onCall?.({
        call: call.index,
        calls: recording.calls.length,
        load: typeof needed === 'number' ? needed : 0,
        limit,
        overflow: died,
        invalid,
        error: error.message,
      })
    }
  }
  const lost = last === undefined ? 0 : await lostItems(sessions, codec, last)
  options.onAudit?.(await session.audit())
  await plimsoll.close()
  const report = meter.report()
  return {
    file: recording.name === undefined ? recording.file : `${recording.file}#${recording.name}`,
    format: recording.format,
    policy: typeof options.policy === 'string' ? options.policy : options.policy.name,
    window,
    limit,
    ...report,
    handover: handover.total(),
    peakLoad,
    fixedLoad,
    doubtful,
    lost: report.lost + lost,
    requestsHash: sent.digest('hex'),
    ms: Math.round(performance.now() - startedAt),
  }
}

/** As a provider reports it that counts by the reference; the recorded answer is what it wrote. */
function usageOf(reference: ReferenceTokens, view: Conversation, { response }: RecordedCall): Usage {
  const output = reference.answer(response.parts)
  return { input: reference.request(view), cacheRead: 0, cacheWrite: 0, output, reasoning: 0 }
}

async function epochOf(session: Pick<Session, 'audit'>, id: string): Promise<Epoch | undefined> {
  return (await session.audit()).find((entry): entry is Epoch => entry.type === 'epoch' && entry.id === id)
}

/** The body as the client would send it, with the reserve as its output cap. */
function requestOf(codec: Codec, conversation: Conversation, reserve: number): string {
  const asked = conversation.settings.maxOutputTokens !== undefined
  const changed = changeEnvelope(conversation, {
    ...(asked && { maxOutputTokens: reserve }),
  })
  return codec.encode(changed).text
}

/** Each body is read from where it parts from the one before, and keeps the items that both begin with. */
function growingDecoder(codec: Codec): (text: string) => Conversation {
  let before: Conversation | undefined
  return (text) => (before = codec.incremental?.decode(text, before) ?? codec.decode(text))
}

/** Items are immutable and come again in every later body. */
function onceEach<T extends object>(of: (value: T) => number): (value: T) => number {
  const known = new WeakMap<T, number>()
  return (value) => {
    const found = known.get(value) ?? of(value)
    known.set(value, found)
    return found
  }
}

/** What stands in every view: the head, the tools, and instructions inside the history. */

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

/** Items of the transcript whose exact fragment the archive does not hold. */
async function lostItems(
  store: ReturnType<typeof memoryStore>,
  codec: Codec,
  conversation: Conversation,
): Promise<number> {
  const archived = new Set<string>()
  for await (const { record } of store.read('local', 'replay'))
    if (record.type === 'item-seen') archived.add(record.fragment)
  const isKept = (text: string): boolean => text === '' || archived.has(text)
  return conversation.items.filter((item) => !isKept(codec.fragment(conversation, item))).length
}

function withoutClock(recording: Recording): Recording {
  const calls = recording.calls.map((call) => {
    const copy: { -readonly [Key in keyof RecordedCall]: RecordedCall[Key] } = { ...call }
    delete copy.at
    return copy
  })
  return { ...recording, calls }
}
