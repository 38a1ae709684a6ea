import type { Conversation, EnvelopeChanges } from '../../core/conversation.ts'
import { member } from '../json/json-index.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { spliceArray, spliceMembers, type Splice } from '../json/splice.ts'
import { declare } from './declare.ts'
import { toolNameOf } from './decode.ts'
import type { Source } from './source.ts'

export function envelopeSplices(conversation: Conversation, source: Source): Splice[] {
  const { changes } = conversation
  if (changes === undefined) return []
  const { root } = source
  const members = new Map<string, string | undefined>()
  if (changes.maxOutputTokens !== undefined) members.set('max_output_tokens', String(changes.maxOutputTokens))
  if (changes.dropPreviousResponseId === true) members.set('previous_response_id', undefined)
  const { compactAtTokens } = changes.native ?? {}
  // A client that manages its own context keeps its own words about it.
  if (compactAtTokens !== undefined && (member(root, 'context_management')?.value ?? null) === null)
    members.set('context_management', `[{"type":"compaction","compact_threshold":${compactAtTokens}}]`)
  if (changes.addInstruction !== undefined) {
    const before = stringOf(member(root, 'instructions')?.value) ?? ''
    const words = before === '' ? changes.addInstruction : `${before}\n\n${changes.addInstruction}`
    members.set('instructions', JSON.stringify(words))
  }
  const splices = toolSplices(source, changes, members)
  if (changes.forbidTools !== undefined && (member(root, 'tools')?.items?.length ?? 0) > 0)
    members.set('tool_choice', '"none"')
  return [...splices, ...spliceMembers(root, members)]
}

function toolSplices(source: Source, changes: EnvelopeChanges, members: Map<string, string | undefined>): Splice[] {
  const { root, text } = source
  const tools = member(root, 'tools')
  const own = tools?.items ?? []
  const added = (changes.addTools ?? []).map((tool) => JSON.stringify(declare(tool)))
  const nameAt = (i: number): string => toolNameOf(own[i]?.value)
  const stay = own.map((_, i) => i).filter((i) => changes.keepTools?.includes(nameAt(i)) ?? true)
  // The list stays so that the cached prefix holds; the choice forbids its use.
  if (changes.keepTools !== undefined && stay.length + added.length === 0) {
    if (own.length > 0) members.set('tool_choice', '"none"')
    return []
  }
  const left = new Set(stay.map(nameAt))
  if (choiceNames(member(root, 'tool_choice')?.value).some((name) => !left.has(name)))
    members.set('tool_choice', '"auto"')
  if (tools?.type !== 'array') {
    if (added.length > 0) members.set('tools', `[${added.join(',')}]`)
    return []
  }
  return added.length > 0 || stay.length < own.length ? spliceArray(text, tools, [...stay, ...added]) : []
}

/** Tools that a choice names: one that is forced, or the list of allowed ones. */
function choiceNames(choice: unknown): string[] {
  const fields = recordOf(choice)
  if (fields === undefined) return []
  return (arrayOf(fields['tools']) ?? [fields]).map(toolNameOf)
}
