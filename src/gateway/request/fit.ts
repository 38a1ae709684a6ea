import { DOES_NOT_FIT, isPlimsollError, type PlimsollError } from '../../core/errors.ts'
import type { Target } from '../../core/target.ts'
import { modelName } from '../../core/model-name.ts'
import { within } from '../../engine/learning/within.ts'
import type { PreparedTurn, PrepareRequest } from '../../engine/prepare/prepare.ts'
import { isVendor } from '../../formats/overflow/index.ts'
import { sideRequest } from '../upstream/side-request.ts'
import { isForeign } from '../upstream/cross-wire.ts'
import type { Place } from '../exchange-types.ts'
import type { Writable } from '../../util/writable.ts'
import type { ManagedRequest } from './managed-request.ts'

/** A request that was made to fit one place. */
export interface Attempt {
  readonly place: Place
  readonly target: Target
  readonly prepared: PreparedTurn
}

/** Of these places the first on which it fits; undefined when it fits on none of them and others are left. */
export async function fit<B>(
  managed: ManagedRequest<B>,
  places: readonly [Place, ...Place[]],
  isLast: () => boolean,
): Promise<Attempt | undefined> {
  const targets: Target[] = []
  for (const place of places) targets.push(await targetAt(managed, place))
  try {
    const prepared = await prepareFor(managed, places, targets)
    const chosen = Math.max(0, targets.indexOf(prepared.verdict.target))
    return { place: places[chosen]!, target: targets[chosen]!, prepared }
  } catch (error) {
    if (!isPlimsollError(error) || !DOES_NOT_FIT.has(error.code)) throw error
    const [place] = places
    const target = targets[0]!
    const asked = target.learned === undefined ? undefined : await withoutLessons(managed, place, target)
    if (asked !== undefined) return asked
    if (isLast()) throw error
    managed.emit({
      type: 'verdict-given',
      verdict: { kind: 'skip', target, reason: error.message, ...numbersOf(error) },
    })
    return undefined
  }
}

async function targetAt<B>(managed: ManagedRequest<B>, place: Place): Promise<Target> {
  const model = modelName(place.model ?? managed.route.model ?? managed.conversation.settings.model ?? 'unknown')
  const { tenant } = managed
  const learned = await managed.learned.of({ tenant, endpoint: place.endpoint, model })
  const held = managed.held.of(() => conversationKey(managed, place.endpoint, model))
  const window = place.window ?? managed.window
  const target: Writable<Target> = { model, endpoint: place.endpoint, refusesOverflow: isVendor(place.endpoint) }
  if (place.provider !== undefined) target.provider = place.provider
  if (window !== undefined) target.window = window
  if (learned !== undefined) target.learned = learned
  return held === undefined ? target : within(target, held)
}

export const conversationKey = <B>(managed: ManagedRequest<B>, endpoint: string, model: string): string =>
  JSON.stringify([managed.tenant, managed.sessionId, managed.agent, endpoint, model])

/** What was learned may be out of date: before it is a reason to refuse, the endpoint is asked itself. */
async function withoutLessons<B>(
  managed: ManagedRequest<B>,
  place: Place,
  asked: Target,
): Promise<Attempt | undefined> {
  const { learned: _, ...target } = asked
  try {
    return { place, target, prepared: await prepareFor(managed, [place], [target]) }
  } catch (error) {
    if (isPlimsollError(error) && DOES_NOT_FIT.has(error.code)) return undefined
    throw error
  }
}

function numbersOf({ fields }: PlimsollError): { projected: number; limit: number; margin: number } {
  const number = (key: string): number => (typeof fields[key] === 'number' ? fields[key] : 0)
  const projected = number('needed')
  return { projected, limit: number('limit'), margin: number('limit') - projected }
}

/** For the target at the same index as its place. */
export async function prepareFor<B>(
  managed: ManagedRequest<B>,
  places: readonly Place[],
  targets: readonly Target[],
): Promise<PreparedTurn> {
  const { hidden } = managed
  const request: Writable<PrepareRequest<string>> = {
    // What is only observed asks nobody, and a place of another wire has no cache of this one's prefix.
    sendTo(target) {
      const place = places[Math.max(0, targets.indexOf(target))]!
      return managed.mode === 'apply' && !isForeign(place, managed.route) ? sideRequest(managed, place) : undefined
    },
    format: managed.codec.format,
    body: managed.clientText,
    conversation: managed.conversation,
    targets,
    archive: 'meanwhile',
    sentAnyway: managed.mode === 'observe',
  }
  if (managed.offer !== undefined) request.tools = managed.offer
  if (managed.writeOut !== undefined && managed.mode === 'apply') request.writeOut = managed.writeOut
  const prepared = await managed.session.prepare(request)
  if (hidden !== undefined && managed.offer?.withheld !== true) await hidden.declared(prepared)
  return prepared
}
