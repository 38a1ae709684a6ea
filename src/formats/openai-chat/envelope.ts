import type { Conversation, EnvelopeChanges, NewTool } from '../../core/conversation.ts'
import { member, type JsonNode } from '../json/json-index.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { spliceArray, spliceMember, spliceMembers, type Splice } from '../json/splice.ts'
import { declare } from './declare.ts'
import { toolNameOf } from './decode.ts'
import { messageAt, type Source } from './source.ts'

interface EnvelopeSplices {
  /** A new first message, when there was no instruction to append to. */
  readonly front: string | undefined
  readonly splices: readonly Splice[]
}

export function envelopeSplices(conversation: Conversation, source: Source): EnvelopeSplices {
  const { changes } = conversation
  if (changes === undefined) return { front: undefined, splices: [] }
  const { root } = source
  const members = new Map<string, string | undefined>()
  const splices: Splice[] = []
  if (changes.maxOutputTokens !== undefined) {
    for (const key of limitKeys(root)) members.set(key, String(changes.maxOutputTokens))
  }
  splices.push(...toolSplices(source, changes, members))
  if (changes.forbidTools !== undefined) forbidTools(root, members)
  let front: string | undefined
  if (changes.addInstruction !== undefined) {
    const last = messageAt(root, source.headCount - 1)
    if (source.headCount === 0 || last === undefined) {
      front = `{"role":"system","content":${JSON.stringify(changes.addInstruction)}}`
    } else splices.push(instructionSplice(last, changes.addInstruction))
  }
  return { front, splices: [...splices, ...spliceMembers(root, members)] }
}

/** A choice is refused without tools to choose from. */
function forbidTools(root: JsonNode, members: Map<string, string | undefined>): void {
  if ((member(root, 'tools')?.length ?? 0) > 0) members.set('tool_choice', '"none"')
  else if ((member(root, 'functions')?.length ?? 0) > 0) members.set('function_call', '"none"')
}

/** Reasoning models refuse `max_tokens`; many compatible servers know nothing else. */
export const capKey = (model: string): string =>
  /^(?:openai\/)?(?:o\d|gpt-[5-9])/.test(model) ? 'max_completion_tokens' : 'max_tokens'

function limitKeys(root: JsonNode): string[] {
  const present = ['max_completion_tokens', 'max_tokens'].filter((key) => (member(root, key)?.value ?? null) !== null)
  if (present.length > 0) return present
  return [capKey(stringOf(member(root, 'model')?.value) ?? '')]
}

function instructionSplice(message: JsonNode, instruction: string): Splice {
  const content = member(message, 'content')
  const last = content?.items?.at(-1)
  if (last !== undefined) {
    return { start: last.end, end: last.end, text: `,${JSON.stringify({ type: 'text', text: instruction })}` }
  }
  const before = stringOf(content?.value) ?? ''
  return spliceMember(message, 'content', JSON.stringify(before === '' ? instruction : `${before}\n\n${instruction}`))
}

function toolSplices(source: Source, changes: EnvelopeChanges, members: Map<string, string | undefined>): Splice[] {
  const { root, text } = source
  // Before tools there were functions; a body has one or the other.
  const key = member(root, 'functions') !== undefined && member(root, 'tools') === undefined ? 'functions' : 'tools'
  const choiceKey = key === 'tools' ? 'tool_choice' : 'function_call'
  const tools = member(root, key)
  const own = tools?.items ?? []
  const added = (changes.addTools ?? []).map((tool) => declaration(tool, key))
  const stay = own.map((_, i) => i).filter((i) => changes.keepTools?.includes(toolNameOf(own[i]!.value)) ?? true)
  // The list stays so that the cached prefix holds; the choice forbids its use.
  if (changes.keepTools !== undefined && stay.length + added.length === 0) {
    if (own.length > 0) members.set(choiceKey, '"none"')
    return []
  }
  const left = new Set(stay.map((i) => toolNameOf(own[i]!.value)))
  if (choiceNames(member(root, choiceKey)?.value).some((name) => !left.has(name))) members.set(choiceKey, '"auto"')
  if (tools?.type !== 'array') {
    if (added.length > 0) members.set(key, `[${added.join(',')}]`)
    return []
  }
  return added.length > 0 || stay.length < own.length ? spliceArray(text, tools, [...stay, ...added]) : []
}

function declaration(tool: NewTool, key: string): string {
  const declared = declare(tool)
  return JSON.stringify(key === 'functions' ? declared.function : declared)
}

/** Tools that a choice names: one that is forced, or the list of allowed ones. */
function choiceNames(choice: unknown): string[] {
  const fields = recordOf(choice)
  if (fields === undefined) return []
  const allowed = arrayOf(recordOf(fields['allowed_tools'])?.['tools'])
  const entries = allowed ?? [fields]
  return entries.flatMap((entry) => {
    const tool = recordOf(entry) ?? {}
    const body = recordOf(tool['function']) ?? recordOf(tool['custom']) ?? tool
    return stringOf(body['name']) ?? []
  })
}
