import type { InspectOptions, InspectPart, InspectSource } from './source.ts'

/** One part of the history with its price in tokens. */
export interface Piece {
  readonly part: InspectPart
  readonly line: number
  readonly message: number
  readonly tokens: number
  /** In how many calls it was sent. */
  readonly timesSent: number
  /** The tool whose call or result it is. */
  readonly tool: string | undefined
  /** What the call was about: a path, a command, a pattern. */
  readonly target: string | undefined
}

const TARGET_KEYS = [
  'file_path',
  'filePath',
  'path',
  'filename',
  'notebook_path',
  'command',
  'cmd',
  'pattern',
  'query',
  'url',
  'code',
]
const FILE_KEYS = new Set(TARGET_KEYS.slice(0, 5))
const MEDIA_TOKENS = 1500

/** Counts every part once and finds out how often it travelled. */
export function piecesOf(source: InspectSource, options: InspectOptions): readonly Piece[] {
  const times = timesSent(source)
  const callers = new Map<string, { tool: string | undefined; target: string | undefined }>()
  const mediaTokens = options.mediaTokens ?? MEDIA_TOKENS
  const pieces: Piece[] = []
  // A message that a compaction kept stands in the list twice; its text is counted once.
  const known = new Map<InspectPart, number>()
  source.messages.forEach(({ parts, line }, message) => {
    for (const part of parts) {
      if (part.kind === 'call' && part.callId !== undefined) {
        callers.set(part.callId, { tool: part.toolName, target: targetOf(part.input) })
      }
      const caller = part.callId === undefined ? undefined : callers.get(part.callId)
      let tokens = known.get(part)
      if (tokens === undefined) {
        tokens = (part.text === '' ? 0 : options.countText(part.text)) + ((part.mediaBytes ?? 0) > 0 ? mediaTokens : 0)
        known.set(part, tokens)
      }
      const tool = part.toolName ?? caller?.tool
      pieces.push({ part, line, message, tokens, timesSent: times[message] ?? 0, tool, target: caller?.target })
    }
  })
  return pieces
}

function timesSent(source: InspectSource): readonly number[] {
  const change = new Int32Array(source.messages.length + 1)
  for (const { from, to } of source.calls) {
    change[from] = (change[from] ?? 0) + 1
    change[to] = (change[to] ?? 0) - 1
  }
  let now = 0
  return Array.from(change.subarray(0, source.messages.length), (step) => (now += step))
}

function targetOf(input: unknown): string | undefined {
  if (typeof input === 'string') return input.split('\n', 1)[0]
  if (typeof input !== 'object' || input === null) return undefined
  const fields = input as Readonly<Record<string, unknown>>
  for (const key of TARGET_KEYS) {
    const value = fields[key]
    if (typeof value === 'string' && value !== '') return value.split('\n', 1)[0]
    if (Array.isArray(value) && value.every((word) => typeof word === 'string')) return value.join(' ')
  }
  return undefined
}

/** The file that a call reads, if its arguments name one and it does not write. */
export function fileRead(part: InspectPart): string | undefined {
  if (part.kind !== 'call' || typeof part.input !== 'object' || part.input === null) return undefined
  const fields = part.input as Readonly<Record<string, unknown>>
  const writes = ['new_string', 'newString', 'new_text', 'content', 'file_text', 'edits', 'patch'].some(
    (key) => key in fields,
  )
  if (writes) return undefined
  for (const key of FILE_KEYS) if (typeof fields[key] === 'string') return fields[key]
  return undefined
}
