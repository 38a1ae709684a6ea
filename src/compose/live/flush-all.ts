import { setTimeout as delay } from 'node:timers/promises'
import { PlimsollError } from '../../core/errors.ts'

/** A store that failed a moment ago is left alone for this long. */
const ONCE_MORE_MS = 1_100

/** Writes what sessions still hold in memory; an error when something that was acknowledged cannot be written. */
export async function flushAll(outboxes: ReadonlySet<() => Promise<boolean>>): Promise<PlimsollError | undefined> {
  const tryAll = async (): Promise<number> => {
    const flushed = await Promise.all([...outboxes].map((flush) => flush().catch(() => false)))
    return flushed.filter((isFlushed) => !isFlushed).length
  }
  if (outboxes.size === 0 || (await tryAll()) === 0) return undefined
  await delay(ONCE_MORE_MS)
  const left = await tryAll()
  if (left === 0) return undefined
  return new PlimsollError(
    'store-unavailable',
    `The store could not take what ${left} session(s) still had to write.`,
    {
      advice: 'Epochs, edits and usage of their last requests are lost; the next request of each works them out again.',
      fields: { sessions: left },
    },
  )
}
