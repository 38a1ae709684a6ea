import type { Codec, Violation } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { PrepareContext, View } from './context.ts'
import { largestParts } from './largest-parts.ts'
import { fieldsBehind, rememberEditedPrefix } from '../memo/edited-prefix-memo.ts'

/**
 * A rule that the client's own bytes already broke is the provider's to report; one that we broke must not leave. `read` is what the
 * view's text says, where somebody has read it.
 */
export function validate(context: PrepareContext, view: View, read?: Conversation): void {
  const { codec, conversation } = context
  const fields = read === undefined ? fieldsOf(context, view) : codec.fields(read)
  const broken = newlyBroken(context, fields, () => codec.fields(conversation))
  if (broken === undefined) return
  const { rule, path, message } = broken.ours
  throw ownDefect(`The reduced request breaks ${rule} at ${path}: ${message}`, { violations: broken.all })
}

type Fields = Readonly<Record<string, unknown>>

/** The first rule that a body breaks and the one before did not. */
export function newlyBroken(
  { deps, codec, target }: PrepareContext,
  fields: Fields,
  before: () => Fields,
): { readonly ours: Violation; readonly all: readonly Violation[] } | undefined {
  const { wellFormed } = deps.memo
  const options = { model: target.model, ...(wellFormed !== undefined && { wellFormed }) }
  const all = codec.check(fields, options)
  if (all.length === 0) return undefined
  const known = new Set(codec.check(before(), options).map(({ rule }) => rule))
  const ours = all.find(({ rule }) => !known.has(rule))
  return ours === undefined ? undefined : { ours, all }
}

/** From the bytes themselves, not from what they were made of; what every request since the last change begins with is read once. */
function fieldsOf(context: PrepareContext, view: View): Fields {
  const { codec } = context
  // A closing turn changes what stands before the history as well.
  const prefix = view.conversation.changes === undefined ? view.editedPrefix : undefined
  const known = prefix && fieldsBehind(context, prefix)
  if (known !== undefined) return known
  const read = readAgain(codec, view.text)
  rememberEditedPrefix(context, view, read)
  return codec.fields(read)
}

export function readAgain(codec: Codec, outgoing: string): Conversation {
  try {
    return codec.decode(outgoing)
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
