import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { PrepareContext, View } from './context.ts'
import { largestParts } from './largest-parts.ts'
import { fieldsBehind, rememberEditedPrefix } from '../memo/edited-prefix-memo.ts'

/**
 * A rule that the client's own bytes already broke is the provider's to report; one that we broke must not leave. `bare` is the view without
 * what is put on for one request.
 */
export function validate(context: PrepareContext, view: View, bare: View): void {
  const { codec, conversation, target } = context
  const options = { model: target.model, wellFormed }
  const broken = codec.check(fieldsOf(context, view, bare), options)
  if (broken.length === 0) return
  const before = new Set(codec.check(codec.fields(conversation), options).map((violation) => violation.rule))
  const ours = broken.find((violation) => !before.has(violation.rule))
  if (ours === undefined) return
  throw ownDefect(`The reduced request breaks ${ours.rule} at ${ours.path}: ${ours.message}`, { violations: broken })
}

/** Parsed messages, which nobody changes. */
const wellFormed = new WeakSet<object>()

/** From the bytes themselves, not from what they were made of; what every request since the last change begins with is read once. */
function fieldsOf(context: PrepareContext, view: View, bare: View): Readonly<Record<string, unknown>> {
  const { codec } = context
  const isBare = view.text === bare.text
  if (isBare && bare.editedPrefix !== undefined) return fieldsBehind(context, bare.editedPrefix)
  const read = readAgain(codec, view.text)
  if (isBare) rememberEditedPrefix(context, bare, read)
  return codec.fields(read)
}

function readAgain(codec: Codec, outgoing: string): Conversation {
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
      fields: { needed, limit: limit.tokens, window: limit.window, bytes: load.bytes, parts },
    },
  )
}
