import { isPlimsollError, type PlimsollError } from '../../../core/errors.ts'
import type { Target } from '../../../core/target.ts'
import type { PreparedTurn } from '../../../engine/prepare/prepare.ts'
import { askAside } from '../upstream/side-request.ts'
import { isForeign } from '../upstream/cross-wire.ts'
import type { Place } from '../exchange.ts'
import type { ManagedRequest } from './managed.ts'

/** A request that was made to fit one place. */
export interface Attempt {
  readonly place: Place
  readonly target: Target
  readonly prepared: PreparedTurn
}

/** Undefined when it does not fit here and another place is left. */
export async function fit<B>(
  managed: ManagedRequest<B>,
  place: Place,
  isLast: () => boolean,
): Promise<Attempt | undefined> {
  const model = place.model ?? managed.route.model ?? managed.conversation.settings.model ?? 'unknown'
  const learned = await managed.learned.of({ tenant: managed.tenant, endpoint: place.endpoint, model })
  const window = place.window ?? managed.window
  const target: Target = {
    model,
    endpoint: place.endpoint,
    ...(place.provider !== undefined && { provider: place.provider }),
    ...(window !== undefined && { window }),
    ...(learned !== undefined && { learned }),
  }
  try {
    return { place, target, prepared: await prepareFor(managed, place, target) }
  } catch (error) {
    if (!isPlimsollError(error) || !DOES_NOT_FIT.has(error.code) || isLast()) throw error
    managed.emit({
      type: 'verdict-given',
      verdict: { kind: 'skip', target, reason: error.message, ...numbersOf(error) },
    })
    return undefined
  }
}

export const DOES_NOT_FIT = new Set<string>(['fixed-overhead', 'overflow', 'limit-not-positive'])

function numbersOf({ fields }: PlimsollError): { projected: number; limit: number; margin: number } {
  const number = (key: string): number => (typeof fields[key] === 'number' ? fields[key] : 0)
  const projected = number('needed')
  return { projected, limit: number('limit'), margin: number('limit') - projected }
}

export const prepareFor = <B>(managed: ManagedRequest<B>, place: Place, target: Target): Promise<PreparedTurn> =>
  managed.session.prepare({
    // What is only observed asks nobody, and a place of another wire has no cache of this one's prefix.
    ...(managed.mode === 'apply' && !isForeign(place, managed.route) && { send: askAside(managed, place) }),
    format: managed.codec.format,
    body: managed.text,
    conversation: managed.conversation,
    targets: [target],
    archive: 'meanwhile',
    sentAnyway: managed.mode === 'observe',
  })
