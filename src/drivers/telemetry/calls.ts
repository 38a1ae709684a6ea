import type { EventOf, PlimsollEvent } from '../../core/events.ts'
import type { PriceModel } from '../../core/price.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import { unmanagedCost, type ManagedCall } from '../../meter/index.ts'

/** A model call that is over, with what was decided about its request. */
export interface EndedCall {
  readonly event: EventOf<'usage-recorded'> | EventOf<'usage-missing'> | EventOf<'call-refused'>
  /** Absent for calls that no request of a client stands behind: summaries, extractions. */
  readonly prepared?: EventOf<'request-prepared'>
  readonly compaction?: EventOf<'epoch-declared'>
  readonly recovered: boolean
  /** Tokens that the request had less than what the client sent. */
  readonly savedTokens: number
  /** What the call would have cost without us, less its cost; a summary only costs. Absent where no price is known. */
  readonly netUsd?: number
}

interface Pending {
  readonly prepared: EventOf<'request-prepared'>
  readonly compaction?: EventOf<'epoch-declared'>
}

/** Turns that are open at once, and agents whose last call is remembered; more than any process has. */
const MOST_KEPT = 10_000

/** Puts the events of each call together. */
export function endedCalls(
  priceOf: (model: string) => PriceModel | undefined,
  onEnd: (call: EndedCall) => void,
): (event: PlimsollEvent) => void {
  const declared = new BoundedMap<string, EventOf<'epoch-declared'>>(MOST_KEPT)
  const recovered = new BoundedMap<string, true>(MOST_KEPT)
  const pending = new BoundedMap<string, Pending>(MOST_KEPT)
  const last = new BoundedMap<string, ManagedCall>(MOST_KEPT)

  function end(event: EndedCall['event']): void {
    const agent = agentOf(event)
    const open = event.turn === undefined ? undefined : pending.get(turnOf(agent, event.turn))
    if (event.turn !== undefined) pending.delete(turnOf(agent, event.turn))
    const { prepared, compaction } = open ?? {}
    const isAnswered = event.type !== 'call-refused'
    const savedTokens =
      prepared === undefined || !isAnswered ? 0 : Math.max(0, Math.round(prepared.original - prepared.load))
    const netUsd = event.type === 'usage-recorded' ? netOf(event, agent, savedTokens) : undefined
    const wasRecovered = recovered.get(agent) === true && event.purpose === 'turn' && isAnswered
    if (wasRecovered) recovered.delete(agent)
    onEnd({
      event,
      recovered: wasRecovered,
      savedTokens,
      ...(prepared !== undefined && { prepared }),
      ...(compaction !== undefined && { compaction }),
      ...(netUsd !== undefined && { netUsd }),
    })
  }

  function netOf(event: EventOf<'usage-recorded'>, agent: string, savedTokens: number): number | undefined {
    const { usage, costUsd, model, purpose, at } = event
    const price = priceOf(model)
    if (costUsd === undefined || price === undefined) return undefined
    if (purpose !== 'turn') return -costUsd
    const call: ManagedCall = { at, prompt: usage.input, original: usage.input + savedTokens, usage, costUsd }
    const unmanaged = unmanagedCost(call, last.get(agent), price)
    last.set(agent, call)
    return unmanaged - costUsd
  }

  return (event) => {
    const agent = agentOf(event)
    switch (event.type) {
      case 'epoch-declared':
        return declared.set(agent, event)
      case 'overflow-recovered':
        return recovered.set(agent, true)
      case 'request-prepared': {
        const compaction = declared.get(agent)
        declared.delete(agent)
        return pending.set(turnOf(agent, event.turn), {
          prepared: event,
          ...(compaction !== undefined && { compaction }),
        })
      }
      case 'usage-recorded':
      case 'usage-missing':
      case 'call-refused':
        return end(event)
      default:
        return undefined
    }
  }
}

const agentOf = ({ tenant, session, agent }: PlimsollEvent): string => JSON.stringify([tenant, session, agent])
const turnOf = (agent: string, turn: string): string => `${agent} ${turn}`
