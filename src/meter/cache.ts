import {
  type CacheLife,
  type CacheMiss,
  type CacheSeen,
  type CacheState,
  cacheStateAt,
  DEFAULT_LIFE,
  lifeWritten,
} from '../core/cache.ts'
import type { Codec } from '../core/codec.ts'
import type { Conversation } from '../core/conversation.ts'
import type { Item } from '../core/item.ts'
import { costOfUsage, type PriceModel, ratesFor } from '../core/price.ts'
import type { Usage } from '../core/usage.ts'
import { recordOf } from '../core/values.ts'
import { BoundedMap } from '../util/bounded-map.ts'

/** Fewer tokens than this, or than this share, are no miss: providers cut what they keep into blocks. */
const LEAST_MISSED = 1_024
const LEAST_SHARE = 0.1
/** Anthropic looks back over so many blocks from each of its marks. */
const LOOK_BACK = 20
const SHOWN_CHARACTERS = 80

/** What of an item tells whether it is the same. */
type PromptItem = Pick<Item, 'text' | 'callId' | 'media'> & { readonly kind: string }

/** A part of a prompt, in the order in which providers cache it. */
interface PromptPart {
  readonly text: string
  /** Items come again as the same objects. */
  readonly item?: PromptItem
  /** We put it there: a tool of ours, a record, a view of a result. */
  readonly isOurs: boolean
}

/** What is remembered of a prompt that left, to compare the next one with. */
export interface SentPrompt {
  readonly parts: readonly PromptPart[]
  /** Members of the request that steer the answer, as JSON: a change of some of them empties the cache. */
  readonly settings: ReadonlyMap<string, string>
  readonly marks: readonly string[]
}

/** Members that say what is sent, or that no cache depends on. */
const NO_SETTINGS = new Set(
  (
    'messages input contents system instructions systemInstruction system_instruction tools stream stream_options max_tokens max_output_tokens ' +
    'max_completion_tokens metadata user temperature top_p top_k stop stop_sequences seed cache_control previous_response_id store request diagnostics ' +
    'generationConfig generation_config'
  ).split(' '),
)

export function sentPrompt(codec: Codec, conversation: Conversation): SentPrompt {
  const { tools, head, items, changes, settings } = conversation
  const added = changes?.addTools ?? []
  const partOf = (item: Item): PromptPart => ({
    text: item.text,
    item,
    isOurs: item.message < 0 || item.edited === true,
  })
  const isHeld = settings.previousResponseId !== undefined || settings.conversationId !== undefined
  const parts = [
    ...tools.map(({ text }): PromptPart => ({ text: copyOf(text), isOurs: false })),
    ...added.map((tool): PromptPart => ({ text: JSON.stringify(tool), isOurs: true })),
    ...head.map((item) => ({ ...partOf(item), isOurs: false })),
    ...items.map(partOf),
  ]
  const fields = Object.entries(recordOf(codec.fields(conversation)) ?? {})
  return {
    parts: isHeld ? [] : parts,
    settings: new Map(
      fields.flatMap(([key, value]) => (NO_SETTINGS.has(key) ? [] : [[key, JSON.stringify(value)] as const])),
    ),
    marks: settings.marks ?? [],
  }
}

/** Where a part of a prompt stands, in the words of its wire. */
export function placeIn(codec: Codec, conversation: Conversation, at: number): string {
  const { tools, head, items, changes } = conversation
  const toolCount = tools.length + (changes?.addTools ?? []).length
  if (at < toolCount) return `tools[${at}]`
  if (at < toolCount + head.length) return `system[${at - toolCount}]`
  const item = items[at - toolCount - head.length]
  if (item === undefined) return 'the end'
  return codec.placeOf(conversation, item) ?? 'what was inserted'
}

/** A slice would keep the whole body in memory. */
const copyOf = (text: string): string => Buffer.from(text).toString()

/** Where two prompts part: the number of parts that both begin with, and the first that differs. */
interface Parting {
  readonly shared: number
  readonly before?: PromptPart
  readonly after?: PromptPart
}

/** Undefined where the one before is the beginning of the other. */
function partingOf(before: SentPrompt, after: SentPrompt): Parting | undefined {
  // Of a history that the provider holds there is nothing to compare.
  if (before.parts.length === 0 || after.parts.length === 0) return undefined
  const at = before.parts.findIndex((part, index) => !isSame(part, after.parts[index]))
  if (at < 0) return undefined
  return { shared: at, before: before.parts[at], after: after.parts[at] }
}

const isSame = (a: PromptPart, b: PromptPart | undefined): boolean =>
  b !== undefined &&
  ((a.item !== undefined && a.item === b.item) ||
    (a.text === b.text &&
      a.item?.kind === b.item?.kind &&
      a.item?.callId === b.item?.callId &&
      a.item?.media?.[0]?.data === b.item?.media?.[0]?.data))

/** The call before, as far as its cache goes. */
export interface CachedCall {
  readonly at: number
  readonly model: string
  readonly endpoint?: string
  readonly usage: Usage
  readonly life: CacheLife
  readonly epoch?: string
  /** Tokens that the client sent and we did not. */
  readonly removed?: number
  /** Absent where another process made the call. */
  readonly prompt?: SentPrompt
}

/** A request that is about to leave. */
export interface LeavingCall extends Pick<CachedCall, 'at' | 'model' | 'endpoint' | 'epoch'> {
  readonly prompt: SentPrompt
  readonly price?: PriceModel
  /** How long the request asks for. */
  readonly asked?: CacheLife
  /** Relative sizes of its parts. */
  readonly sizeOf: (item: PromptItem) => number
  /** Where one of its parts stands, in the wire's words. */
  readonly placeOf: (part: number) => string
  /** Takes secrets out of what is shown of a change. @default nothing */
  readonly redact?: (text: string) => string
}

/** What is expected of a request's cache; what came of it is known with the answer. */
export interface CacheExpectation extends Omit<CacheSeen, 'miss'> {
  readonly call: LeavingCall
  readonly before?: CachedCall
  readonly parting?: Parting
  /** The share of the prompt before that this one begins with. */
  readonly sharedShare: number
}

/** Lifetimes of one process: what the request and the catalogue say, corrected by what answers show. */
export class CacheLives {
  readonly #known = new BoundedMap<string, { readonly life: CacheLife; readonly misses: readonly number[] }>(1_000)

  life(where: Pick<CachedCall, 'model' | 'endpoint'>, nominal: CacheLife): CacheLife {
    return this.#known.get(keyOf(where, nominal))?.life ?? nominal
  }

  /** A prefix that nobody changed was read at this age, or was not. */
  observe(where: Pick<CachedCall, 'model' | 'endpoint'>, nominal: CacheLife, age: number, wasRead: boolean): void {
    const key = keyOf(where, nominal)
    const { life, misses } = this.#known.get(key) ?? { life: nominal, misses: [] }
    if (wasRead) {
      const isLater = age > life.least
      const longer = isLater ? { least: age, most: Math.max(age, life.most) } : life
      // What lived longer refutes the early ends.
      this.#known.set(key, { life: longer, misses: misses.filter((miss) => miss > age) })
    } else if (age > nominal.least) {
      const { least, most } = nominal
      this.#known.set(key, { life: { least, most: Math.min(age, most) }, misses })
    } else {
      const ends = [...misses, age]
      const end = Math.min(...ends)
      const isWrong = ends.length >= MOST_EARLY_ENDS
      this.#known.set(key, isWrong ? { life: { least: end, most: end }, misses: [] } : { life, misses: ends })
    }
  }
}

/** So many ends before the supposed one, with none that refutes them, and the supposed one was wrong. */
const MOST_EARLY_ENDS = 3

const keyOf = ({ model, endpoint = '' }: Pick<CachedCall, 'model' | 'endpoint'>, { least, most }: CacheLife): string =>
  JSON.stringify([endpoint, model, least, most])

/**
 * What the call before left in the cache. With marks that is what it read and wrote, elsewhere the whole prompt; nothing where neither a price nor
 * an answer says that there is a cache, since local servers do not tell.
 */
function leftBy({ usage }: CachedCall, price: PriceModel | undefined): number {
  const told = usage.cacheRead + usage.cacheWrite
  const isWhole = price?.caching === 'automatic' && usage.cacheWrite === 0
  return isWhole ? usage.input : told
}

/** The prompt before was too short to be cached at all, although it was meant to be. */
function wasTooShort({ usage, prompt }: CachedCall, price: PriceModel | undefined): boolean {
  if (price?.cacheRead === undefined || usage.input >= (price.cacheMinimum ?? LEAST_MISSED)) return false
  return price.caching !== 'marks' || (prompt?.marks ?? []).length > 0
}

export const nominalLife = (asked: CacheLife | undefined, price: PriceModel | undefined): CacheLife =>
  asked ?? price?.cacheLife ?? DEFAULT_LIFE

/** Before a request leaves. Without a call before it, nothing is expected. */
export function expectCache(lives: CacheLives, call: LeavingCall, before: CachedCall | undefined): CacheExpectation {
  if (before === undefined)
    return {
      predicted: 'cold',
      ageSeconds: 0,
      life: nominalLife(call.asked, call.price),
      expected: 0,
      call,
      sharedShare: 0,
    }
  const ageSeconds = Math.max(0, call.at - before.at) / 1_000
  const isElsewhere = before.model !== call.model || before.endpoint !== call.endpoint
  const life = lives.life(before, before.life)
  const parting = before.prompt && partingOf(before.prompt, call.prompt)
  const sharedShare = isElsewhere ? 0 : parting === undefined ? 1 : shareOf(parting, before.prompt!, call.sizeOf)
  const expected = leftBy(before, call.price)
  const state: CacheState =
    wasTooShort(before, call.price) || sharedShare < 0.5 ? 'cold' : cacheStateAt(ageSeconds, life)
  return { predicted: state, ageSeconds, life, expected, call, before, parting, sharedShare }
}

function shareOf({ shared }: Parting, { parts }: SentPrompt, sizeOf: (item: PromptItem) => number): number {
  // The text of tools and instructions stands for its size: four characters make a token, more or less.
  const sizes = parts.map(({ item, text }) => (item === undefined ? text.length / 4 : sizeOf(item)))
  const sum = (list: readonly number[]): number => list.reduce((all, size) => all + size, 0)
  const all = sum(sizes)
  return all === 0 ? 1 : sum(sizes.slice(0, shared)) / all
}

/** With the answer: whether less was read than could be, and why. `said`: what the provider itself calls the reason. */
export function seenCache(lives: CacheLives, expectation: CacheExpectation, usage: Usage, said?: string): CacheSeen {
  const { predicted, ageSeconds, life, expected, call, before, sharedShare } = expectation
  const seen = { predicted, ageSeconds, life, expected }
  if (before === undefined) return seen
  const tokens = expected - usage.cacheRead
  const isTooShort = wasTooShort(before, call.price)
  const wasRead = usage.cacheRead >= expected / 2
  // Where the head was still read, the rest was not too old: something changed that we do not see.
  const isTelling = wasRead || usage.cacheRead === 0 || ageSeconds > life.least
  if (!isTooShort && sharedShare === 1 && expected > 0 && isTelling)
    lives.observe(before, before.life, ageSeconds, wasRead)
  if (isTooShort ? usage.cacheRead > 0 : tokens < Math.max(LEAST_MISSED, LEAST_SHARE * expected)) return seen
  const cause = isTooShort ? ({ cause: 'too-short' } as const) : causeOf(expectation, usage)
  const missed = isTooShort ? before.usage.input : tokens
  return { ...seen, miss: { ...cause, tokens: missed, usd: dearer(missed, usage, call.price), provider: said } }
}

/** What tokens cost more than if they had been read. */
function dearer(tokens: number, usage: Usage, price: PriceModel | undefined): number | undefined {
  if (price === undefined) return undefined
  const { input, cacheRead = input } = ratesFor(usage.input, price)
  const written = Math.min(tokens, usage.cacheWrite)
  const inFull = costOfUsage(
    {
      ...usage,
      input: tokens,
      cacheRead: 0,
      cacheWrite: written,
      cacheWriteLong: Math.min(written, usage.cacheWriteLong ?? 0),
      output: 0,
    },
    price,
  )
  return Math.max(0, inFull - (tokens * cacheRead) / 1_000_000)
}

type Cause = Omit<CacheMiss, 'tokens' | 'usd' | 'provider'>

function causeOf(
  { ageSeconds, life, expected, call, before, parting, sharedShare }: CacheExpectation,
  usage: Usage,
): Cause {
  const { model, endpoint, epoch, prompt } = before!
  if (model !== call.model || endpoint !== call.endpoint) {
    // The client chooses the model, and we choose where it goes.
    if (model === call.model) return { cause: 'ours', path: 'endpoint', before: endpoint, after: call.endpoint }
    return { cause: 'client', path: 'model', before: model, after: call.model }
  }
  const isOld = ageSeconds > life.least
  // Of what is the same nothing was read either, and that is more than what has changed.
  const isExpired = isOld && usage.cacheRead === 0 && sharedShare > 0.5
  if (parting !== undefined && !isExpired) {
    // A change near the end explains no miss of what stands before it.
    const readable = expected * readableShare(parting, prompt!, call)
    const isRead = usage.cacheRead >= readable / 2 || readable < (call.price?.cacheMinimum ?? LEAST_MISSED)
    // What a compaction puts in may join the message in front of it.
    if (isRead || epoch !== call.epoch) return changedBy(parting, epoch, call)
  }
  if (isOld && usage.cacheRead < expected / 2) return { cause: 'expiry' }
  if (prompt === undefined) return { cause: isOld ? 'expiry' : 'unknown' }
  const changed = settingChanged(prompt, call.prompt)
  if (changed !== undefined) return changed
  const mark = markLost(prompt, call)
  if (mark !== undefined) return mark
  return { cause: isOld ? 'expiry' : 'provider' }
}

/** The share of the prompt before that can still be read although the rest has changed: with marks, up to the last one in front of the change. */
function readableShare({ shared }: Parting, before: SentPrompt, { price, placeOf, sizeOf }: LeavingCall): number {
  if (price?.caching !== 'marks') return shareOf({ shared }, before, sizeOf)
  const marks = new Set(before.marks)
  let last = shared - 1
  while (last >= 0 && !marks.has(placeOf(last))) last--
  return shareOf({ shared: last + 1 }, before, sizeOf)
}

function changedBy(
  { shared, before, after }: Parting,
  was: string | undefined,
  { epoch, placeOf, redact = (text) => text }: LeavingCall,
): Cause {
  const path = placeOf(shared)
  // What is no item stands in front of the history, where no compaction reaches.
  const isHistory = (after ?? before)?.item !== undefined && (after ?? before)?.item?.kind !== 'instruction'
  if (epoch !== was && isHistory) return { cause: 'ours', epoch: epoch ?? was, path }
  const isOurs = after?.isOurs === true || before?.isOurs === true
  const texts = shortly(before && redact(before.text), after && redact(after.text))
  return { cause: isOurs ? 'ours' : 'client', path, ...texts }
}

/** Both texts from a little before where they part. */
function shortly(before: string | undefined, after: string | undefined): Pick<CacheMiss, 'before' | 'after'> {
  const [a = '', b = ''] = [before, after]
  let at = 0
  while (at < a.length && at < b.length && a[at] === b[at]) at++
  const from = Math.max(0, at - SHOWN_CHARACTERS / 4)
  const cut = (text: string | undefined): string | undefined => text?.slice(from, from + SHOWN_CHARACTERS)
  return { before: cut(before), after: cut(after) }
}

/** Longer members may hold what is nobody's to read, such as the credentials of a tool server. */
const isPlain = (json = ''): boolean => /^[\w.,:{}"-]{0,60}$/.test(json)

function settingChanged(before: SentPrompt, after: SentPrompt): Cause | undefined {
  for (const key of new Set([...before.settings.keys(), ...after.settings.keys()])) {
    const [was, is] = [before.settings.get(key), after.settings.get(key)]
    if (was === is) continue
    const isShown = isPlain(was) && isPlain(is)
    return { cause: 'client', path: key, ...(isShown ? shortly(was, is) : {}) }
  }
  return undefined
}

/** The client took its marks away, or moved the last one so far that the provider does not look back to where it was. */
function markLost(before: SentPrompt, { prompt: after, placeOf }: LeavingCall): Cause | undefined {
  const last = before.marks.at(-1)
  if (last === undefined) return undefined
  if (after.marks.length === 0) return { cause: 'client', path: last, before: 'a cache mark', after: 'none' }
  const places = new Map(after.parts.map((_, at) => [placeOf(at), at]))
  const from = places.get(last)
  const isReached = after.marks.some((path) => {
    const place = places.get(path)
    return place === undefined || from === undefined || (place >= from && place - from < LOOK_BACK)
  })
  if (isReached) return undefined
  return {
    cause: 'client',
    path: after.marks.at(-1)!,
    before: `a cache mark at ${last}`,
    after: 'a cache mark too far behind',
  }
}

/** The call as the next one finds it. */
export const cachedCall = (
  { call, before }: CacheExpectation,
  usage: Usage,
  at: number,
  removed?: number,
): CachedCall => {
  const { model, endpoint, epoch, prompt, asked, price } = call
  const earlier = before?.model === model && before.endpoint === endpoint ? before.life : undefined
  // What usage reports is surer than what the request asked for, and it tells only of what was written now.
  const written = price?.caching === 'marks' ? lifeWritten(usage) : undefined
  const life = written ?? asked ?? earlier ?? nominalLife(asked, price)
  return { at, model, endpoint, epoch, prompt, usage, life, removed }
}
