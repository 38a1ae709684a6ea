import type { Part } from './recording.ts'
import { isRecord } from '../../core/values.ts'

const ID_KEYS = new Set(['id', 'call_id', 'tool_call_id', 'tool_use_id'])

/**
 * Some servers begin their call ids anew in each response. A history with two calls of one id is ambiguous and refused by strict
 * wires, so later ones get an id of their own, and so do the results that answer them.
 */
export class CallIds {
  readonly #used = new Set<string>()
  /** Ids of the newest response, as recorded, and those of them that were changed. */
  #inResponse = new Set<string>()
  #renamed = new Map<string, string>()

  /** Takes an answer's parts in. `continues`: more of the same response, so what was renamed before stays renamed. */
  answer(parts: readonly Part[], continues: boolean): RepairedAnswer {
    if (!continues) {
      this.#renamed = new Map()
      this.#inResponse = new Set()
    }
    const repairs: string[] = []
    const twice = new Set<Part>()
    for (const part of parts) {
      const { kind, callId } = part
      if (kind !== 'call' || callId === undefined) continue
      if (this.#inResponse.has(callId)) {
        twice.add(part)
        repairs.push(`Call ${callId} stands twice in one response; the second is left out.`)
      } else if (this.#used.has(callId)) {
        this.#renamed.set(callId, this.#freshId(callId))
        repairs.push(`Call id ${callId} was used before; this call got one of its own.`)
      }
      this.#inResponse.add(callId)
      this.#used.add(callId)
    }
    return { parts: this.result(without(parts, twice)), repairs }
  }

  /** Results follow the calls that they answer. */
  result(parts: readonly Part[]): readonly Part[] {
    if (this.#renamed.size === 0) return parts
    const rewritten = new Map<unknown, unknown>()
    return parts.map((part) => {
      const callId = part.callId === undefined ? undefined : this.#renamed.get(part.callId)
      // Parts that share a raw value must go on sharing it, renamed themselves or not.
      const raw = part.raw === undefined ? undefined : this.#rewrite(part.raw, rewritten)
      if (callId === undefined && raw === part.raw) return part
      return { ...part, ...(callId !== undefined && { callId }), ...(raw !== undefined && { raw }) }
    })
  }

  #freshId(id: string): string {
    let number = 2
    while (this.#used.has(`${id}_${number}`)) number++
    const fresh = `${id}_${number}`
    this.#used.add(fresh)
    return fresh
  }

  #rewrite(raw: unknown, rewritten: Map<unknown, unknown>): unknown {
    const known = rewritten.get(raw)
    if (known !== undefined) return known
    const value = this.#replaceIds(raw)
    rewritten.set(raw, value)
    return value
  }

  /** Ids stand at most two levels deep on every wire: a block, or a message with its list of calls. */
  #replaceIds(value: unknown, depth = 0): unknown {
    if (!isRecord(value) || depth > 1) return value
    let changed = false
    const entries = Object.entries(value).map(([key, field]) => {
      const fresh = ID_KEYS.has(key) && typeof field === 'string' ? this.#renamed.get(field) : undefined
      const next =
        fresh ??
        (key === 'tool_calls' && Array.isArray(field) ? field.map((call) => this.#replaceIds(call, depth + 1)) : field)
      if (next !== field) changed = true
      return [key, next] as const
    })
    return changed ? Object.fromEntries(entries) : value
  }
}

export interface RepairedAnswer {
  readonly parts: readonly Part[]
  /** What was done, in words. */
  readonly repairs: readonly string[]
}

/** Parts that shared a raw value with one that is left out are written anew. */
function without(parts: readonly Part[], left: ReadonlySet<Part>): readonly Part[] {
  if (left.size === 0) return parts
  const stale = new Set([...left].map((part) => part.raw))
  return parts
    .filter((part) => !left.has(part))
    .map((part) => {
      if (part.raw === undefined || !stale.has(part.raw)) return part
      const { raw: _, ...rest } = part
      return rest
    })
}
