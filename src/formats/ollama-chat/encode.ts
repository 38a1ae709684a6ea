import type { EnvelopeChanges } from '../../core/conversation.ts'
import { type Fields, recordOf } from '../../core/values.ts'
import { type JsonNode, member } from '../json/json-index.ts'
import { type Splice, spliceMember, spliceMembers } from '../json/splice.ts'
import {
  encoder,
  type Envelope,
  instructionInMessages,
  type Members,
  type Source,
  type Written,
  toolSplices,
  type ToolWords,
} from '../kit/body.ts'
import { argumentsOf, type Draft, type DraftTurn, filled } from '../kit/writing.ts'
import type { ItemPosition } from '../openai-chat/decode.ts'
import { declare, inserted, resultMessage, within } from '../openai-chat/encode.ts'
import { body, toolNameOf } from './decode.ts'

export const encode = encoder<ItemPosition>({
  body,
  write,
  envelope,
  inserted: (item) => inserted(item, undefined),
  // The server requires content even in a message with calls only.
  within: (...given) => within({ body, noContent: '""', hasObjects: true }, ...given),
})

function envelope(changes: EnvelopeChanges, source: Source): Envelope {
  const members: Members = new Map()
  const splices = toolSplices(source, changes, members, TOOLS)
  if (changes.maxOutputTokens !== undefined) splices.push(...capSplices(source.root, changes.maxOutputTokens, members))
  const instructed = instructionInMessages(source, changes.addInstruction)
  return { ...instructed, splices: [...splices, ...instructed.splices, ...spliceMembers(source.root, members)] }
}

/** This wire has no tool choice. */
const TOOLS: ToolWords = {
  key: 'tools',
  nameOf: toolNameOf,
  declare,
  choiceKey: 'tool_choice',
  auto: '"auto"',
  choiceNames: () => [],
}

function capSplices(root: JsonNode, cap: number, members: Members): Splice[] {
  const options = member(root, 'options')
  if (options !== undefined && recordOf(options.value) !== undefined)
    return [spliceMember(options, 'num_predict', String(cap))]
  members.set('options', JSON.stringify({ num_predict: cap }))
  return []
}

export function write(draft: Draft): Written {
  const { settings, sampling, toolChoice } = draft
  const mayCall = toolChoice?.mode !== 'none'
  if (toolChoice?.mode === 'required') draft.lose(undefined, 'a tool that must be called')
  const options = {
    num_ctx: settings.window,
    num_predict: settings.maxOutputTokens,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    stop: sampling.stop,
  }
  const body = {
    model: settings.model,
    messages: [
      ...draft.head.map((content) => ({ role: 'system', content })),
      ...draft.turns.flatMap((turn) => messagesOf(draft, turn)),
    ],
    tools: mayCall ? filled(draft.tools.map(declare)) : undefined,
    stream: settings.stream,
    options: Object.values(options).some((value) => value !== undefined) ? options : undefined,
  }
  return { text: JSON.stringify(body), losses: draft.losses }
}

function messagesOf(draft: Draft, { role, items }: DraftTurn): Fields[] {
  if (role === 'tool')
    return items.map((item) => ({ ...resultMessage(draft, item), tool_name: item.toolName ?? 'tool' }))
  const words: string[] = []
  const images: string[] = []
  for (const item of items) {
    if (item.kind !== 'call' && item.text !== '') words.push(item.text)
    for (const media of item.media ?? []) {
      if (media.type === 'image' && media.data !== undefined && role === 'user') images.push(media.data)
      else words.push(...draft.omit(item, media))
    }
  }
  const calls = items
    .filter((item) => item.kind === 'call')
    .map((item) => ({ id: item.callId, function: { name: item.toolName ?? 'tool', arguments: argumentsOf(item) } }))
  if (words.length + images.length + calls.length === 0) return []
  return [
    {
      role,
      content: words.join('\n\n'),
      images: filled(images),
      tool_calls: filled(calls),
    },
  ]
}
