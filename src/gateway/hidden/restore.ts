import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { Restoration } from '../../core/edits.ts'
import type { Item } from '../../core/item.ts'
import { readMessages } from '../../formats/kit/editing.ts'
import type { Fields } from '../../core/values.ts'
import type { HiddenStep, HiddenWire } from '../../formats/wire/steps.ts'
import { BoundedMap } from '../../util/bounded-map.ts'

/** Reads steps as items. The same step is the same items in every request, so that work done for them once is found again. */
export interface StepReader {
  /** The step as the upstream got it; `id` tells it from others of the conversation. */
  read(step: Pick<HiddenStep, 'parts' | 'results'>, id: string): readonly Item[]
  /** An item with the rest of its text. */
  rest(item: Item, text: string): Item
}

const MAX_CHARACTERS = 20_000_000

export function stepReader(characters = MAX_CHARACTERS): (codec: Codec, wire: HiddenWire) => StepReader {
  const known = new BoundedMap<string, readonly Item[]>(characters)
  const rests = new WeakMap<Item, Item>()
  return (codec, wire) => ({
    read({ parts, results }, id) {
      const messages = wire.continuation(parts, results)
      const key = `${codec.format}\n${id}\n${JSON.stringify(messages)}`
      const items = known.get(key) ?? readMessages(codec, wire.list, messages, id)
      known.set(key, items, key.length)
      return items
    },
    rest(item, text) {
      const found = rests.get(item)
      if (found?.text === text) return found
      const rest: Item = { ...item, text, edited: true }
      rests.set(item, rest)
      return rest
    },
  })
}

/** The client's answer at hand, from its first item on. */
export interface VisibleAnswer {
  readonly conversation: Conversation
  readonly from: number
  readonly length: number
}

/**
 * Steps back in the answer that they were hidden in: each as the upstream got it, text before our call included, in front of what is left
 * of the client's own items. A client may have merged texts, cut them into pieces or left thinking out.
 */
export function restorationsOf(
  reader: StepReader,
  codec: Codec,
  wire: HiddenWire,
  { conversation, from, length }: VisibleAnswer,
  steps: readonly HiddenStep[],
  isOurs: (part: Fields) => boolean,
): readonly Restoration[] {
  const { items } = conversation
  let left = items.slice(from, from + length)
  const after = items[from + length]
  const out: Restoration[] = []
  for (const [k, step] of steps.entries()) {
    const id = `h${from}.${k}`
    if (step.beside) {
      const answered = wire.joinsResults ? items.filter((item) => item.message === after?.message) : []
      // Without the client's results nothing could stand beside ours.
      if (wire.joinsResults && !answered.some(({ kind }) => kind === 'result')) continue
      const own = answered.map((item) => JSON.parse(codec.fragment(conversation, item)) as Fields)
      const behind = wire.joinsResults ? items[from + length + answered.length] : after
      out.push({
        items: reader.read({ parts: step.parts, results: [...step.results, ...own] }, id),
        instead: [...left, ...answered].map((item) => item.id),
        ...(behind !== undefined && { before: behind.id }),
      })
      left = []
      continue
    }
    const whole = reader.read(step, id)
    const covered = coveredBy(whole, left)
    const { gone, cut } = covered ?? { gone: [], cut: undefined }
    left = left
      .filter((item) => !gone.includes(item))
      .map((item) => (item.id === cut?.item.id ? reader.rest(cut.item, cut.text) : item))
    // Where the client has written something else, only what it never saw is put back.
    const shown =
      covered === undefined ? reader.read({ parts: step.parts.filter(isOurs), results: step.results }, id) : whole
    const before = left[0] ?? after
    out.push({
      items: shown,
      instead: gone.map((item) => item.id),
      ...(before !== undefined && { before: before.id }),
      ...(cut !== undefined && { rest: reader.rest(cut.item, cut.text) }),
    })
  }
  return out
}

interface Covered {
  readonly gone: readonly Item[]
  /** An own text that goes on behind the step. */
  readonly cut: { readonly item: Item; readonly text: string } | undefined
}

/** Which of the client's items a step holds already; undefined when its text does not begin as the step's does. */
function coveredBy(step: readonly Item[], own: readonly Item[]): Covered | undefined {
  const thoughts = step.filter(({ kind }) => kind === 'reasoning')
  let text = step
    .filter(({ kind, role }) => kind === 'assistant' && role === 'assistant')
    .map((item) => item.text)
    .join('')
  const gone: Item[] = []
  let cut: Covered['cut']
  for (const item of own) {
    if (item.kind === 'reasoning') {
      if (!thoughts.some((thought) => isSame(thought, item))) break
      gone.push(item)
    } else if (item.kind !== 'assistant' || text === '') break
    else if (text.startsWith(item.text)) {
      text = text.slice(item.text.length)
      gone.push(item)
    } else if (item.text.startsWith(text)) {
      cut = { item, text: item.text.slice(text.length) }
      text = ''
      break
    } else return undefined
  }
  // White space at the end is what clients trim.
  return text.trim() === '' ? { gone, cut } : undefined
}

/** By what only the same thought has; in pieces, where a stream cut it. */
const isSame = (thought: Item, own: Item): boolean =>
  own.seal === undefined ? thought.text.includes(own.text) : thought.seal === own.seal
