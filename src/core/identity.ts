import type { Item } from './item.ts'

/** A collision-resistant hash, passed in because the core imports nothing. Returns lower-case hex. */
export type Hash = (text: string) => string

/** Text that a client injects, moves or rewrites between requests, and that an item's identity therefore ignores. */
export interface ClientProfile {
  readonly name: string
  /** Each span from `open` to the next `close`, both included, is left out. */
  readonly volatile: readonly { readonly open: string; readonly close: string }[]
}

export const PLAIN_CLIENT: ClientProfile = { name: 'plain', volatile: [] }

/** Claude Code adds reminders to user messages and tool results, and removes them in later requests. */
export const CLAUDE_CODE: ClientProfile = {
  name: 'claude-code',
  volatile: [{ open: '<system-reminder>', close: '</system-reminder>' }],
}

/**
 * Identifies an item when it is sent again, by kind, role, call id, text and media; cache marks, key order and string-versus-block form do not
 * matter. Undefined for an item of volatile text only, except a result, which must stay with its call.
 */
export function identityOf(item: Item, hash: Hash, profile: ClientProfile = PLAIN_CLIENT): string | undefined {
  const stable = stripVolatile(item.text, profile)
  const text = isJson(item) ? canonicalJson(stable) : stable.trim()
  const isBound = item.kind === 'result' || item.media !== undefined
  if (text === '' && item.text.trim() !== '' && !isBound) return undefined
  const media = (item.media ?? []).map((part) => [part.type, part.mime ?? '', hash(part.data ?? part.reference ?? '')])
  const { kind, role, callId = '', toolName = '' } = item
  return hash(JSON.stringify([kind, role, callId, toolName, text, media]))
}

/** Items whose text is a piece of JSON rather than prose. */
const isJson = (item: Item): boolean =>
  item.kind === 'call' || item.kind === 'opaque' || (item.kind === 'result' && item.serverSide === true)

export function stripVolatile(text: string, profile: ClientProfile): string {
  let out = text
  for (const { open, close } of profile.volatile) {
    if (out.includes(open)) out = withoutSpans(out, open, close)
  }
  return out
}

function withoutSpans(text: string, open: string, close: string): string {
  const kept: string[] = []
  let from = 0
  for (;;) {
    const start = text.indexOf(open, from)
    const end = start < 0 ? -1 : text.indexOf(close, start + open.length)
    if (end < 0) break
    kept.push(text.slice(from, start))
    from = end + close.length
  }
  kept.push(text.slice(from))
  return kept.join('')
}

/** Sorts keys: a client that parsed and rewrote arguments changes only key order and white space. */
export function canonicalJson(text: string): string {
  try {
    return JSON.stringify(sortKeys(JSON.parse(text)))
  } catch {
    // Not JSON, or nested deeper than the stack: the text itself is then the canonical form.
    return text.trim()
  }
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  // A null prototype keeps a key called __proto__ an ordinary key.
  const out: Record<string, unknown> = Object.create(null)
  for (const [key, inner] of entries) out[key] = sortKeys(inner)
  return out
}
