import type { Conversation } from '../../core/conversation.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { member, type JsonNode } from '../json/json-index.ts'
import { spliceArray, spliceMember, spliceMembers, type Splice } from '../json/splice.ts'
import { declare } from './declare.ts'
import { toolNameOf } from './decode.ts'
import { messageAt, type Source } from './source.ts'

interface EnvelopeSplices {
  /** A new first message, when there was no instruction to append to. */
  readonly front: string | undefined
  readonly splices: readonly Splice[]
}

export function envelopeSplices({ changes }: Conversation, source: Source): EnvelopeSplices {
  if (changes === undefined) return { front: undefined, splices: [] }
  const { root, text } = source
  const members = new Map<string, string | undefined>()
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
  let front: string | undefined
  if (changes.addInstruction !== undefined) {
    const last = messageAt(root, source.headCount - 1)
    if (source.headCount === 0 || last === undefined) {
      front = `{"role":"system","content":${JSON.stringify(changes.addInstruction)}}`
    } else splices.push(instructionSplice(last, changes.addInstruction))
  }
  return { front, splices: [...splices, ...spliceMembers(root, members)] }
}

function capSplices(root: JsonNode, cap: number, members: Map<string, string | undefined>): Splice[] {
  const options = member(root, 'options')
  if (options !== undefined && recordOf(options.value) !== undefined)
    return [spliceMember(options, 'num_predict', String(cap))]
  members.set('options', JSON.stringify({ num_predict: cap }))
  return []
}

function instructionSplice(message: JsonNode, instruction: string): Splice {
  const before = stringOf(member(message, 'content')?.value) ?? ''
  return spliceMember(message, 'content', JSON.stringify(before === '' ? instruction : `${before}\n\n${instruction}`))
}
