import { PlimsollError } from '../../core/errors.ts'
import type { Verdict } from '../../core/target.ts'
import { cannotCross, isForeign, obstaclesOf } from '../upstream/cross-wire.ts'
import { deliver } from './deliver.ts'
import type { Place, Reply } from '../exchange-types.ts'
import { fit } from './fit.ts'
import type { ManagedRequest } from './managed-request.ts'
import { halted, relayed } from './relay.ts'

/** prepare → send → recover an overflow once, or move to the next place → pass the answer on while reading along. */
export async function exchange<B>(managed: ManagedRequest<B>): Promise<Reply<B>> {
  const startedAt = managed.now()
  const { places } = managed.request
  const obstacles = new Map<Place, readonly string[]>()
  const obstaclesAt = (place: Place): readonly string[] => {
    const known = obstacles.get(place) ?? obstaclesFor(managed, place)
    obstacles.set(place, known)
    return known
  }
  let refusal: PlimsollError | undefined
  let at = 0
  for (const [i, place] of places.entries()) {
    // Passed over for one that has more room.
    if (i < at) continue
    const inTheWay = obstaclesAt(place)
    if (inTheWay.length > 0) {
      refusal ??= cannotCross(place, inTheWay)
      managed.emit({ type: 'verdict-given', verdict: skipped(place, refusal.message) })
      continue
    }
    const others = places.slice(i + 1).filter((other) => obstaclesAt(other).length === 0)
    const attempt = await fit(managed, [place, ...others], () => others.length === 0)
    if (attempt === undefined) continue
    at = places.indexOf(attempt.place)
    const isLast = (): boolean => places.slice(at + 1).every((other) => obstaclesAt(other).length > 0)
    // Who only observes reports it.
    if (attempt.prepared.verdict.kind === 'halt' && managed.mode === 'apply') return halted(managed, attempt)
    const sent = await deliver(managed, attempt, isLast)
    if (sent !== undefined) return await relayed(managed, sent, startedAt)
  }
  throw refusal ?? new PlimsollError('upstream', 'No upstream took the request.', { retryable: true })
}

/** What keeps this request from a place that speaks another wire; nothing, where the wire is the client's. */
function obstaclesFor<B>({ route, codecs, conversation }: ManagedRequest<B>, place: Place): readonly string[] {
  if (!isForeign(place, route)) return []
  const to = codecs.get(place.wire)
  if (to === undefined) return [`the unknown API format ${place.wire}`]
  return obstaclesOf({ to, place, route, conversation })
}

const skipped = ({ endpoint, model = '' }: Place, reason: string): Verdict => ({
  kind: 'skip',
  target: { model, endpoint },
  reason,
  projected: 0,
  limit: 0,
  margin: 0,
})
