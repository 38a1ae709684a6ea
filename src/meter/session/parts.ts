import { firstSendKey } from '../../core/chain.ts'
import type { Epoch, ItemSeen } from '../../core/records.ts'
import { recordOf } from '../../core/values.ts'
import type { FoldedLog, LoggedCall } from './log.ts'

/* What the prompts of a session were made of, by kind of content and by item. */

export type CountText = (text: string) => number
export type Parts = ReadonlyMap<string, number>

/** The name of an item's part in charts and tables. */
function partOf({ kind, toolName }: Pick<ItemSeen, 'kind' | 'toolName'>): string {
  if (kind === 'user') return 'user'
  if (kind === 'result') return toolName === undefined ? 'results' : `results: ${toolName}`
  if (kind === 'media') return 'media'
  if (kind === 'instruction') return 'instructions'
  return 'model'
}

export type Fate = Extract<Epoch['edits'][number], { op: 'drop' | 'replace' }>

/** What an epoch does with each covered position; positions without an entry are sent unchanged. */
export function fatesOf({ edits }: Epoch): ReadonlyMap<number, Fate> {
  const fates = new Map<number, Fate>()
  for (const edit of edits) {
    if (edit.op === 'drop') for (let place = edit.from; place < edit.to; place++) fates.set(place, edit)
    else if (edit.op === 'replace') fates.set(edit.at, edit)
  }
  return fates
}

/** Tokens by part of the items that an epoch covers, and of what is sent instead. */
interface Rewrite {
  readonly covered: Parts
  readonly shown: Parts
  /** Tokens of each covered item as it is sent; those that are not named are sent unchanged. */
  readonly byItem: ReadonlyMap<string, number>
}

/** Reads a log once: each text is counted once, whatever the number of calls. */
export class Composition {
  readonly #log: FoldedLog
  readonly #countText: CountText
  /** Tokens of each item as it was first sent. */
  readonly #tokens = new Map<string, number>()
  readonly #byIdentity = new Map<string, ItemSeen>()
  readonly #upTo: Parts[] = [new Map()]
  readonly #epochs: ReadonlyMap<string, Epoch>
  readonly #rewrites = new Map<string, Rewrite>()

  constructor(log: FoldedLog, countText: CountText) {
    this.#log = log
    this.#countText = countText
    this.#epochs = new Map(log.epochs.map(({ epoch }) => [epoch.id, epoch]))
    for (const item of log.items) {
      const size = countText(log.edits.get(firstSendKey(item.callId, item.identity))?.text ?? item.text)
      if (!this.#tokens.has(item.identity)) this.#tokens.set(item.identity, size)
      if (!this.#byIdentity.has(item.identity)) this.#byIdentity.set(item.identity, item)
      const before = this.#upTo.at(-1)!
      this.#upTo.push(new Map([...before, [partOf(item), (before.get(partOf(item)) ?? 0) + size]]))
    }
  }

  /** Tokens of a call's prompt by part; their sum is `prompt`. */
  partsOf(call: LoggedCall, prompt: number): Parts {
    const sum = new Map(this.#upTo[Math.min(call.itemsBefore, this.#upTo.length - 1)])
    const rewrite = call.epoch === undefined ? undefined : this.#rewriteOf(call.epoch)
    for (const [part, size] of rewrite?.covered ?? []) sum.set(part, Math.max(0, (sum.get(part) ?? 0) - size))
    for (const [part, size] of rewrite?.shown ?? []) sum.set(part, (sum.get(part) ?? 0) + size)
    return scaled(sum, call, prompt)
  }

  /** Each item that was sent, with its tokens and in how many prompts it stood. */
  itemsSent(): readonly SentItem[] {
    const groups = new Map<
      string,
      { readonly epoch: Rewrite | undefined; readonly agent: string; readonly ends: number[] }
    >()
    for (const { purpose, epoch, agent = MAIN, itemsBefore } of this.#log.calls) {
      if (purpose !== 'turn') continue
      const key = JSON.stringify([agent, epoch])
      const group = groups.get(key) ?? {
        epoch: epoch === undefined ? undefined : this.#rewriteOf(epoch),
        agent,
        ends: [],
      }
      groups.set(key, group)
      group.ends.push(itemsBefore)
    }
    const callers = new Map(
      this.#log.items.flatMap((item) => (item.kind === 'call' ? [[item.callId, item] as const] : [])),
    )
    return this.#log.items.flatMap((item, place): SentItem[] => {
      if (item.text === '' || this.#byIdentity.get(item.identity) !== item) return []
      let [timesSent, sentTokens] = [0, 0]
      const own = this.#tokens.get(item.identity) ?? 0
      for (const { epoch, agent, ends } of groups.values()) {
        if (agent !== (item.agent ?? MAIN)) continue
        const tokens = epoch?.byItem.get(item.identity) ?? own
        const times = tokens === 0 ? 0 : ends.length - firstAbove(ends, place)
        timesSent += times
        sentTokens += times * tokens
      }
      const { identity, kind, toolName: tool, callId } = item
      const call = kind === 'result' ? callers.get(callId) : undefined
      const target = targetOf(call) ?? call?.text.slice(0, MOST_OF_INPUT)
      return [{ identity, kind, tool, target, tokens: own, timesSent, sentTokens }]
    })
  }

  #rewriteOf(id: string): Rewrite | undefined {
    const epoch = this.#epochs.get(id)
    if (epoch === undefined) return undefined
    const known = this.#rewrites.get(id) ?? this.#rewriteBy(epoch)
    this.#rewrites.set(id, known)
    return known
  }

  #rewriteBy(epoch: Epoch): Rewrite {
    const covered = new Map<string, number>()
    const shown = new Map<string, number>()
    const byItem = new Map<string, number>()
    const add = (parts: Map<string, number>, part: string, size: number): void =>
      void parts.set(part, (parts.get(part) ?? 0) + size)
    const fates = fatesOf(epoch)
    const seen = new Set<string>()
    epoch.identities.forEach((identity, place) => {
      const item = this.#byIdentity.get(identity)
      if (item === undefined) return
      const size = this.#tokens.get(identity) ?? 0
      // The log contains an item once, even if it occurs several times in the conversation.
      if (!seen.has(identity)) add(covered, partOf(item), size)
      seen.add(identity)
      const fate = fates.get(place)
      const left = fate === undefined ? size : fate.op === 'drop' ? 0 : this.#countText(fate.text)
      if (fate !== undefined) byItem.set(identity, left)
      if (left > 0) add(shown, partOf(item), left)
    })
    for (const edit of epoch.edits) if (edit.op === 'insert') add(shown, 'record', this.#countText(edit.text))
    return { covered, shown, byItem }
  }
}

export interface SentItem {
  readonly identity: string
  readonly kind: string
  readonly tool: string | undefined
  /** What the call was about: a path, a command, a pattern. */
  readonly target: string | undefined
  readonly tokens: number
  readonly timesSent: number
  readonly sentTokens: number
}

const MAIN = 'main'
/** Of a call's input where it names no target. */
const MOST_OF_INPUT = 60

/** The index of the first number above `value` in a list that grows. */
function firstAbove(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! > value) high = middle
    else low = middle + 1
  }
  return low
}

/** Scales parts to the provider's count: instructions and tools by their share of the estimate, the rest in proportion. */
function scaled(sum: Map<string, number>, { measured, estimated }: LoggedCall, prompt: number): Parts {
  const standing = measured === undefined || estimated === 0 ? 0 : (measured.standing / estimated) * prompt
  const own = [...sum.values()].reduce((a, b) => a + b, 0)
  const parts = new Map<string, number>()
  if (standing > 0) parts.set('instructions and tools', standing)
  const rest = Math.max(0, prompt - standing)
  for (const [part, size] of sum) if (size > 0 && own > 0) parts.set(part, (size / own) * rest)
  return parts
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
export const FILE_KEYS: ReadonlySet<string> = new Set(TARGET_KEYS.slice(0, 5))

const targetOf = (call: ItemSeen | undefined): string | undefined => {
  if (call === undefined) return undefined
  try {
    return targetIn(JSON.parse(call.text))
  } catch {
    return targetIn(call.text)
  }
}

/** What a call's input names first: a path, a command, a pattern. */
export function targetIn(input: unknown): string | undefined {
  if (typeof input === 'string') return input.split('\n', 1)[0]
  const fields = recordOf(input) ?? {}
  for (const key of TARGET_KEYS) {
    const value = fields[key]
    if (typeof value === 'string' && value !== '') return value.split('\n', 1)[0]
    if (Array.isArray(value) && value.every((word) => typeof word === 'string')) return value.join(' ')
  }
  return undefined
}
