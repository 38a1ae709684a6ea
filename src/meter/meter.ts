import type { Conversation } from '../core/conversation.ts'
import { type Count, NO_TOKENS, scaleCount, sumCounts } from '../core/count.ts'
import type { Item } from '../core/item.ts'
import type { Load, Target } from '../core/target.ts'
import type { Usage } from '../core/usage.ts'
import type { Calibration } from './calibration.ts'
import type { ContentKind } from './estimator/kinds.ts'
import { ignoreEvents, type MeterEvents, type ModelFacts, type ModelLookup, type TextCounter } from './needs.ts'
import { framingOf, itemFramingOf, type Overhead, overheadOf } from './overhead.ts'
import { createRawCounter, type Lens } from './raw-counter.ts'
import { addItem, addSums, type ClassTokens, countOf, createTally, NOTHING, type Tally, withTokens } from './tally.ts'
import { keepsOlderThinking } from './thinking.ts'
import { isKnownUsage } from './usage.ts'

export interface MeterOptions {
  readonly catalogue: ModelLookup
  /** An exact tokenizer for a family, when one is loaded. Without it the estimator counts. */
  readonly tokenizerFor?: (family: string) => TextCounter | undefined
  /** What was learned from reported usage. */
  readonly calibration?: Calibration
  /** Tokens of sealed items, from the usage of the response that issued them. */
  readonly hiddenTokens?: (item: Item) => number | undefined
  /** Texts whose count is remembered. @default 20000 */
  readonly cachedTexts?: number
  readonly onEvent?: MeterEvents
}

const MOST_TALLIES = 64

/** A model id, or a target with the endpoint whose calibration applies; a calibration of its own goes before the meter's. */
export type TargetRef = string | (Pick<Target, 'model' | 'endpoint'> & { readonly calibration?: Calibration })

export type { ClassTokens } from './tally.ts'

/** A load with what calibration learns from: the count before any factor, whole and by class. */
export interface Measurement extends Load {
  readonly raw: Count
  readonly byClass: ClassTokens
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
  ): { readonly count: Count; readonly byClass: ClassTokens }
  /**
   * The whole request. `bytes` is the length of the body as it will be sent. Should counting itself fail, the last usage stands
   * in, and without one the bytes as an upper bound: no token is shorter than a byte.
   */
  measure(target: TargetRef, conversation: Conversation, bytes: number, lastUsage?: Usage): Measurement
  factsOf(model: string): ModelFacts
  /** Tokenizer family of a model. */
  familyOf(model: string): string
  contentKindOf(target: TargetRef, item: Item): ContentKind
}

export function createMeter(options: MeterOptions): Meter {
  const { catalogue, tokenizerFor, calibration, hiddenTokens, cachedTexts = 20_000, onEvent = ignoreEvents } = options
  const raw = createRawCounter({ catalogue, tokenizerFor, hiddenTokens, cachedTexts, onEvent })

  function calibrated(target: TargetRef, count: Count, byClass: ClassTokens): Count {
    const own = typeof target === 'string' ? calibration : (target.calibration ?? calibration)
    if (own === undefined || count.tokens === 0) return count
    const learned = own.predict(refOf(target), byClass)
    if (learned === undefined) return count
    const { tokens, spread } = learned
    // What is unknown stays as wide as it was: usage of other requests says nothing about a picture behind a reference.
    if (spread === undefined || count.source === 'unknown') return scaleCount(count, tokens / count.tokens)
    const half = tokens * spread + 4
    return { tokens, low: Math.max(0, tokens - half), high: tokens + half, source: 'calibrated' }
  }

  /** Lists are added up once for each way of counting their items. */
  const tallies = new Map<string, ReturnType<typeof createTally>>()
  function tallyOf(lens: Lens, format: string, items: readonly Item[]): Tally {
    const key = `${lens.key}|${lens.model}|${format}`
    if (tallies.size >= MOST_TALLIES && !tallies.has(key)) tallies.clear()
    const tally = tallies.get(key) ?? createTally()
    tallies.set(key, tally)
    return tally(items, {
      count: (item) => raw.item(lens, item, format),
      forgetsThinking: !keepsOlderThinking(lens.model, lens.family),
      callsInMessages: overheadOf(format, lens.model, lens.family).callsInMessages,
    })
  }

  function measureWhole(target: TargetRef, conversation: Conversation, bytes: number): Measurement {
    const lens = raw.lensOf(refOf(target).model)
    const overhead = overheadOf(conversation.format, lens.model, lens.family)
    const { format } = conversation
    const before = conversation.head.reduce((sum, item) => addItem(sum, raw.item(lens, item, format)), NOTHING)
    const history = tallyOf(lens, format, conversation.items)
    const [head, own] = [countOf(before), countOf(history.sum)]
    const tools = countTools(lens, conversation)
    const framing = slackened(framingOf(overhead, conversation.head, history.messages), overhead)
    const byClass = withTokens(addSums(before, history.sum).byClass, 'fixed', tools.tokens + framing.tokens)
    const sum = whole(sumCounts([head, own, tools, framing]))
    return {
      count: whole(calibrated(target, sum, byClass)),
      bytes,
      raw: sum,
      byClass,
      parts: { head: head.tokens, tools: tools.tokens, items: own.tokens, framing: framing.tokens },
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

  function countTools(lens: Lens, { format, tools }: Conversation): Count {
    if (tools.length === 0) return NO_TOKENS
    const { toolsFactor, toolsOnce, perTool, toolsSpread } = overheadOf(format, lens.model, lens.family)
    const declared = sumCounts(tools.map(({ text }) => raw.text(lens, text).count))
    const tokens = Math.ceil(declared.tokens * toolsFactor) + toolsOnce + perTool * tools.length
    const half = tokens * toolsSpread
    return { tokens, low: Math.max(0, tokens - half), high: tokens + half, source: 'estimate' }
  }

  return {
    countText(target, text) {
      const { count, kind } = raw.text(raw.lensOf(refOf(target).model), text)
      return calibrated(target, count, { [kind]: count.tokens })
    },
    countItem(target, item, format = '') {
      const { count, kind, text } = raw.item(raw.lensOf(refOf(target).model), item, format)
      return calibrated(target, count, { [kind]: text, fixed: count.tokens - text })
    },
    measureItems(target, items, format = '') {
      const lens = raw.lensOf(refOf(target).model)
      const own = items.reduce((sum, item) => addItem(sum, raw.item(lens, item, format)), NOTHING)
      const overhead = overheadOf(format, lens.model, lens.family)
      const framing = slackened(itemFramingOf(overhead, items), overhead)
      const byClass = withTokens(own.byClass, 'fixed', framing.tokens)
      return { count: calibrated(target, sumCounts([countOf(own), framing]), byClass), byClass }
    },
    measure(target, conversation, bytes, lastUsage) {
      try {
        return measureWhole(target, conversation, bytes)
      } catch (error) {
        onEvent({ type: 'degraded', what: 'counting', cause: error instanceof Error ? error.message : String(error) })
        return measureBlind(bytes, lastUsage)
      }
    },
    factsOf: (model) => raw.lensOf(model).facts,
    familyOf: (model) => raw.lensOf(model).family,
    contentKindOf: (target, item) => raw.item(raw.lensOf(refOf(target).model), item, '').kind,
  }
}

/** Framing is exact for OpenAI's text requests and a few tokens off elsewhere. */
function slackened(tokens: number, { framingSlack }: Overhead): Count {
  return { tokens, low: tokens - framingSlack, high: tokens + framingSlack, source: 'estimate' }
}

const refOf = (target: TargetRef): Pick<Target, 'model' | 'endpoint'> =>
  typeof target === 'string' ? { model: target } : target

function whole({ tokens, low, high, source }: Count): Count {
  return { tokens: Math.round(tokens), low: Math.floor(low), high: Math.ceil(high), source }
}
