import type { Conversation, Loss, NewTool, RequestSettings } from '../../core/conversation.ts'
import type { Item, Media, ToolDeclaration } from '../../core/item.ts'
import { turnsOf } from '../../core/turns.ts'
import { type Fields, numberOf, recordOf, stringOf, parsedJson } from '../../core/values.ts'
import type { JsonNode } from '../json/json-index.ts'
import { readToolChoice, type ToolChoice } from '../wire/steps.ts'

/** Undefined for an empty list, which most wires refuse. */
export const filled = <T>(list: readonly T[]): readonly T[] | undefined => (list.length > 0 ? list : undefined)

/** The tool choice on both of OpenAI's wires, which refuse one without tools. */
export const openaiChoice = ({ toolChoice, tools }: Draft, named: (name: string) => object): Fields => {
  if (toolChoice === undefined || tools.length === 0) return {}
  const { mode, name, single } = toolChoice
  return {
    tool_choice: name === undefined ? mode : named(name),
    parallel_tool_calls: single === true ? false : undefined,
  }
}

/**
 * A conversation that is written for another wire: everything that all wires can express, in an order that all accept. Everything else is reported
 * as a loss.
 */
export interface Draft {
  readonly head: readonly string[]
  readonly turns: readonly DraftTurn[]
  readonly tools: readonly NewTool[]
  readonly settings: RequestSettings
  readonly sampling: Sampling
  readonly toolChoice?: ToolChoice
  readonly losses: readonly Loss[]
  /** Reports a loss; `minor` if the answer does not change without it. */
  lose(item: Item | undefined, what: string, minor?: 'minor'): void
  /** The same for a picture or file. One from the user is replaced by a word, so that the message is not empty and the order of roles stays valid. */
  omit(item: Item, media: Media): readonly string[]
}

/** Neighbouring items of one role. Calls and results have ids that are unique and paired. */
export interface DraftTurn {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly items: readonly Item[]
}

export interface Sampling {
  readonly temperature?: number
  readonly topP?: number
  readonly stop?: readonly string[]
}

export function draftOf(conversation: Conversation): Draft {
  const losses: Loss[] = []
  const lose: Draft['lose'] = (item, what, minor) =>
    void losses.push({ itemId: item?.id ?? '', what, minor: minor !== undefined ? true : undefined })
  const { head, items, settings } = conversation
  if (settings.previousResponseId !== undefined)
    lose(undefined, 'history that the provider holds (previous_response_id)')
  if (settings.conversationId !== undefined) lose(undefined, 'history that the provider holds (conversation)')
  const portable = withPairedIds(
    items.flatMap((item) => portableItem(item, lose)),
    lose,
  )
  const body = requestOf(conversation)
  const toolChoice = readToolChoice(body)
  return {
    toolChoice,
    head: head.map((item) => item.text),
    turns: groupByRole(portable),
    tools: conversation.tools.flatMap((tool) => portableTool(tool, (what) => lose(undefined, what))),
    settings,
    sampling: readSampling(body, (what, minor) => lose(undefined, what, minor)),
    losses,
    lose,
    omit: (item, { type, reference, mime }) => {
      lose(item, `${type} ${reference ?? mime ?? ''}`.trim())
      return item.role === 'user' ? [`[${type} left out]`] : []
    },
  }
}

function portableItem(item: Item, lose: Draft['lose']): Item[] {
  if (item.kind === 'reasoning') lose(item, 'reasoning, which only its issuer takes back', 'minor')
  else if (item.serverSide === true) lose(item, 'a tool that the provider ran')
  else if (item.kind === 'opaque') {
    lose(item, 'a block that only its own wire knows')
    if (item.role === 'user') return [{ ...item, kind: 'user', text: '[block left out]' }]
  } else {
    // Empty items are dropped without a loss, because some wires refuse text without a visible character.
    const isEmpty =
      item.text.trim() === '' && item.media === undefined && item.kind !== 'call' && item.kind !== 'result'
    return isEmpty ? [] : [item]
  }
  return []
}

const PLAIN_ID = /^[A-Za-z0-9_-]{1,64}$/

/** Adds missing ids, and replaces ids that a wire restarts in each turn, so that each result has its call. */
function withPairedIds(items: readonly Item[], lose: Draft['lose']): Item[] {
  const { answers, orphans } = turnsOf(items)
  const used = new Set<string>()
  const ids = new Map<number, string>()
  let next = 0
  for (const [index, item] of items.entries()) {
    if (item.kind !== 'call') continue
    let id = item.callId ?? ''
    while (!PLAIN_ID.test(id) || used.has(id)) id = `call_${next++}`
    used.add(id)
    ids.set(index, id)
    const answer = answers.get(index)
    if (answer !== undefined) ids.set(answer, id)
  }
  const stray = new Set(orphans)
  for (const index of orphans) lose(items[index], 'a result without its call')
  return items.flatMap((item, index) => {
    const callId = ids.get(index)
    if (stray.has(index)) return []
    return callId === undefined ? [item] : [{ ...item, callId }]
  })
}

export function groupByRole(items: readonly Item[]): DraftTurn[] {
  const turns: { role: DraftTurn['role']; items: Item[] }[] = []
  for (const item of items) {
    const role = item.kind === 'result' ? 'tool' : item.kind === 'call' ? 'assistant' : item.role
    const last = turns.at(-1)
    if (last?.role === role) last.items.push(item)
    else turns.push({ role, items: [item] })
  }
  return turns
}

/** Messages of users and the model in turn; what has no text or block makes none. */
export function joinedTurns(
  { turns }: Draft,
  blocksOf: (turn: DraftTurn) => readonly Fields[],
): { readonly role: 'user' | 'assistant'; readonly content: Fields[] }[] {
  const messages: { readonly role: 'user' | 'assistant'; readonly content: Fields[] }[] = []
  for (const turn of turns) {
    const role = turn.role === 'assistant' ? 'assistant' : 'user'
    const blocks = blocksOf(turn)
    const last = messages.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else if (blocks.length > 0) messages.push({ role, content: [...blocks] })
  }
  return messages
}

/** A declared function of any wire. Tools that a provider runs cannot be written for another wire. */
function portableTool(tool: ToolDeclaration, lose: (what: string) => void): NewTool[] {
  const fields = recordOf(parsedJson(tool.text)) ?? {}
  const body = recordOf(fields['function']) ?? fields
  const schema =
    body['input_schema'] ?? body['parametersJsonSchema'] ?? body['parameters_json_schema'] ?? body['parameters']
  const name = stringOf(body['name'])
  if (name === undefined || (schema === undefined && fields['type'] !== 'function')) {
    lose(`the tool ${tool.name}`)
    return []
  }
  const parameters = recordOf(schema) ?? { type: 'object', properties: {} }
  // Gemini's schema dialect writes types in capitals.
  const isDialect = /^[A-Z]+$/.test(stringOf(parameters['type']) ?? '')
  const description = stringOf(body['description']) ?? ''
  return [{ name, description, parameters: isDialect ? (lowerTypes(parameters, 0) as Fields) : parameters }]
}

/** The greatest depth of a schema that is converted. */
const MAX_SCHEMA_DEPTH = 64

function lowerTypes(value: unknown, depth: number): unknown {
  if (depth > MAX_SCHEMA_DEPTH) return value
  if (Array.isArray(value)) return value.map((inner) => lowerTypes(inner, depth + 1))
  const fields = recordOf(value)
  if (fields === undefined) return value
  return Object.fromEntries(
    Object.entries(fields).map(([key, inner]) => [
      key,
      key === 'type' && typeof inner === 'string' ? inner.toLowerCase() : lowerTypes(inner, depth + 1),
    ]),
  )
}

/** The body that a conversation was read from, without Code Assist's wrapper. */
function requestOf(conversation: Conversation): Fields {
  const source = conversation.source.value as { readonly root?: JsonNode } | null
  const body = recordOf(source?.root?.value) ?? {}
  return recordOf(body['request']) ?? body
}

/** Members that are written elsewhere, or that have a default on every wire. */
const CARRIED = new Set(
  (
    'model messages contents input system instructions systemInstruction system_instruction tools functions ' +
    'max_tokens max_completion_tokens max_output_tokens maxOutputTokens stream stream_options temperature top_p topP ' +
    'stop stop_sequences stopSequences generationConfig generation_config previous_response_id conversation request ' +
    'tool_choice toolConfig tool_config parallel_tool_calls options num_predict num_ctx'
  ).split(' '),
)

/** Members about how the answer is made, billed or stored, not about its content. */
const MINOR = new Set(
  (
    'metadata user seed store service_tier serviceTier prompt_cache_key prompt_cache_retention safety_identifier cache_control ' +
    'reasoning reasoning_effort thinking thinkingConfig thinking_config verbosity output_config include prediction labels ' +
    'cachedContent anthropic_version anthropic_beta context_management client_metadata truncation top_k topK ' +
    'project user_prompt_id session_id safetySettings safety_settings think keep_alive num_gpu num_thread num_keep num_batch'
  ).split(' '),
)

function readSampling(request: Fields, lose: (what: string, minor?: 'minor') => void): Sampling {
  const config = recordOf(request['generationConfig'] ?? request['generation_config'] ?? request['options']) ?? {}
  const all: Fields = { ...request, ...config }
  for (const key of Object.keys(all)) {
    if (CARRIED.has(key) || isDefault(key, all[key])) continue
    if (MINOR.has(key)) lose(`the setting ${key}`, 'minor')
    else lose(`the setting ${key}`)
  }
  const temperature = numberOf(all['temperature'])
  const topP = numberOf(all['top_p'] ?? all['topP'])
  const stop = all['stop'] ?? all['stop_sequences'] ?? all['stopSequences']
  const words = (Array.isArray(stop) ? stop : [stop]).filter((word) => typeof word === 'string')
  return {
    temperature,
    topP,
    stop: words.length > 0 ? words : undefined,
  }
}

/** Whether a setting has its default value. */
function isDefault(key: string, value: unknown): boolean {
  if (value === null || value === undefined) return true
  if (key === 'text' || key === 'response_format') {
    const format = recordOf(recordOf(value)?.['format']) ?? recordOf(value)
    return format?.['type'] === 'text' || (key === 'text' && recordOf(value)?.['format'] === undefined)
  }
  return (key === 'n' && value === 1) || (key === 'candidateCount' && value === 1) || value === false || value === 0
}

/** A call's arguments as an object, for wires that require one. Custom tools take free text. */
export const argumentsOf = ({ text }: Item): Fields => recordOf(parsedJson(text)) ?? { input: text }

export const isWebUrl = (reference: string | undefined): boolean => /^https?:\/\//.test(reference ?? '')
