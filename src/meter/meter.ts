/* `createMeter` is long because all its functions share what was counted; none of them alone is. */
import { messageOf } from '../core/values.ts'
import type { Conversation } from '../core/conversation.ts'
import { type Count, countFrom, NO_TOKENS, scaleCount, sumCounts } from '../core/count.ts'
import type { EventBody } from '../core/events.ts'
import type { Item, ToolDeclaration } from '../core/item.ts'
import { modelName } from '../core/model-name.ts'
import type { Load } from '../core/target.ts'
import type { PromptFraming } from '../core/wire-traits.ts'
import type { Catalogue, ModelInfo, Resolution } from '../ports/catalogue.ts'
import type { Tokenizer } from '../ports/tokenizer.ts'
import { BoundedMap } from '../util/bounded-map.ts'
import type { CalibratedTarget, Calibration, Prediction } from './calibration.ts'
import { estimateTokens } from './estimator/estimate.ts'
import {
  addItems,
  addTokens,
  type ClassTokens,
  type CountedItem,
  type CountedText,
  countItem,
  type Destination,
} from './items.ts'
import { forgetsThinking, messagesIn, overheadOf, widened } from './overhead.ts'

export interface MeterOptions {
  readonly catalogue: Pick<Catalogue, 'resolve'>
  /** An exact tokenizer for a family, when one is loaded. Without it the estimator counts. */
  readonly tokenizerFor?: (family: string) => Tokenizer | undefined
  /** How a wire frames its prompts. Without it every wire is taken for the chat format that most vendors imitate. */
  readonly framingOf?: (format: string) => PromptFraming | undefined
  /** What was learned from reported usage. */
  readonly calibration?: Calibration
  /** Characters of all texts whose count is remembered, and 400 more for each. @default 8 million */
  readonly cachedCharacters?: number
  /** Told what the meter had to guess or give up. */
  readonly onEvent?: (event: EventBody) => void
}

/**
 * A model id, or a target with the endpoint whose calibration applies; a calibration of its own goes before the meter's. `hidden` has the
 * tokens of sealed content by its seal, from the usage of the answer that issued it.
 */
export type TargetRef = string | MeteredTarget

interface MeteredTarget extends CalibratedTarget {
  readonly calibration?: Calibration | undefined
  readonly hidden?: ReadonlyMap<string, number>
  /** By the estimator, whatever vocabulary is loaded: what another session loaded must not change a count. */
  readonly estimated?: boolean
  /** Whose texts: how long a count takes must not tell one tenant what another has sent. */
  readonly owner?: string
}

export type { ClassTokens, TokenClass } from './items.ts'

/** A load with what calibration learns from: the count before any factor, whole and by class. */
export interface Measurement extends Load {
  readonly raw: Count
  readonly byClass: ClassTokens
  /** The part of the upper bound that is media. */
  readonly mediaHigh?: number
  /** Raw tokens of system text, tools, items and framing. */
  readonly parts: { readonly head: number; readonly tools: number; readonly items: number; readonly framing: number }
}

/** Counts. Synchronous, and the same content once. */
export interface Meter {
  countText(target: TargetRef, text: string): Count
  /** One item with its framing as a call or result. */
  countItem(target: TargetRef, item: Item, format?: string): Count
  /** Some items with their framing, messages included, as they add to a request. */
  measureItems(
    target: TargetRef,
    items: readonly Item[],
    format?: string,
  ): { readonly count: Count; readonly byClass: ClassTokens; readonly mediaHigh?: number }
  /** The whole request. `bytes` is the length of the body as it will be sent. */
  measure(target: TargetRef, conversation: Conversation, bytes: number): Measurement
  /** Tokens that only their raw number by class is left of. */
  countClasses(target: TargetRef, byClass: ClassTokens): Count
  /** Tokens around a response that comes back in the next prompt, beyond the output that was reported for it. */
  perAnswer(target: TargetRef, format: string): number
  factsOf(model: string): ModelInfo
  /** Tokenizer family of a model. */
  familyOf(model: string): string
}

/** One way of counting: how a model reads the texts and the framing of a wire, and what was counted so. */
interface Way extends Destination {
  readonly exact: Tokenizer | undefined
  /** The thinking of finished turns is sent and billed as nothing. */
  readonly forgetsThinking: boolean
  /** Counts of texts are told apart by it. */
  readonly tokenizer: string
  readonly items: WeakMap<Item, CountedItem>
  /** Declarations come again with every request, and decoders return the same objects if they did not change. */
  readonly tools: WeakMap<ToolDeclaration, number>
}

/** What is left of a declaration's JSON in the form that models read, where it is not written in that form. */
const READ_SHARE = 0.62
/** Recorded schemas that refer to themselves took up to two and a half times their text. */
const WRITTEN_OUT = 2
/** Whole samples after which a model is as well known as it will be. */
const SAMPLES_WITHOUT_DOUBT = 2
const MOST_MODELS = 1000
const MOST_WAYS = 256
/** What a remembered count takes beside its text, as characters. */
const ENTRY_CHARACTERS = 400

export function createMeter(options: MeterOptions): Meter {
  const { catalogue, tokenizerFor, calibration, cachedCharacters = 8_000_000, onEvent = () => {} } = options
  /** Texts whose count is known: clients resend the same content in new objects. */
  const texts = new BoundedMap<string, CountedText>(cachedCharacters)
  const ways = new BoundedMap<string, Way>(MOST_WAYS)
  /** Models that no catalogue knows, each reported once. */
  const warned = new BoundedMap<string, true>(MOST_MODELS)
  /** Families whose tokenizer failed; it is not asked again. */
  const failed = new Set<string>()

  function wayOf(target: MeteredTarget, format = ''): Way {
    const model = modelName(target.model)
    const { info, match } = catalogue.resolve(model)
    const family = info.tokenizer
    const isKnown = match !== 'default'
    if ((match === 'default' || match === 'sibling') && !warned.has(model)) {
      warned.set(model, true)
      onEvent({ type: 'warning', topic: 'unknown-model', message: unknownModel(model, info, match) })
    }
    const mayBeExact = target.estimated !== true && !failed.has(family)
    // Asked for each time: a vocabulary may have been loaded since.
    const exact = mayBeExact ? tokenizerFor?.(family) : undefined
    const framing = options.framingOf?.(format) ?? 'messages'
    const tokenizer = `${family}/${exact?.name ?? 'estimate'}`
    const key = `${framing} ${tokenizer} ${model}`
    const known = ways.get(key)
    if (known !== undefined) return known
    const overhead = overheadOf(framing, model, family)
    const way: Way = {
      model,
      family,
      isKnown,
      overhead,
      exact,
      forgetsThinking: forgetsThinking(model, family),
      tokenizer,
      items: new WeakMap(),
      tools: new WeakMap(),
    }
    ways.set(key, way)
    return way
  }

  function textOf(way: Way, target: MeteredTarget, text: string): CountedText {
    if (text === '') return { count: NO_TOKENS, kind: 'prose' }
    if (text.length > LONG_TEXT) return sumOfPieces([...textPieces(text)].map((piece) => textOf(way, target, piece)))
    const key = `${way.tokenizer}|${target.owner ?? ''}\0${text}`
    const known = texts.get(key)
    if (known !== undefined) return known
    const { exact, family } = way
    const { kind, ...estimate } = estimateTokens(text, family)
    let count: Count = estimate
    try {
      if (exact !== undefined && !failed.has(family)) count = exact.count(text)
    } catch (error) {
      failed.add(family)
      const cause = messageOf(error)
      onEvent({ type: 'degraded', what: `tokenizer ${exact?.name}`, cause })
    }
    const counted = { count, kind }
    texts.set(key, counted, text.length + ENTRY_CHARACTERS)
    return counted
  }

  function itemOf(way: Way, target: MeteredTarget, item: Item): CountedItem {
    const known = way.items.get(item)
    if (known !== undefined) return known
    const counted = countItem(item, way, (text) => textOf(way, target, text), target.hidden)
    // What is hidden may be learned later, and by one session only.
    if (item.sealed !== true) way.items.set(item, counted)
    return counted
  }

  /** Raw counts as what was learned about the target makes of them. */
  function calibrated(
    { family }: Way,
    target: MeteredTarget,
    { words, media, byClass }: { readonly words: Count; readonly media: Count; readonly byClass: ClassTokens },
  ): { readonly count: Count; readonly mediaHigh: number } {
    const learned = (target.calibration ?? calibration)?.predict(target, byClass)
    let text = words
    if (words.tokens > 0) {
      if (learned !== undefined) text = calibratedWords(words, learned)
      text = widened(text, family, 1 - (learned?.evidence ?? 0) / SAMPLES_WITHOUT_DOUBT)
    }
    if (media.tokens === 0) return { count: text, mediaHigh: 0 }
    // Media that this endpoint was seen to count is as sure as what was seen; any other keeps the width of its rule.
    const shown = learned?.media === undefined ? media : calibratedMedia(media, learned.media)
    return { count: sumCounts([text, shown]), mediaHigh: shown.high }
  }

  /** What is declared beside the messages: tools, a forced choice among them, the schema of the answer, thinking. */
  function countDeclared(way: Way, target: MeteredTarget, conversation: Conversation): Count {
    const { overhead } = way
    const { answerSchema, reasoning } = conversation.settings
    const parts: Count[] = []
    if (conversation.tools.length > 0) parts.push(countTools(way, target, conversation))
    if (answerSchema !== undefined) {
      const { schemaOnce, schemaFactor, schemaSpread, schemaSlack } = overhead
      const written = textOf(way, target, answerSchema).count.tokens * schemaFactor
      const tokens = Math.max(0, Math.round(written) + schemaOnce)
      parts.push(around(tokens, written * schemaSpread + schemaSlack))
    }
    if (reasoning && overhead.thinkingOn > 0) parts.push(around(overhead.thinkingOn, overhead.thinkingOn / 2))
    return sumCounts(parts)
  }

  function countTools(way: Way, target: MeteredTarget, { head, tools, settings }: Conversation): Count {
    const { toolsFactor, toolsOnce, toolsAlone, perTool, toolsSpread, toolsReadAs, toolsSlack, forcedTool } =
      way.overhead
    let [declared, described, writtenOut] = [0, 0, 0]
    for (const tool of tools) {
      let tokens = way.tools.get(tool)
      if (tokens === undefined) {
        const { text, readAs } = tool
        const share = toolsReadAs && readAs === undefined ? READ_SHARE : 1
        tokens = textOf(way, target, toolsReadAs ? (readAs ?? text) : text).count.tokens * share
        way.tools.set(tool, tokens)
      }
      declared += tokens
      described += tool.describedBy ?? 0
      if (tool.isRecursive === true) writtenOut += textOf(way, target, tool.text).count.tokens * WRITTEN_OUT
    }
    const written = Math.ceil(declared * toolsFactor) + perTool * tools.length + described
    const alone = head.length === 0 ? toolsAlone : 0
    const tokens = written + toolsOnce + alone + (settings.forcesTool === true ? forcedTool : 0)
    const [below, above] = toolsSlack
    const half = written * toolsSpread
    const [low, high] = [Math.max(0, tokens - half - below), tokens + half + above]
    return countFrom(tokens, low, high, Math.ceil(writtenOut), 'estimate')
  }

  return {
    countText(given, text) {
      const target = refOf(given)
      const way = wayOf(target)
      const { count, kind } = textOf(way, target, text)
      return calibrated(way, target, { words: count, media: NO_TOKENS, byClass: { [kind]: count.tokens } }).count
    },
    countItem(given, item, format) {
      const target = refOf(given)
      const way = wayOf(target, format)
      return calibrated(way, target, addItems([itemOf(way, target, item)])).count
    },
    measureItems(given, items, format) {
      const target = refOf(given)
      const way = wayOf(target, format)
      const { overhead } = way
      const { words, media, byClass } = addItems(items.map((item) => itemOf(way, target, item)))
      const framing = around(overhead.perMessage * messagesIn(overhead, items), overhead.framingSlack)
      addTokens(byClass, 'fixed', framing.tokens)
      return { ...calibrated(way, target, { words: sumCounts([words, framing]), media, byClass }), byClass }
    },
    measure(given, conversation, bytes) {
      const target = refOf(given)
      const way = wayOf(target, conversation.format)
      const { overhead } = way
      const { head: instructions, items } = conversation
      const turn = way.forgetsThinking ? items.findLastIndex(({ kind }) => kind === 'user') : -1
      const live = turn < 0 ? items : items.filter(({ kind }, at) => kind !== 'reasoning' || at > turn)
      const before = instructions.map((item) => itemOf(way, target, item))
      const after = live.map((item) => itemOf(way, target, item))
      const head = sumCounts(before.map(({ words }) => words))
      const history = sumCounts(after.map(({ words }) => words))
      const { media, byClass } = addItems([...before, ...after])
      const tools = countDeclared(way, target, conversation)
      const messages = (overhead.headIsMessage ? messagesIn(overhead, instructions) : 0) + messagesIn(overhead, items)
      const framing = around(overhead.perRequest + overhead.perMessage * messages, overhead.framingSlack)
      addTokens(byClass, 'tools', tools.tokens)
      addTokens(byClass, 'fixed', framing.tokens)
      const words = sumCounts([head, history, tools, framing])
      const { count, mediaHigh } = calibrated(way, target, { words, media, byClass })
      return {
        count: whole(count),
        mediaHigh,
        bytes,
        raw: whole(media.tokens === 0 ? words : sumCounts([words, media])),
        byClass,
        parts: {
          head: head.tokens,
          tools: tools.tokens,
          items: history.tokens + media.tokens,
          framing: framing.tokens,
        },
      }
    },
    countClasses(given, byClass) {
      const target = refOf(given)
      const { media: pictures = 0, ...rest } = byClass
      const parts = Object.entries(rest).map(([name, tokens]) =>
        around(tokens, tokens * (CLASS_SPREAD[name] ?? TEXT_SPREAD)),
      )
      const media = around(pictures, pictures * MEDIA_CLASS_SPREAD)
      return whole(calibrated(wayOf(target), target, { words: sumCounts(parts), media, byClass }).count)
    },
    perAnswer: (target, format) => wayOf(refOf(target), format).overhead.perAnswer,
    factsOf: (model) => catalogue.resolve(modelName(model)).info,
    familyOf: (model) => catalogue.resolve(modelName(model)).info.tokenizer,
  }
}

function unknownModel(model: string, { id, window, tokenizer, price }: ModelInfo, match: Resolution['match']): string {
  const dollars =
    price === undefined ? 'no price' : `$${price.input} and $${price.output} per million tokens of input and output`
  const of = match === 'sibling' ? `taken for its newest sibling ${id}: ` : 'taking '
  return `Model "${model}" is not in the catalogue; ${of}a window of ${window} tokens, the tokenizer family ${tokenizer} and ${dollars}.`
}

/** Of a sum: what was learned may be off for all of it, and each part by its own miss, which others make up for. */
function calibratedWords(words: Count, { tokens, half }: Prediction): Count {
  const scaled = scaleCount(words, tokens / words.tokens)
  // What is unknown stays as wide as it was: usage of other requests says nothing about sealed content.
  if (half === undefined || words.source === 'unknown') return scaled
  const low = tokens - Math.hypot(half, tokens - scaled.low) - LEAST_HALF
  const high = tokens + Math.hypot(half, scaled.high - tokens) + LEAST_HALF
  return { tokens, low: Math.max(0, low), high, source: 'calibrated' }
}

/** A few tokens of framing are never known. */
const LEAST_HALF = 4

function calibratedMedia(media: Count, { factor, spread }: NonNullable<Prediction['media']>): Count {
  const tokens = media.tokens * factor
  const half = tokens * spread
  return countFrom(tokens, Math.max(0, tokens - half), tokens + half, (media.unsure ?? 0) * factor, 'calibrated')
}

/** How far a raw number may be off where nothing of its content is left to say. */
const TEXT_SPREAD = 0.12
const CLASS_SPREAD: Readonly<Record<string, number>> = { tools: 0.4, fixed: 0.3 }
const MEDIA_CLASS_SPREAD = 0.9

const around = (tokens: number, half: number): Count => ({
  tokens,
  low: tokens - half,
  high: tokens + half,
  source: 'estimate',
})

/** What is wrong about one piece of a text is wrong about the next: their errors add up. */
function sumOfPieces(parts: readonly CountedText[]): CountedText {
  const sum = (of: (count: Count) => number): number => parts.reduce((all, { count }) => all + of(count), 0)
  const { kind, count } = parts[0]!
  return { count: { ...count, tokens: sum((c) => c.tokens), low: sum((c) => c.low), high: sum((c) => c.high) }, kind }
}

const refOf = (target: TargetRef): MeteredTarget => (typeof target === 'string' ? { model: target } : target)

const whole = ({ tokens, low, high, unsure = 0, source }: Count): Count =>
  countFrom(Math.round(tokens), Math.floor(low), Math.ceil(high), Math.ceil(unsure), source)

/** Longer texts are counted in pieces. */
export const LONG_TEXT = 256 * 1024
const LONGEST_BETWEEN = 4_096

/** The pieces of a long text, cut in front of a line break or blank where there is one near; a shorter text is one piece. */
export function* textPieces(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const to = endOfPiece(text, from)
    yield text.slice(from, to)
    from = to
  }
}

function endOfPiece(text: string, from: number): number {
  const end = from + LONG_TEXT
  if (end >= text.length) return text.length
  for (let at = end; at > end - LONGEST_BETWEEN; at--) if (text.charCodeAt(at) <= 32) return at
  // Not between the halves of a character.
  return isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end
}

const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff
