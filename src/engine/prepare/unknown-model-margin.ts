import type { Conversation } from '../../core/conversation.ts'
import { mediaBytes, type Item } from '../../core/item.ts'
import type { Load } from '../../core/target.ts'
import { modelName } from '../../core/model-name.ts'
import type { CountedLoad, Weighing } from './context.ts'

/** Four bytes to a token is what designs without a tokenizer assume; the fitted estimate is lower on repetitive text. */
const BYTES_PER_TOKEN = 4

/** What one kind of text showed of a tokenizer that nobody fitted our estimate to may be off by this much on another. */
const MEASURED_MARGIN = 1.8

/** How much more than estimated the parts of a request may be; 1 means that the estimate stands. */
export interface UnknownModelMargin {
  readonly text: number
  readonly media: number
}

/**
 * On a model that no catalogue knows and nobody has measured yet: some tokenizers make more than twice as many tokens, and nobody
 * knows by which rule it counts pictures. Reported usage makes it smaller for text and ends it for pictures.
 */
export function marginFor({ deps, branch, target, gauge }: Weighing): UnknownModelMargin {
  const { caution = 1 } = deps.policy
  if (caution === 1 || deps.catalogue.resolve(target.model).match !== 'default') return { text: 1, media: 1 }
  // Small prompts say little about a tokenizer: the margin fades with what was seen, as far as it does, with one whole sample.
  const evidence = branch.log.calibration?.evidenceOf(gauge) ?? 0
  const isMediaKnown = branch.log.calibration?.mediaFactorOf(gauge) !== undefined
  return { text: Math.max(MEASURED_MARGIN, caution ** (1 - evidence)), media: isMediaKnown ? 1 : caution }
}

/** The margin is about what nobody has counted: the part that the provider measured stands as it is. */
export function loadWithMargin(
  load: CountedLoad,
  { items, settings }: Pick<Conversation, 'items' | 'settings'>,
  margin: UnknownModelMargin,
): Load {
  if (margin.text === 1 && margin.media === 1) return load
  const { measured, measuredItems = 0, mediaHigh = 0, count, bytes } = load
  const guessed =
    measured === undefined
      ? bytes - nameBytes(settings) - items.reduce((sum, item) => sum + mediaBytes(item), 0)
      : items.slice(measuredItems).reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  const known = measured ?? 0
  const words = Math.max(0, count.high - known - mediaHigh)
  return {
    ...load,
    count: { ...count, high: known + worst(words, guessed, margin.text) + mediaHigh * margin.media },
  }
}

/** What a client wrote beyond any name of a model is sent, and no part of the prompt. */
const nameBytes = ({ model = '' }: Conversation['settings']): number =>
  Buffer.byteLength(model) - Buffer.byteLength(modelName(model))

/** An item's upper bound; a picture has no text to be careful about. */
export function itemWithMargin(item: Item, high: number, margin: UnknownModelMargin): number {
  if (item.media === undefined) return textWithMargin(item.text, high, margin)
  return high * Math.max(margin.media, item.text === '' ? 1 : margin.text)
}

export const textWithMargin = (text: string, high: number, margin: UnknownModelMargin): number =>
  worst(high, Buffer.byteLength(text), margin.text)

const worst = (high: number, bytes: number, margin: number): number =>
  margin === 1 ? high : Math.max(high, bytes / BYTES_PER_TOKEN) * margin
