import type { Conversation } from '../core/conversation.ts'
import { type Count, exactly, NO_TOKENS, scaleCount, sumCounts } from '../core/count.ts'
import type { Item } from '../core/item.ts'
import type { Load, Target } from '../core/target.ts'
import type { Usage } from '../core/usage.ts'
import type { Calibration } from './calibration.ts'
import { createContentCache } from './content-cache.ts'
import { countItem, type ItemContext } from './count-item.ts'
import { estimateTokens } from './estimator/estimate.ts'
import type { ContentKind } from './estimator/kinds.ts'
import { ignoreEvents, type MeterEvents, type ModelFacts, type ModelLookup, type TextCounter } from './needs.ts'
import { type Overhead, overheadOf } from './overhead.ts'
import { keepsOlderThinking, olderThinking } from './thinking.ts'
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

/** A model id, or a target with the endpoint whose calibration applies. */
export type TargetRef = string | Pick<Target, 'model' | 'endpoint'>

/** Raw tokens of a request by what they are; `fixed` is framing, tools and media, which no tokenizer error touches. */
export type ClassTokens = Readonly<Partial<Record<ContentKind | 'fixed', number>>>

/** A load with what calibration learns from: the count before any factor, whole and by class. */
export interface Measurement extends Load {
  readonly raw: Count
  readonly byClass: ClassTokens
  /** The parts in the order of the request, for reports: system, tools, items, framing. */
  readonly parts: { readonly head: number; readonly tools: number; readonly items: number; readonly framing: number }
}

/** Counts. Never throws, is synchronous, and counts the same content once. */
export interface Meter {
  countText(target: TargetRef, text: string): Count
  /** One item with its framing; calibrated like everything else. */
  countItem(target: TargetRef, item: Item, format?: string): Count
  /**
   * The whole request. `bytes` is the length of the body as it will be sent. Should counting itself fail, the last usage stands
   * in, and without one the bytes as an upper bound: no token is shorter than a byte.
   */
  measure(target: TargetRef, conversation: Conversation, bytes: number, lastUsage?: Usage): Measurement
  /** Tokenizer family of a model. */
  familyOf(model: string): string
  factsOf(model: string): ModelFacts
  contentKindOf(target: TargetRef, item: Item): ContentKind
}

interface CountedItem {
  readonly count: Count
  readonly kind: ContentKind
  /** Share of the count that is text: calibration scales that, not framing and media. */
  readonly text: number
}

interface Lens {
  readonly facts: ModelFacts
  readonly family: string
  readonly exact: TextCounter | undefined
  readonly key: string
}

export function createMeter(options: MeterOptions): Meter {
  const { catalogue, tokenizerFor, calibration, hiddenTokens, cachedTexts = 20_000, onEvent = ignoreEvents } = options
  const texts = createContentCache<{ count: Count; kind: ContentKind }>({ entries: cachedTexts })
  const items = new Map<string, WeakMap<Item, CountedItem>>()
  const facts = new Map<string, ModelFacts>()
  const failed = new Set<string>()

  function factsOf(model: string): ModelFacts {
    const known = facts.get(model)
    if (known !== undefined) return known
    const { info, match } = catalogue.resolve(model)
    if (match === 'default') {
      onEvent({
        type: 'warning',
        topic: 'unknown-model',
        message: `Model "${model}" is not in the catalogue; taking a window of ${info.window} tokens and the tokenizer family ${info.tokenizer}.`,
      })
    }
    if (facts.size > 1000) facts.clear()
    facts.set(model, info)
    return info
  }

  function lensOf(model: string): Lens {
    const info = factsOf(model)
    const exact = failed.has(info.tokenizer) ? undefined : tokenizerFor?.(info.tokenizer)
    return { facts: info, family: info.tokenizer, exact, key: `${info.tokenizer}/${exact?.name ?? 'estimate'}` }
  }

  /** The count and kind of a text, before calibration. A tokenizer that fails is not asked again. */
  function countRaw(lens: Lens, text: string): { count: Count; kind: ContentKind } {
    if (text === '') return { count: NO_TOKENS, kind: 'prose' }
    const key = `${lens.key}\n${text}`
    const known = texts.get(key)
    if (known !== undefined) return known
    const { kind, ...estimate } = estimateTokens(text, lens.family)
    const counted = { count: exactCount(lens, text) ?? estimate, kind }
    texts.set(key, counted)
    return counted
  }

  function exactCount(lens: Lens, text: string): Count | undefined {
    if (lens.exact === undefined) return undefined
    try {
      return lens.exact.count(text)
    } catch (error) {
      failed.add(lens.family)
      onEvent({
        type: 'degraded',
        what: `tokenizer ${lens.exact.name}`,
        cause: error instanceof Error ? error.message : String(error),
      })
      return undefined
    }
  }

  function countItemRaw(lens: Lens, model: string, item: Item, format: string): CountedItem {
    const key = `${lens.key}|${model}|${format}`
    let counted = items.get(key)
    if (counted === undefined) {
      counted = new WeakMap()
      if (items.size > 64) items.clear()
      items.set(key, counted)
    }
    const known = counted.get(item)
    if (known !== undefined) return known
    let text = 0
    let kind: ContentKind = 'prose'
    const context: ItemContext = {
      model,
      family: lens.family,
      overhead: overheadOf(format, model, lens.family),
      countText(part) {
        const { count, kind: partKind } = countRaw(lens, part)
        if (part === item.text) kind = partKind
        text += count.tokens
        return count
      },
      ...(hiddenTokens !== undefined && { hiddenTokens }),
    }
    const count = countItem(item, context)
    const result = { count, kind, text: Math.min(text, count.tokens) }
    // Hidden tokens may be learned later, so a guess about sealed content is not kept.
    if (item.sealed !== true || count.source === 'provider') counted.set(item, result)
    return result
  }

  function calibrated(target: TargetRef, raw: Count, byClass: ClassTokens): Count {
    if (calibration === undefined || raw.tokens === 0) return raw
    const learned = calibration.predict(refOf(target), byClass)
    if (learned === undefined) return raw
    const factor = learned.tokens / raw.tokens
    if (learned.spread === undefined) return scaleCount(raw, factor)
    const half = learned.tokens * learned.spread
    return {
      tokens: learned.tokens,
      low: Math.max(0, learned.tokens - half),
      high: learned.tokens + half,
      source: 'calibrated',
    }
  }

  return {
    familyOf: (model) => factsOf(model).tokenizer,
    factsOf,
    contentKindOf(target, item) {
      const { model } = refOf(target)
      return countItemRaw(lensOf(model), model, item, '').kind
    },
    countText(target, text) {
      const { count, kind } = countRaw(lensOf(refOf(target).model), text)
      return calibrated(target, count, { [kind]: count.tokens })
    },
    countItem(target, item, format = '') {
      const { model } = refOf(target)
      const { count, kind, text } = countItemRaw(lensOf(model), model, item, format)
      return calibrated(target, count, { [kind]: text, fixed: count.tokens - text })
    },
    measure(target, conversation, bytes, lastUsage) {
      try {
        return measureWhole(target, conversation, bytes)
      } catch (error) {
        onEvent({ type: 'degraded', what: 'counting', cause: error instanceof Error ? error.message : String(error) })
        return measureBlind(bytes, lastUsage)
      }
    },
  }

  function measureWhole(target: TargetRef, conversation: Conversation, bytes: number): Measurement {
    const { model } = refOf(target)
    const lens = lensOf(model)
    const overhead = overheadOf(conversation.format, model, lens.family)
    const byClass: Partial<Record<ContentKind | 'fixed', number>> = {}
    const add = (kind: ContentKind | 'fixed', tokens: number): void => {
      byClass[kind] = (byClass[kind] ?? 0) + tokens
    }
    const take = (item: Item): Count => {
      const { count, kind, text } = countItemRaw(lens, model, item, conversation.format)
      add(kind, text)
      add('fixed', count.tokens - text)
      return count
    }
    const ignored = keepsOlderThinking(model, lens.family) ? undefined : olderThinking(conversation.items)
    const head = sumCounts(conversation.head.map(take))
    const own = sumCounts(conversation.items.map((item) => (ignored?.has(item) === true ? NO_TOKENS : take(item))))
    const tools = countTools(lens, overhead, conversation)
    const framing = exactly(framingOf(overhead, conversation), 'estimate')
    add('fixed', tools.tokens + framing.tokens)
    const raw = whole(sumCounts([head, own, tools, framing]))
    return {
      count: whole(calibrated(target, raw, byClass)),
      bytes,
      raw,
      byClass,
      parts: { head: head.tokens, tools: tools.tokens, items: own.tokens, framing: framing.tokens },
    }
  }

  function measureBlind(bytes: number, lastUsage: Usage | undefined): Measurement {
    const known = isKnownUsage(lastUsage) ? lastUsage.input + lastUsage.output : undefined
    if (known === undefined)
      onEvent({ type: 'degraded', what: 'counting', cause: 'no usage either: the bytes are taken as the upper bound' })
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

  function countTools(lens: Lens, overhead: Overhead, conversation: Conversation): Count {
    if (conversation.tools.length === 0) return NO_TOKENS
    const declared = sumCounts(conversation.tools.map(({ text }) => countRaw(lens, text).count))
    const tokens =
      Math.ceil(declared.tokens * overhead.toolsFactor) +
      overhead.toolsOnce +
      overhead.perTool * conversation.tools.length
    const half = tokens * overhead.toolsSpread
    return { tokens, low: Math.max(0, tokens - half), high: tokens + half, source: 'estimate' }
  }
}

/** Framing of the request and of its messages; items that we insert stand in a message of their own. */
function framingOf(overhead: Overhead, conversation: Conversation): number {
  const messages = new Set<number>()
  let inserted = 0
  for (const { message } of conversation.items) {
    if (message < 0) inserted++
    else messages.add(message)
  }
  const head = overhead.headIsMessage ? new Set(conversation.head.map(({ message }) => message)).size : 0
  return overhead.perRequest + overhead.perMessage * (messages.size + inserted + head)
}

const refOf = (target: TargetRef): Pick<Target, 'model' | 'endpoint'> =>
  typeof target === 'string' ? { model: target } : target

function whole(count: Count): Count {
  return {
    tokens: Math.round(count.tokens),
    low: Math.floor(count.low),
    high: Math.ceil(count.high),
    source: count.source,
  }
}
