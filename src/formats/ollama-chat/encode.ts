import type { EnvelopeChanges } from '../../core/conversation.ts'
import { recordOf } from '../../core/values.ts'
import { type JsonNode, member } from '../json/json-index.ts'
import { type Splice, spliceArray, spliceMember, spliceMembers } from '../json/splice.ts'
import { encoder, type Envelope, instructionInMessages, type Members, type Source } from '../kit/body.ts'
import { inserted, within } from '../openai-chat/encode.ts'
import type { ItemPosition } from '../openai-chat/decode.ts'
import { body, toolNameOf } from './decode.ts'
import { declare, write } from './write.ts'

export const written = encoder<ItemPosition>({
  body,
  write,
  envelope,
  inserted: (item) => inserted(item, undefined),
  // The server wants the content even where a message only calls.
  within: (...given) => within({ body, noContent: '""', hasObjects: true }, ...given),
})

function envelope(changes: EnvelopeChanges, source: Source): Envelope {
  const { root, text } = source
  const members: Members = new Map()
  const splices: Splice[] = []
  if (changes.maxOutputTokens !== undefined) splices.push(...capSplices(root, changes.maxOutputTokens, members))
  const tools = member(root, 'tools')
  const own = tools?.items ?? []
  const added = (changes.addTools ?? []).map((tool) => JSON.stringify(declare(tool)))
  // This wire cannot say that a tool may not be called: a turn without tools declares none.
  const isForbidden = changes.forbidTools === true
  const stay = own
    .map((_, i) => i)
    .filter((i) => !isForbidden && (changes.keepTools?.includes(toolNameOf(own[i]!.value)) ?? true))
  if (tools?.type !== 'array') {
    if (added.length > 0 && !isForbidden) members.set('tools', `[${added.join(',')}]`)
  } else if (stay.length + added.length === 0 || isForbidden) members.set('tools', undefined)
  else if (added.length > 0 || stay.length < own.length) splices.push(...spliceArray(text, tools, [...stay, ...added]))
  const instructed: Envelope =
    changes.addInstruction === undefined ? { splices: [] } : instructionInMessages(source, changes.addInstruction)
  return { ...instructed, splices: [...splices, ...instructed.splices, ...spliceMembers(root, members)] }
}

function capSplices(root: JsonNode, cap: number, members: Members): Splice[] {
  const options = member(root, 'options')
  if (options !== undefined && recordOf(options.value) !== undefined)
    return [spliceMember(options, 'num_predict', String(cap))]
  members.set('options', JSON.stringify({ num_predict: cap }))
  return []
}
