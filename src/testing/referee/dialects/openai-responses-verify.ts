import type { Violation } from '../../../core/codec.ts'
import { type Fields, textOf } from '../../../core/values.ts'
import { findings } from '../../../formats/kit/rule-kit.ts'
import { OPENAI_RESPONSES_RULES } from '../../../formats/openai-responses/rules.ts'
import { checkItemPairs } from '../../../formats/openai-responses/rules-pairs.ts'
import type { Verification, VerifyContext } from '../types.ts'
import { ancestorsOf, inputItems, itemsOf, storedKey } from './openai-responses-segments.ts'

export const reasoningKey = (itemId: string): string => `reasoning-of:${itemId}`

/** Rules that need what was issued: seals, the reasoning of a call, and responses that the provider holds. */
export function verifyResponses(context: VerifyContext): Verification {
  const { body, memory } = context
  const previous = textOf(body.previous_response_id)
  if (previous !== '' && !memory.has(storedKey(previous))) return { violations: [unknownResponse(previous)] }
  const chain = previous === '' ? [] : [...checkRepeats(context), ...checkWhole(context)]
  return { violations: [...chain, ...checkSeals(context), ...checkReasoning(context)] }
}

const unknownResponse = (id: string): Violation => ({
  rule: 'previous-response-known',
  path: 'previous_response_id',
  message: `Previous response with id '${id}' not found.`,
  fix: 'Send the whole history without previous_response_id.',
})

function checkSeals({ body, issuer }: VerifyContext): Violation[] {
  return inputItems(body).flatMap((item, index) => {
    const seal = textOf(item.encrypted_content)
    if (seal === '') return []
    const opened = issuer.open(seal)
    // A client may leave the id out; with an id, the seal is the one of that item.
    if (opened !== undefined && (typeof item.id !== 'string' || opened.matches(item.id))) return []
    return [
      {
        rule: item.type === 'compaction' ? 'compaction-unsealed' : 'reasoning-unsealed',
        path: `input[${index}]`,
        message: `The encrypted content for item ${textOf(item.id)} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
        fix: 'Send sealed items unchanged and to their issuer only, or drop them with what depends on them.',
      },
    ]
  })
}

/** A call that was issued behind reasoning is not sent without it. */
function checkReasoning({ body, memory }: VerifyContext): Violation[] {
  const seen = new Set(ancestorsOf(body, memory).map((item) => textOf(item.id)))
  return inputItems(body).flatMap((item, index) => {
    const id = textOf(item.id)
    seen.add(id)
    const needed = memory.get(reasoningKey(id)) as string | undefined
    if (needed === undefined || seen.has(needed)) return []
    return [
      {
        rule: 'call-has-reasoning',
        path: `input[${index}]`,
        message: `Item '${id}' of type '${textOf(item.type)}' was provided without its required 'reasoning' item: '${needed}'.`,
        fix: 'Keep reasoning and the item behind it together, or drop both.',
      },
    ]
  })
}

/** What the provider holds is not sent again. */
function checkRepeats({ body, memory }: VerifyContext): Violation[] {
  const held = new Set(ancestorsOf(body, memory).map((item) => textOf(item.id)))
  return inputItems(body).flatMap((item, index) => {
    const id = textOf(item.id)
    if (id === '' || !held.has(id)) return []
    const message = `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`
    return [
      {
        rule: 'unique-item-ids',
        path: `input[${index}].id`,
        message,
        fix: 'Send only new items behind previous_response_id.',
      },
    ]
  })
}

/** The pairs over everything, held and sent: the provider sees both. */
function checkWhole({ body, memory }: VerifyContext): readonly Violation[] {
  const found = findings(OPENAI_RESPONSES_RULES)
  const items: readonly Fields[] = itemsOf(body, memory)
  checkItemPairs(items, false, found)
  return found.list
}
