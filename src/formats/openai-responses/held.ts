import type { HeldHistory } from '../../core/codec.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { member, rawText } from '../json/json-index.ts'
import { spliceMembers, spliceText } from '../json/splice.ts'
import { fieldsOf, sourceOf, typeOf } from './source.ts'

/** What stands only for something that the provider holds, or for what came before it. */
const NOT_REPEATABLE = new Set(['item_reference', 'compaction', 'compaction_trigger'])

export const held: HeldHistory = {
  isKept: (conversation) => fieldsOf(conversation)['store'] !== false,
  itemsOf(conversation) {
    const { text, root } = sourceOf(conversation)
    const input = member(root, 'input')
    if (input === undefined || input.value === null) return []
    if (typeof input.value === 'string') return [`{"role":"user","content":${rawText(text, input)}}`]
    const elements = input.items ?? []
    return elements.every(({ value }) => isRepeatable(value)) ? elements.map((node) => rawText(text, node)) : undefined
  },
  writeOut(conversation, earlier) {
    const { text, root } = sourceOf(conversation)
    const own = held.itemsOf(conversation)
    if (own === undefined) return undefined
    const members = new Map([
      ['previous_response_id', undefined],
      ['input', `[${[...earlier, ...own].join(',')}]`],
    ])
    return spliceText(text, spliceMembers(root, members))
  },
}

function isRepeatable(value: unknown): boolean {
  const fields = recordOf(value) ?? {}
  const type = typeOf(fields)
  return type === 'reasoning'
    ? (stringOf(fields['encrypted_content']) ?? '') !== ''
    : type !== '' && !NOT_REPEATABLE.has(type)
}

/** The items of an answer as a request repeats them; undefined where one of them cannot be, or where it goes on in the background. */
export function repeatable(response: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const { status } = response
  if (status !== 'completed' && status !== 'incomplete') return undefined
  const output = arrayOf(response['output']) ?? []
  return output.every(isRepeatable) ? output.map((item) => JSON.stringify(item)) : undefined
}
