import type { Violation } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { PrepareContext, View } from './context.ts'
import { applySplices } from '../../core/splices.ts'
import { largestParts } from './largest-parts.ts'
import { fieldsBehind, rememberEditedPrefix } from '../memo/edited-prefix-memo.ts'

/**
 * A rule that the client's own bytes already broke is the provider's to report; one that we broke must not leave. `read` is what the
 * view's text says, where somebody has read it.
 */
export function validate(context: PrepareContext, view: View, read?: Conversation): void {
  const { codec, conversation, deps } = context
  const frame = frameOf(context, view)
  if (frame !== undefined && deps.memo.soundFrames?.get(frame) === true) return
  const fields = read === undefined ? fieldsOf(context, view) : codec.fields(read)
  const { ours, all } = newlyBroken(context, fields, () => codec.fields(conversation))
  if (all.length === 0 && frame !== undefined) deps.memo.soundFrames?.set(frame, true, frame.length)
  if (ours === undefined) return
  throw ownDefect(`The reduced request breaks ${ours.rule} at ${ours.path}: ${ours.message}`, { violations: all })
}

/**
 * What stands around the client's own messages in a request that leaves, where nothing of them was changed: of such a request only this can
 * break a rule by our doing, and it is the same in every request of a client.
 */
function frameOf({ branch, codec, conversation, text, target }: PrepareContext, view: View): string | undefined {
  const { spliced } = view
  if (spliced === undefined || spliced.text !== view.text || conversation.isRestored === true) return undefined
  const list = codec.incremental?.listIn(conversation)
  if (list === undefined) return undefined
  const before = spliced.splices.filter(({ end }) => end <= list.start)
  const behind = spliced.splices.filter(({ start }) => start >= list.end)
  if (before.length + behind.length < spliced.splices.length) return undefined
  const head = applySplices(text.slice(0, list.start), before)
  const tail = applySplices(
    text.slice(list.end),
    behind.map(({ start, end, text: own }) => ({ start: start - list.end, end: end - list.end, text: own })),
  )
  // Nobody learns from how long this takes what another tenant declares.
  return `${branch.tenant}\n${codec.format}\n${target.model}\n${head}\n${tail}`
}

type Fields = Readonly<Record<string, unknown>>

/** The first rule that a body breaks and the one before did not, and all that it breaks. */
export function newlyBroken(
  { deps, codec, target }: PrepareContext,
  fields: Fields,
  before: () => Fields,
): { readonly ours: Violation | undefined; readonly all: readonly Violation[] } {
  const { wellFormed } = deps.memo
  const options = { model: target.model, ...(wellFormed !== undefined && { wellFormed }) }
  const all = codec.check(fields, options)
  if (all.length === 0) return { ours: undefined, all }
  const known = new Set(codec.check(before(), options).map(({ rule }) => rule))
  return { ours: all.find(({ rule }) => !known.has(rule)), all }
}

/** From the bytes themselves, not from what they were made of; what every request since the last change begins with is read once. */
function fieldsOf(context: PrepareContext, view: View): Fields {
  const { codec } = context
  // A closing turn changes what stands before the history as well.
  const prefix = view.conversation.changes === undefined ? view.editedPrefix : undefined
  const known = prefix && fieldsBehind(context, prefix)
  if (known !== undefined) return known
  const read = readAgain(context, view.text)
  rememberEditedPrefix(context, view, read)
  return codec.fields(read)
}

/** What a text that leaves says, by its own bytes. Where it begins as what came did, that part is compared and not parsed. */
export function readAgain({ deps, codec, conversation }: PrepareContext, outgoing: string): Conversation {
  try {
    return deps.memo.readAgain(codec, outgoing, conversation)
  } catch (cause) {
    throw ownDefect(`The reduced request cannot be read: ${(cause as Error).message}`, {}, cause)
  }
}

const ownDefect = (message: string, fields: Readonly<Record<string, unknown>>, cause?: unknown): PlimsollError =>
  new PlimsollError('invalid-request', message, {
    advice: 'This is a defect of Plimsoll; the original request was not changed.',
    fields,
    ...(cause !== undefined && { cause }),
  })

/** Names the largest parts, so that somebody can do something about one of them. */
export function tooLarge({ deps, gauge, limit }: PrepareContext, { conversation, load }: View): PlimsollError {
  const parts = largestParts(conversation, (item) => deps.meter.countItem(gauge, item).tokens)
  const named = parts.map((part) => `${part.what} (${part.tokens.toLocaleString('en')})`).join(', ')
  const needed = Math.ceil(load.count.high)
  return new PlimsollError(
    'fixed-overhead',
    `The context needs ${needed.toLocaleString('en')} tokens and ${limit.tokens.toLocaleString('en')} fit, although everything ` +
      `that may be reduced was. Largest parts: ${named}.`,
    {
      advice:
        'Shorten the instructions or tools, unpin items, lower the output reserve, or choose a model with a larger window.',
      fields: {
        needed,
        least: Math.floor(load.count.low),
        limit: limit.tokens,
        window: limit.window,
        bytes: load.bytes,
        parts,
      },
    },
  )
}
