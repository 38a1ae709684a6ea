import {
  type CacheLife,
  type CacheMiss,
  type CacheSeen,
  cacheStateAt,
  DEFAULT_LIFE,
  LONG_LIFE,
  SHORT_LIFE,
} from '../core/cache.ts'
import type { Codec } from '../core/codec.ts'
import type { Conversation } from '../core/conversation.ts'
import type { Item } from '../core/item.ts'
import { type PriceModel, ratesFor } from '../core/price.ts'
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
  /** Absent for tools. Items come again as the same objects. */
  readonly item?: PromptItem
  /** We put it there: a tool of ours, a record, a view of a result. */
  readonly isOurs?: boolean
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
    'prompt_cache_options generationConfig generation_config'
  ).split(' '),
)

export function sentPrompt(codec: Codec, conversation: Conversation): SentPrompt {
  const { tools, head, items, changes, settings } = conversation
  const ours = new Set(changes?.addTools?.map(({ name }) => name))
  const isHeld = settings.previousResponseId !== undefined || settings.conversationId !== undefined
  const parts: PromptPart[] = [
    // A slice would keep the whole body in memory.
    ...tools.map(({ name, text }) => ({ text: Buffer.from(text).toString(), isOurs: ours.has(name) })),
    ...head.map((item) => ({ text: item.text, item })),
    ...items.map((item) => ({ text: item.text, item, isOurs: item.message < 0 || item.edited === true })),
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
  const { tools, head, items } = conversation
  if (at < tools.length) return `tools[${at}]`
  if (at < tools.length + head.length) return `system[${at - tools.length}]`
  const item = items[at - tools.length - head.length]
  if (item === undefined) return 'the end'
  return codec.placeOf(conversation, item) ?? 'what was inserted'
}

/** The first part in which two prompts differ; undefined where the one before is the beginning of the other. */
function partingOf(before: SentPrompt, after: SentPrompt): number | undefined {
  // Of a history that the provider holds there is nothing to compare.
  if (before.parts.length === 0 || after.parts.length === 0) return undefined
  const at = before.parts.findIndex((part, index) => !isSame(part, after.parts[index]))
  return at < 0 ? undefined : at
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
  /** The provider's id of the answer. */
  readonly response?: string
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
  /** The first part that differs from the prompt before. */
  readonly parting?: number
  /** The share of the prompt before that this one begins with. */
  readonly sharedShare: number
}

/** So many ends before the supposed one, with none that refutes them, and the supposed one was wrong. */
const MOST_EARLY_ENDS = 3

/** Lifetimes of one process: what the request and the catalogue say, corrected by what answers show. */
export class CacheLives {
  readonly #known = new BoundedMap<string, { readonly life: CacheLife; readonly misses: readonly number[] }>(1_000)

  life(where: Pick<CachedCall, 'model' | 'endpoint'>, nominal: CacheLife): CacheLife {
    return this.#known.get(keyOf(where, nominal))?.life ?? nominal
  }

  /** An unchanged prefix was read at this age, or was not. */
  observe(where: Pick<CachedCall, 'model' | 'endpoint'>, nominal: CacheLife, age: number, wasRead: boolean): void {
    const key = keyOf(where, nominal)
    const { life, misses } = this.#known.get(key) ?? { life: nominal, misses: [] }
    if (wasRead) {
      const longer = age > life.least ? { least: age, most: Math.max(age, life.most) } : life
      // What lived longer refutes the early ends.
      this.#known.set(key, { life: longer, misses: misses.filter((miss) => miss > age) })
    } else if (age > nominal.least) {
      this.#known.set(key, { life: { least: nominal.least, most: Math.min(age, nominal.most) }, misses })
    } else {
      const ends = [...misses, age]
      const end = Math.min(...ends)
      const isWrong = ends.length >= MOST_EARLY_ENDS
      this.#known.set(key, isWrong ? { life: { least: end, most: end }, misses: [] } : { life, misses: ends })
    }
  }
}

const keyOf = ({ model, endpoint = '' }: Pick<CachedCall, 'model' | 'endpoint'>, { least, most }: CacheLife): string =>
  JSON.stringify([endpoint, model, least, most])

/**
 * What the call before left in the cache. With marks that is what it read and wrote, elsewhere the whole prompt; nothing where neither a price nor
 * an answer says that there is a cache, since local servers do not tell.
 */
function leftBy({ usage }: CachedCall, price: PriceModel | undefined): number {
  const isWhole = price?.caching === 'automatic' && usage.cacheWrite === 0
  return isWhole ? usage.input : usage.cacheRead + usage.cacheWrite
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
  if (before === undefined) {
    const life = nominalLife(call.asked, call.price)
    return { predicted: 'cold', ageSeconds: 0, life, expected: 0, call, sharedShare: 0 }
  }
  const ageSeconds = Math.max(0, call.at - before.at) / 1_000
  const life = lives.life(before, before.life)
  const parting = before.prompt && partingOf(before.prompt, call.prompt)
  const isElsewhere = before.model !== call.model || before.endpoint !== call.endpoint
  const sharedShare = isElsewhere ? 0 : parting === undefined ? 1 : shareOf(before.prompt!, parting, call)
  const isGone = wasTooShort(before, call.price) || sharedShare < 0.5
  const predicted = isGone ? 'cold' : cacheStateAt(ageSeconds, life)
  return { predicted, ageSeconds, life, expected: leftBy(before, call.price), call, before, parting, sharedShare }
}

/** The share of a prompt that its first parts are. */
function shareOf({ parts }: SentPrompt, count: number, { sizeOf }: Pick<LeavingCall, 'sizeOf'>): number {
  let [first, all] = [0, 0]
  for (const [at, { item, text }] of parts.entries()) {
    // The text of tools stands for their size: four characters make a token, more or less.
    const size = item === undefined ? text.length / 4 : sizeOf(item)
    all += size
    if (at < count) first += size
  }
  return all === 0 ? 1 : first / all
}

/** With the answer: whether less was read than could be, and why. `said`: what the provider itself calls the reason. */
export function seenCache(lives: CacheLives, expectation: CacheExpectation, usage: Usage, said?: string): CacheSeen {
  const { predicted, ageSeconds, life, expected, call, before, sharedShare } = expectation
  const seen = { predicted, ageSeconds, life, expected }
  if (before === undefined) return seen
  const isTooShort = wasTooShort(before, call.price)
  const wasRead = usage.cacheRead >= expected / 2
  // Where the head was still read, the rest was not too old: something changed that we do not see.
  const isTelling = wasRead || usage.cacheRead === 0 || ageSeconds > life.least
  if (!isTooShort && sharedShare === 1 && expected > 0 && isTelling)
    lives.observe(before, before.life, ageSeconds, wasRead)
  const tokens = isTooShort ? before.usage.input : expected - usage.cacheRead
  if (isTooShort ? usage.cacheRead > 0 : tokens < Math.max(LEAST_MISSED, LEAST_SHARE * expected)) return seen
  const cause: Cause = isTooShort ? { cause: 'too-short' } : causeOf(expectation, usage, said)
  return { ...seen, miss: { ...cause, tokens, usd: dearer(tokens, usage, call.price), provider: said } }
}

/** What tokens cost more than if they had been read, in dollars. */
function dearer(tokens: number, usage: Usage, price: PriceModel | undefined): number | undefined {
  if (price === undefined) return undefined
  const { input, cacheRead = input, cacheWrite = input, cacheWriteLong = cacheWrite } = ratesFor(usage.input, price)
  const written = Math.min(tokens, usage.cacheWrite)
  const writeRate = (usage.cacheWriteLong ?? 0) > 0 ? cacheWriteLong : cacheWrite
  return Math.max(0, (tokens - written) * input + written * writeRate - tokens * cacheRead) / 1_000_000
}

type Cause = Omit<CacheMiss, 'tokens' | 'usd' | 'provider'>

function causeOf(expectation: CacheExpectation, { cacheRead }: Usage, said: string | undefined): Cause {
  const { ageSeconds, life, expected, call, parting, sharedShare } = expectation
  const { model, endpoint, epoch, prompt } = expectation.before!
  if (model !== call.model) return { cause: 'client', path: 'model', before: model, after: call.model }
  // The client chooses the model, and we choose where it goes.
  if (endpoint !== call.endpoint) return { cause: 'ours', path: 'endpoint', before: endpoint, after: call.endpoint }
  const isOld = ageSeconds > life.least
  // Of what is the same nothing was read either, and that is more than what has changed.
  const isExpired = isOld && cacheRead === 0 && sharedShare > 0.5
  if (prompt !== undefined && parting !== undefined && !isExpired) {
    // A change near the end explains no miss of what stands before it.
    const readable = expected * shareOf(prompt, lastReadable(prompt, parting, call), call)
    const isRead = cacheRead >= readable / 2 || readable < (call.price?.cacheMinimum ?? LEAST_MISSED)
    // What a compaction puts in may join the message in front of it.
    if (isRead || epoch !== call.epoch) return changeAt(parting, prompt, epoch, call)
  }
  if (isOld && cacheRead < expected / 2) return { cause: 'expiry' }
  const changed = prompt && (settingChanged(prompt, call.prompt) ?? markLost(prompt, call))
  if (changed !== undefined) return changed
  if (isOld) return { cause: 'expiry' }
  if (prompt !== undefined) return { cause: 'provider' }
  // Another process made the call before: the provider may know what it has compared.
  const path = /^(\w+)_changed$/.exec(said ?? '')?.[1]
  return path === undefined ? { cause: 'unknown' } : { cause: epoch === call.epoch ? 'client' : 'ours', path }
}

/** How many parts in front of a change can still be read: with marks, those up to the last one. */
function lastReadable({ marks }: SentPrompt, parting: number, { price, placeOf }: LeavingCall): number {
  if (price?.caching !== 'marks') return parting
  let count = parting
  while (count > 0 && !marks.includes(placeOf(count - 1))) count--
  return count
}

function changeAt(at: number, was: SentPrompt, wasUnder: string | undefined, call: LeavingCall): Cause {
  const { epoch, placeOf, redact = (text) => text } = call
  const [before, after] = [was.parts[at], call.prompt.parts[at]]
  const { item } = after ?? before!
  const path = placeOf(at)
  const isOurs = after?.isOurs === true || before?.isOurs === true
  // Of what stands in front of the history, a compaction adds tools and changes nothing.
  const isHistory = item !== undefined && item.kind !== 'instruction'
  if (epoch !== wasUnder && (isOurs || isHistory)) return { cause: 'ours', epoch: epoch ?? wasUnder, path }
  const texts = shortly(before && redact(before.text), after && redact(after.text))
  return { cause: isOurs ? 'ours' : 'client', path, ...texts }
}

/** Both texts from a little before where they part. */
function shortly(before: string | undefined, after: string | undefined): Pick<CacheMiss, 'before' | 'after'> {
  const [a = '', b = ''] = [before, after]
  let at = 0
  while (at < a.length && at < b.length && a[at] === b[at]) at++
  const from = Math.max(0, at - SHOWN_CHARACTERS / 4)
  return { before: before?.slice(from, from + SHOWN_CHARACTERS), after: after?.slice(from, from + SHOWN_CHARACTERS) }
}

/** Longer members may hold secrets, such as the credentials of a tool server. */
const isPlain = (json = ''): boolean => /^[\w.,:{}"-]{0,60}$/.test(json)

function settingChanged({ settings: before }: SentPrompt, { settings: after }: SentPrompt): Cause | undefined {
  const path = [...before.keys(), ...after.keys()].find((key) => before.get(key) !== after.get(key))
  if (path === undefined) return undefined
  const [was, is] = [before.get(path), after.get(path)]
  const texts = isPlain(was) && isPlain(is) ? shortly(was, is) : {}
  return { cause: 'client', path, ...texts }
}

/** The client took its marks away, or moved all of them so far that the provider does not look back to where the last one was. */
function markLost({ marks }: SentPrompt, { prompt: after, placeOf }: LeavingCall): Cause | undefined {
  const last = marks.at(-1)
  const places = after.parts.map((_, at) => placeOf(at))
  const from = places.indexOf(last ?? '')
  // A mark on the whole request stands on its last part, wherever that is.
  if (last === undefined || (from < 0 && after.marks.length > 0)) return undefined
  if (after.marks.some((mark) => !places.includes(mark) || isReached(from, places.indexOf(mark)))) return undefined
  const mark = after.marks.at(-1)
  return {
    cause: 'client',
    path: mark ?? last,
    before: `a cache mark at ${last}`,
    after: mark ? 'too far behind' : 'none',
  }
}

const isReached = (from: number, mark: number): boolean => mark >= from && mark - from < LOOK_BACK

/** The lifetime that usage reports of what was written; undefined where it reports no writing. */
function lifeWritten({ cacheWrite, cacheWriteLong = 0 }: Usage): CacheLife | undefined {
  if (cacheWrite === 0) return undefined
  return cacheWriteLong === cacheWrite ? LONG_LIFE : SHORT_LIFE
}

/** The call as the next one finds it. */
export function cachedCall(
  { call, before }: CacheExpectation,
  answer: Pick<CachedCall, 'at' | 'usage' | 'removed' | 'response'>,
): CachedCall {
  const { model, endpoint, epoch, prompt, asked, price } = call
  const earlier = before?.model === model && before.endpoint === endpoint ? before.life : undefined
  // What usage reports is surer than what the request asked for, and it tells only of what was written now.
  const written = price?.caching === 'marks' ? lifeWritten(answer.usage) : undefined
  return { ...answer, model, endpoint, epoch, prompt, life: written ?? asked ?? earlier ?? nominalLife(asked, price) }
}
