import type { Conversation } from '../core/conversation.ts'
import { type Count, countFrom, NO_TOKENS, scaleCount, sumCounts } from '../core/count.ts'
import type { Item, ToolDeclaration } from '../core/item.ts'
import type { Load } from '../core/target.ts'
import { isKnownUsage, type Usage } from '../core/usage.ts'
import type { PromptFraming } from '../core/wire-traits.ts'
import type { CalibratedTarget, Calibration } from './calibration.ts'
import type { ContentKind } from './estimator/features.ts'
import { ignoreEvents, type MeterEvents, type ModelFacts, type ModelLookup, type TextCounter } from './limit.ts'
import { framingOf, itemFramingOf, keepsOlderThinking, type Overhead, overheadOf, widened } from './overhead.ts'
import { createRawCounter, type Lens } from './raw-counter.ts'
import { addItem, addSums, type ClassTokens, countOf, NOTHING, type Tally, withTokens } from './tally.ts'
import { createPrefixes, type Prefixes } from '../util/prefix-memo.ts'

export interface MeterOptions {
  readonly catalogue: ModelLookup
  /** An exact tokenizer for a family, when one is loaded. Without it the estimator counts. */
  readonly tokenizerFor?: (family: string) => TextCounter | undefined
  /** How a wire frames its prompts. Without it every wire is taken for the chat format that most vendors imitate. */
  readonly framingOf?: (format: string) => PromptFraming | undefined
  /** What was learned from reported usage. */
  readonly calibration?: Calibration
  /** Characters of all texts whose count is remembered, and 400 more for each. @default 8 million */
  readonly cachedCharacters?: number
  /** What was added up before, found again by the beginning of a history. @default a memory of the meter's own */
  readonly prefixes?: Prefixes<Item>
  readonly onEvent?: MeterEvents
}

/** What is left of a declaration's JSON in the form that models read, where nobody wrote it in that form. */
const READ_SHARE = 0.62
/** Recorded schemas that refer to themselves took up to two and a half times their text. */
const WRITTEN_OUT = 2
/** Whole samples after which a model is as well known as it will be. */
const SAMPLES_WITHOUT_DOUBT = 2

/**
 * A model id, or a target with the endpoint whose calibration applies; a calibration of its own goes before the meter's. `hidden` has the
 * tokens of sealed content by its seal, from the usage of the answer that issued it.
 */
export type TargetRef =
  | string
  | (CalibratedTarget & {
      readonly calibration?: Calibration | undefined
      readonly hidden?: ReadonlyMap<string, number>
      /** By the estimator, whatever vocabulary is loaded: what another session loaded must not change a count. */
      readonly estimated?: boolean
      /** Whose texts: what was counted for one is not remembered for another. */
      readonly owner?: string
    })

export type { ClassTokens, TokenClass } from './tally.ts'

/** A load with what calibration learns from: the count before any factor, whole and by class. */
export interface Measurement extends Load {
  readonly raw: Count
  readonly byClass: ClassTokens
  /** The part of the upper bound that is media. */
  readonly mediaHigh?: number
  /** Raw tokens of system text, tools, items and framing. */
  readonly parts: { readonly head: number; readonly tools: number; readonly items: number; readonly framing: number }
}

/** Counts. Never throws, is synchronous, and counts the same content once. */
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
  /**
   * The whole request. `bytes` is the length of the body as it will be sent. Should counting itself fail, the last usage stands
   * in, and without one the bytes as an upper bound: no token is shorter than a byte.
   */
  measure(target: TargetRef, conversation: Conversation, bytes: number, lastUsage?: Usage): Measurement
  /** Tokens that only their raw number by class is left of. */
  countClasses(target: TargetRef, byClass: ClassTokens): Count
  /** Tokens around a response that comes back in the next prompt, beyond the output that was reported for it. */
  perAnswer(target: TargetRef, format: string): number
  factsOf(model: string): ModelFacts
  /** Tokenizer family of a model. */
  familyOf(model: string): string
  contentKindOf(target: TargetRef, item: Item): ContentKind
}

export function createMeter(options: MeterOptions): Meter {
  const { catalogue, tokenizerFor, calibration, onEvent = ignoreEvents } = options
  const { prefixes = createPrefixes<Item>() } = options
  const overheadFor = ({ model, family }: Pick<Lens, 'model' | 'family'>, format: string): Overhead =>
    overheadOf(options.framingOf?.(format) ?? 'messages', model, family)
  const { cachedCharacters } = options
  const raw = createRawCounter({
    catalogue,
    tokenizerFor,
    cachedCharacters,
    onEvent,
    overheadFor,
    prefixes,
  })

  const lensFor = (target: TargetRef): Lens => {
    const lens = raw.lensOf(refOf(target).model, typeof target === 'string' || target.estimated !== true)
    if (typeof target === 'string') return lens
    const { model, facts, family, isKnown, exact, key, formats } = lens
    return { model, facts, family, isKnown, exact, key, hidden: target.hidden, owner: target.owner, formats }
  }

  function calibrated(
    target: TargetRef,
    words: Count,
    media: Count,
    byClass: ClassTokens,
  ): { readonly count: Count; readonly mediaHigh: number } {
    const own = typeof target === 'string' ? calibration : (target.calibration ?? calibration)
    const text = calibratedWords(own, target, words, byClass)
    if (media.tokens === 0) return { count: text, mediaHigh: 0 }
    const shown = own === undefined ? media : calibratedMedia(own, target, media)
    return { count: sumCounts([text, shown]), mediaHigh: shown.high }
  }

  function calibratedWords(own: Calibration | undefined, target: TargetRef, count: Count, byClass: ClassTokens): Count {
    if (count.tokens === 0) return count
    const family = raw.familyOf(refOf(target).model)
    const learned = own?.predict(refOf(target), withoutMedia(byClass))
    if (own === undefined || learned === undefined) return widened(count, family, 1)
    const { tokens, spread } = learned
    const doubt = 1 - own.evidenceOf(refOf(target)) / SAMPLES_WITHOUT_DOUBT
    // What is unknown stays as wide as it was: usage of other requests says nothing about sealed content.
    if (spread === undefined || count.source === 'unknown')
      return widened(scaleCount(count, tokens / count.tokens), family, doubt)
    const half = tokens * spread + 4
    const known: Count = { tokens, low: Math.max(0, tokens - half), high: tokens + half, source: 'calibrated' }
    return widened(known, family, doubt)
  }

  /** Media that this endpoint was seen to count is as sure as what was seen; any other keeps the width of its rule. */
  function calibratedMedia(own: Calibration, target: TargetRef, count: Count): Count {
    const learned = own.mediaFactorOf(refOf(target))
    if (learned === undefined) return count
    const tokens = count.tokens * learned.factor
    const half = tokens * learned.spread
    const unsure = (count.unsure ?? 0) * learned.factor
    return countFrom(tokens, Math.max(0, tokens - half), tokens + half, unsure, 'calibrated')
  }

  /** Lists are added up once for each way of counting their items. */
  function tallyOf(lens: Lens, format: string, items: readonly Item[]): Tally {
    const { tally, overhead } = raw.formatOf(lens, format)
    return tally(items, {
      count: (item) => raw.item(lens, item, format),
      forgetsThinking: !keepsOlderThinking(lens.model, lens.family),
      callsInMessages: overhead.callsInMessages,
      hidden: lens.hidden,
    })
  }

  function measureWhole(target: TargetRef, conversation: Conversation, bytes: number): Measurement {
    const lens = lensFor(target)
    const { format } = conversation
    const { overhead } = raw.formatOf(lens, format)
    const before = conversation.head.reduce((sum, item) => addItem(sum, raw.item(lens, item, format)), NOTHING)
    const history = tallyOf(lens, format, conversation.items)
    const [head, own] = [countOf(before), countOf(history.sum)]
    const tools = countDeclared(lens, conversation)
    const framing = slackened(framingOf(overhead, conversation.head, history.messages), overhead)
    const { media, byClass: counted } = addSums(before, history.sum)
    const byClass = withTokens(withTokens(counted, 'tools', tools.tokens), 'fixed', framing.tokens)
    const words = sumCounts([head, own, tools, framing])
    const { count, mediaHigh } = calibrated(target, words, media, byClass)
    return {
      count: whole(count),
      mediaHigh,
      bytes,
      raw: whole(media.tokens === 0 ? words : sumCounts([words, media])),
      byClass,
      parts: {
        head: head.tokens,
        tools: tools.tokens,
        items: own.tokens + media.tokens,
        framing: framing.tokens,
      },
    }
  }

  function measureBlind(bytes: number, lastUsage: Usage | undefined): Measurement {
    const known = isKnownUsage(lastUsage) ? lastUsage.input + lastUsage.output : undefined
    if (known === undefined) {
      onEvent({ type: 'degraded', what: 'counting', cause: 'no usage either: the bytes are taken as the upper bound' })
    }
    const tokens = known ?? Math.ceil(bytes / 4)
    const count: Count = { tokens, low: 0, high: Math.max(tokens, bytes), source: 'unknown' }
    return {
      count,
      bytes,
      raw: count,
      byClass: { fixed: tokens },
      parts: { head: 0, tools: 0, items: tokens, framing: 0 },
    }
  }

  /** What is declared beside the messages: tools, a forced choice among them, the schema of the answer, thinking. */
  function countDeclared(lens: Lens, conversation: Conversation): Count {
    const { overhead } = raw.formatOf(lens, conversation.format)
    const { answerSchema, reasoning } = conversation.settings
    const parts: Count[] = []
    if (conversation.tools.length > 0) parts.push(countTools(lens, conversation, overhead))
    if (answerSchema !== undefined) parts.push(countSchema(lens, answerSchema, overhead))
    if (reasoning && overhead.thinkingOn > 0) {
      const half = overhead.thinkingOn / 2
      parts.push({ tokens: overhead.thinkingOn, low: half, high: overhead.thinkingOn + half, source: 'estimate' })
    }
    return parts.length === 1 ? parts[0]! : sumCounts(parts)
  }

  /** Declarations come again with every request, and whoever reads a body gives the same objects where they did not change. */
  const declarations = new WeakMap<ToolDeclaration, { readonly key: string; readonly tokens: number }>()
  function tokensOf(lens: Lens, tool: ToolDeclaration, isReadAs: boolean): number {
    const key = isReadAs ? lens.key : `${lens.key}|json`
    const known = declarations.get(tool)
    if (known?.key === key) return known.tokens
    const { text, readAs } = tool
    const counted = isReadAs ? (readAs ?? text) : text
    const share = isReadAs && readAs === undefined ? READ_SHARE : 1
    const tokens = raw.text(lens, counted).count.tokens * share
    declarations.set(tool, { key, tokens })
    return tokens
  }

  function countTools(lens: Lens, { head, tools, settings }: Conversation, overhead: Overhead): Count {
    const { toolsFactor, toolsOnce, toolsAlone, perTool, toolsSpread, toolsReadAs, toolsSlack, forcedTool } = overhead
    const declared = tools.reduce((sum, tool) => sum + tokensOf(lens, tool, toolsReadAs), 0)
    const described = tools.reduce((sum, { describedBy = 0 }) => sum + describedBy, 0)
    const written = Math.ceil(declared * toolsFactor) + perTool * tools.length
    const around = toolsOnce + (head.length === 0 ? toolsAlone : 0) + (settings.forcesTool === true ? forcedTool : 0)
    const tokens = written + described + around
    const half = (written + described) * toolsSpread
    const [below, above] = toolsSlack
    const recursive = tools.filter(({ isRecursive }) => isRecursive === true)
    const writtenOut = recursive.reduce((sum, { text }) => sum + raw.text(lens, text).count.tokens * WRITTEN_OUT, 0)
    const [low, high] = [Math.max(0, tokens - half - below), tokens + half + above]
    return countFrom(tokens, low, high, Math.ceil(writtenOut), 'estimate')
  }

  function countSchema(lens: Lens, schema: string, overhead: Overhead): Count {
    const { schemaOnce, schemaFactor, schemaSpread, schemaSlack } = overhead
    const written = raw.text(lens, schema).count.tokens * schemaFactor
    const tokens = Math.max(0, Math.round(written) + schemaOnce)
    const half = written * schemaSpread + schemaSlack
    return { tokens, low: Math.max(0, tokens - half), high: tokens + half, source: 'estimate' }
  }

  return {
    countText(target, text) {
      const { count, kind } = raw.text(lensFor(target), text)
      return calibrated(target, count, NO_TOKENS, withTokens(NOTHING.byClass, kind, count.tokens)).count
    },
    countItem(target, item, format = '') {
      const { words, media, kind, text } = raw.item(lensFor(target), item, format)
      const byClass = withTokens(withTokens(NOTHING.byClass, kind, text), 'fixed', words.tokens - text)
      return calibrated(target, words, media, byClass).count
    },
    measureItems(target, items, format = '') {
      const lens = lensFor(target)
      const own = items.reduce((sum, item) => addItem(sum, raw.item(lens, item, format)), NOTHING)
      const { overhead } = raw.formatOf(lens, format)
      const framing = slackened(itemFramingOf(overhead, items), overhead)
      const byClass = withTokens(own.byClass, 'fixed', framing.tokens)
      const { count, mediaHigh } = calibrated(target, sumCounts([countOf(own), framing]), own.media, byClass)
      return { count, mediaHigh, byClass }
    },
    measure(target, conversation, bytes, lastUsage) {
      try {
        return measureWhole(target, conversation, bytes)
      } catch (error) {
        onEvent({ type: 'degraded', what: 'counting', cause: error instanceof Error ? error.message : String(error) })
        return measureBlind(bytes, lastUsage)
      }
    },
    countClasses(target, byClass) {
      const { media: pictures = 0, ...rest } = byClass
      const parts = Object.entries(rest).map(([name, tokens]) => guess(tokens, CLASS_SPREAD[name] ?? TEXT_SPREAD))
      return whole(calibrated(target, sumCounts(parts), guess(pictures, MEDIA_CLASS_SPREAD), byClass).count)
    },
    perAnswer: (target, format) => raw.formatOf(lensFor(target), format).overhead.perAnswer,
    factsOf: (model) => raw.lensOf(model).facts,
    familyOf: raw.familyOf,
    contentKindOf: (target, item) => raw.item(lensFor(target), item, '').kind,
  }
}

/** How far a raw number may be off where nothing of its content is left to say. */
const TEXT_SPREAD = 0.12
const CLASS_SPREAD: Readonly<Record<string, number>> = { tools: 0.4, fixed: 0.3 }
const MEDIA_CLASS_SPREAD = 0.9

const guess = (tokens: number, spread: number): Count => ({
  tokens,
  low: tokens * (1 - spread),
  high: tokens * (1 + spread),
  source: 'estimate',
})

/** Framing is exact for OpenAI's text requests and a few tokens off elsewhere. */
function slackened(tokens: number, { framingSlack }: Overhead): Count {
  return { tokens, low: tokens - framingSlack, high: tokens + framingSlack, source: 'estimate' }
}

const refOf = (target: TargetRef): CalibratedTarget => (typeof target === 'string' ? { model: target } : target)

const whole = ({ tokens, low, high, unsure = 0, source }: Count): Count =>
  countFrom(Math.round(tokens), Math.floor(low), Math.ceil(high), Math.ceil(unsure), source)

function withoutMedia(byClass: ClassTokens): ClassTokens {
  if (byClass.media === undefined) return byClass
  const { media: _, ...words } = byClass
  return words
}
