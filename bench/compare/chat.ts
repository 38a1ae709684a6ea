import type { Part, Recording, WireMessage } from '../../src/lab/transcripts/recording.ts'
import { readableText } from '../../src/lab/replay/recall.ts'

/** A message as every framework has it in its own words. */
export interface Chat {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly text: string
  readonly calls: readonly ChatCall[]
  /** Of a tool's result. */
  readonly callId?: string
  readonly tool?: string
}

export interface ChatCall {
  readonly id: string
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

/** A recorded session as chat messages, with how many of them each call was made with. */
export interface ChatSession {
  readonly recording: Recording
  readonly messages: readonly Chat[]
  /** By call: the length of the history. */
  readonly lengths: readonly number[]
  /** By call id: the arguments as they travel, and as a reader sees them. */
  readonly sent: ReadonlyMap<string, string>
  readonly read: ReadonlyMap<string, string>
}

export function chatSession(recording: Recording): ChatSession {
  const parts = recording.messages.map((message) => chatOf(message))
  const ends = parts.reduce<number[]>((all, some) => [...all, (all.at(-1) ?? 0) + some.length], [])
  const calls = recording.messages.flatMap(({ parts: some }) => some.filter(({ kind }) => kind === 'call'))
  return {
    recording,
    messages: parts.flat(),
    lengths: recording.calls.map(({ to }) => (to === 0 ? 0 : ends[to - 1]!)),
    sent: new Map(calls.map((part) => [part.callId!, part.text])),
    read: new Map(calls.map((part) => [part.callId!, readableText(part)])),
  }
}

function chatOf({ role, parts }: WireMessage): readonly Chat[] {
  const results = parts
    .filter(({ kind }) => kind === 'result')
    .map((part): Chat => ({
      role: 'tool',
      text: part.text,
      calls: [],
      callId: part.callId ?? '',
      tool: part.toolName ?? 'tool',
    }))
  const prose = parts.filter(({ kind }) => kind === 'user' || kind === 'assistant' || kind === 'media')
  const text = prose.map((part) => part.text).join('\n')
  const calls = parts.filter(({ kind }) => kind === 'call').map(callOf)
  if (role === 'assistant') return text === '' && calls.length === 0 ? [] : [{ role, text, calls }]
  return [...results, ...(text === '' ? [] : [{ role: 'user' as const, text, calls: [] }])]
}

const callOf = ({ callId = '', toolName = 'tool', input }: Part): ChatCall => ({
  id: callId,
  name: toolName,
  args: typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : { input },
})
